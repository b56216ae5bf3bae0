package redfish

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

const (
	cmdDeviceID   = 0x01
	cmdSystemGUID = 0x37
	cmdLANParam   = 0x02
	cmdFRUInfo    = 0x10
	cmdReadFRU    = 0x11
)

// Identity reads the numbers of the machine: its UUID, what the FRU inventory of the
// board says, and the BMC's own address and version. What could not be read is left
// out of the set and logged; Inventory names it in Partial.
func (c *IPMI) Identity(ctx context.Context) (Identity, error) {
	var unread gaps
	id, _, err := c.identity(ctx, &unread)
	for _, why := range unread.list {
		c.cfg.Log.WarnContext(ctx, "not read", "bmc", c.cfg.Addr, "what", why)
	}
	return id, err
}

func (c *IPMI) identity(ctx context.Context, unread *gaps) (Identity, ipmiDevice, error) {
	device, err := c.device(ctx)
	if err != nil {
		return Identity{}, device, err
	}
	fru, err := c.readFRU(ctx, 0)
	if err != nil {
		unread.add("ipmi:/fru/0", err)
	}
	for _, why := range fru.remarks {
		unread.add("ipmi:/fru/0", errors.New(why))
	}
	id := Identity{
		Manufacturer:  firstOf(fru.product.field(productMaker), fru.board.field(boardMaker)),
		Model:         firstOf(fru.product.field(productName), fru.product.field(productPart), fru.board.field(boardProduct)),
		UUID:          c.guid,
		SystemSerial:  fru.product.field(productSerial),
		ChassisSerial: fru.chassis.field(chassisSerial),
		BoardSerial:   fru.board.field(boardSerial),
		AssetTag:      fru.product.field(productAsset),
		BMCFirmware:   device.firmware,
		NICMACs:       []string{},
	}
	if id.BMCMAC, err = c.ownMAC(ctx); err != nil {
		unread.add("ipmi:/lan", err)
	}
	c.keep("identity", id)
	return id, device, ctx.Err()
}

// systemGUID reads the UUID of the machine. Where the BMC has no such command, what
// it said in the handshake serves; "" where neither is there.
func (c *IPMI) systemGUID(ctx context.Context) (string, error) {
	raw, err := c.command(ctx, ipmiCommand{name: "Get System GUID", netFn: netFnApp, cmd: cmdSystemGUID})
	if err != nil && codeOf(err) == 0 {
		return "", err
	}
	if s, ok := c.link.(*ipmiSession); ok && cleanUUID(guidText(raw)) == "" {
		raw = s.guid[:]
	}
	guid := cleanUUID(guidText(raw))
	c.keep("guid", map[string]string{"raw": hex.EncodeToString(raw), "uuid": guid})
	return guid, nil
}

// guidText writes a GUID as firmware shows it to its host. BMCs send the bytes in
// one of three orders: as they stand in SMBIOS, which is what most do, in the order
// of the text, or backwards as IPMI 2.0 (20.8) has it. Version and variant of a UUID
// tell which; who compares must still allow for the others.
func guidText(raw []byte) string {
	if len(raw) < 16 {
		return ""
	}
	raw = raw[:16]
	smbios := slices.Clone(raw)
	slices.Reverse(smbios[0:4])
	slices.Reverse(smbios[4:6])
	slices.Reverse(smbios[6:8])
	backwards := slices.Clone(raw)
	slices.Reverse(backwards)
	for _, b := range [][]byte{smbios, raw, backwards} {
		if version := b[6] >> 4; version >= 1 && version <= 8 && b[8]>>6 == 0b10 {
			return uuidText(b)
		}
	}
	return uuidText(smbios)
}

func uuidText(b []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// ipmiDevice is what Get Device ID tells.
type ipmiDevice struct {
	firmware   string
	repository bool // it has an SDR repository; else it describes its own sensors only
}

func (c *IPMI) device(ctx context.Context) (ipmiDevice, error) {
	b, err := c.command(ctx, ipmiCommand{name: "Get Device ID", netFn: netFnApp, cmd: cmdDeviceID})
	if err != nil {
		return ipmiDevice{}, err
	}
	if len(b) < 6 {
		return ipmiDevice{}, fmt.Errorf("BMC %s: Get Device ID: only %d bytes", c.cfg.Addr, len(b))
	}
	const repository = 0x02
	// The minor part of the version is BCD.
	d := ipmiDevice{firmware: fmt.Sprintf("%d.%02x", b[2]&0x7f, b[3]), repository: b[5]&repository != 0}
	c.keep("device", map[string]string{"raw": hex.EncodeToString(b), "firmware": d.firmware})
	return d, nil
}

// lanChannels are tried in this order: the one we came by, then those on which
// boards have their network.
var lanChannels = []byte{0x0e, 1, 8, 2, 3}

// ownMAC reads the address of the BMC's network port.
func (c *IPMI) ownMAC(ctx context.Context) (string, error) {
	const parameterMAC = 5
	var last error
	for _, channel := range lanChannels {
		b, err := c.command(ctx, ipmiCommand{name: "Get LAN Configuration Parameters", netFn: netFnTransport, cmd: cmdLANParam, data: []byte{channel, parameterMAC, 0, 0}})
		if err != nil && codeOf(err) == 0 {
			return "", err
		}
		if err == nil && len(b) >= 7 {
			if mac := CleanMAC(net.HardwareAddr(b[1:7]).String()); mac != "" {
				c.keep("lan", map[string]any{"raw": hex.EncodeToString(b), "channel": channel, "mac": mac})
				return mac, nil
			}
			err = errors.New("no MAC address is set")
		}
		last = err
	}
	return "", fmt.Errorf("MAC of the BMC: %w", last)
}

// readFRU reads the areas of one FRU inventory. What comes is used.
func (c *IPMI) readFRU(ctx context.Context, device byte) (fruInfo, error) {
	b, err := c.command(ctx, ipmiCommand{name: "Get FRU Inventory Area Info", netFn: netFnStorage, cmd: cmdFRUInfo, data: []byte{device}})
	if err != nil {
		return fruInfo{}, err
	}
	if len(b) < 2 {
		return fruInfo{}, errors.New("FRU inventory of unknown size")
	}
	r := fruReader{c: c, device: device, size: int(le16(b)), unit: 1}
	if len(b) > 2 && b[2]&1 != 0 {
		r.unit = 2 // counted in words
	}
	head, err := r.bytes(ctx, 0, fruHeaderBytes)
	if err != nil {
		return fruInfo{}, err
	}
	h, err := parseFRUHeader(head)
	if err != nil {
		return fruInfo{}, err
	}
	info := fruInfo{}
	if h.remark != "" {
		info.remarks = append(info.remarks, h.remark)
	}
	raw := map[string]string{"header": hex.EncodeToString(head)}
	for _, a := range []struct {
		name   string
		at     int
		layout fruLayout
		to     **fruArea
	}{{"chassis", h.chassis, chassisArea, &info.chassis}, {"board", h.board, boardArea, &info.board}, {"product", h.product, productArea, &info.product}} {
		if a.at == 0 {
			continue
		}
		bytes, err := r.area(ctx, a.at)
		raw[a.name] = hex.EncodeToString(bytes)
		if err == nil {
			*a.to, err = parseFRUArea(bytes, a.layout)
		}
		if err != nil {
			info.remarks = append(info.remarks, fmt.Sprintf("%s area: %v", a.name, err))
		}
	}
	c.keep(fmt.Sprintf("fru/%d", device), raw)
	return info, ctx.Err()
}

// fruReader reads pieces of an inventory, in chunks that the BMC can send.
type fruReader struct {
	c          *IPMI
	device     byte
	size, unit int
	chunk      int
}

// area reads one whose length stands in its second byte.
func (r *fruReader) area(ctx context.Context, at int) ([]byte, error) {
	head, err := r.bytes(ctx, at, 8)
	if err != nil {
		return nil, err
	}
	length := 8 * int(head[1])
	if length <= 8 {
		return head, nil
	}
	rest, err := r.bytes(ctx, at+8, min(length, r.size-at)-8)
	return append(head, rest...), err
}

func (r *fruReader) bytes(ctx context.Context, at, n int) ([]byte, error) {
	if r.chunk == 0 {
		r.chunk = 64
	}
	if at+n > r.size || n < 0 {
		return nil, fmt.Errorf("it points behind the end of the inventory (%d of %d bytes)", at+n, r.size)
	}
	var out []byte
	for len(out) < n {
		want := min(n-len(out), r.chunk)
		offset := (at + len(out)) / r.unit
		b, err := r.c.command(ctx, ipmiCommand{name: "Read FRU Data", netFn: netFnStorage, cmd: cmdReadFRU, data: []byte{r.device, byte(offset), byte(offset >> 8), byte(want / r.unit)}})
		switch codeOf(err) {
		case codeLength, codeTooLong, codeOutOfRange, codeCannotReturn, codeUnspecified, codeField:
			if r.chunk > 8 { // more than it can send at once
				r.chunk /= 2
				continue
			}
		}
		if err != nil {
			return out, err
		}
		if len(b) < 2 || b[0] == 0 {
			return out, errors.New("the BMC sent nothing")
		}
		out = append(out, b[1:min(len(b), 1+want)]...)
	}
	return out, nil
}

func (f fruInfo) part(label, uri string) Part {
	return Part{
		Name: label, Label: label, URI: uri, State: "Enabled",
		Manufacturer: firstOf(f.product.field(productMaker), f.board.field(boardMaker)),
		Model:        firstOf(f.product.field(productName), f.board.field(boardProduct)),
		Serial:       firstOf(f.product.field(productSerial), f.board.field(boardSerial)),
		PartNumber:   firstOf(f.product.field(productPart), f.board.field(boardPart), strings.TrimSpace(f.chassis.field(chassisPart))),
	}
}
