package redfish_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

func TestIPMIIdentity(t *testing.T) {
	id, err := startBoard(t).open(t).Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := redfish.Identity{
		Manufacturer: "Maker", Model: "GPU-8", UUID: "00112233-4455-40f7-8899-aabbccddeeff",
		SystemSerial: "SYS0007", ChassisSerial: "CH0007", BoardSerial: "BRD0007",
		BMCMAC: "7c:c2:55:00:00:07", BMCFirmware: "3.17", NICMACs: []string{},
	}
	if !reflect.DeepEqual(id, want) {
		t.Errorf("identity is %+v\nwanted %+v", id, want)
	}
	if member, ok := id.Match("sys0007"); !ok || member != "system_serial" {
		t.Errorf("the product's serial is %q, wanted system_serial", member)
	}
}

// The bytes of a GUID come in three orders; the text is the one that the host shows.
func TestIPMIGUIDOrder(t *testing.T) {
	const want = "00112233-4455-40f7-8899-aabbccddeeff"
	network := []byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x40, 0xf7, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	smbios := []byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0xf7, 0x40, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	backwards := slices.Clone(network)
	slices.Reverse(backwards)
	for _, c := range []struct {
		name string
		raw  []byte
		code types.CompletionCode
		want string
	}{
		{"SMBIOS", smbios, 0, "guid:" + want},
		{"as written", network, 0, "guid:" + want},
		{"backwards", backwards, 0, "guid:" + want},
		{"all zeros: that of the handshake", make([]byte, 16), 0, "guid:" + want},
		{"no such command: that of the handshake", nil, types.CodeInvalidCommand, "guid:" + want},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			b.set(0x06, 0x37, func([]byte) ([]byte, types.CompletionCode) { return c.raw, c.code })
			if got := b.open(t).Fingerprint(); got != c.want {
				t.Errorf("fingerprint is %s, wanted %s", got, c.want)
			}
		})
	}
	b := startBoard(t)
	b.bmc.GUID = [16]byte{}
	b.set(0x06, 0x37, refuse(types.CodeInvalidCommand))
	if got := b.open(t).Fingerprint(); got != "mac:7c:c2:55:00:00:07" {
		t.Errorf("without a GUID the fingerprint is %s, wanted the MAC", got)
	}
}

// ipmitool #242, ipmi_exporter #127: what can be read of an inventory is used, the
// rest is a remark.
func TestIPMIBrokenFRU(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		serial string // of the system
		board  string
		remark string
	}{
		{"version", func(b []byte) []byte { b[0] = 0x23; return b }, "", "", "FRU header version 0x23 is not known"},
		{"header checksum", func(b []byte) []byte { b[7]++; return b }, "SYS0007", "BRD0007", "FRU header: checksum is wrong"},
		{"board checksum", func(b []byte) []byte { b[8*int(b[4])-1]++; return b }, "SYS0007", "BRD0007", "board area: checksum is wrong"},
		{"board version", func(b []byte) []byte { b[8*int(b[3])] = 9; return b }, "SYS0007", "", "board area: version 0x09 is not known"},
		{"product behind the end", func(b []byte) []byte { b[4] = 0xf0; b[7] = sumToZero(b[:7]); return b }, "", "BRD0007", "product area: it points behind the end"},
		{"cut", func(b []byte) []byte { return b[:len(b)-24] }, "SYS0007", "BRD0007", "product area: length is wrong"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			b.frus[0] = c.change(b.frus[0])
			inv, err := b.open(t).Inventory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if inv.System.SystemSerial != c.serial || inv.System.BoardSerial != c.board {
				t.Errorf("serials are %q and %q, wanted %q and %q", inv.System.SystemSerial, inv.System.BoardSerial, c.serial, c.board)
			}
			if text := strings.Join(inv.Partial, "\n"); !strings.Contains(text, c.remark) {
				t.Errorf("remarks are %s; wanted %s", text, c.remark)
			}
		})
	}
}

// A BMC that sends eight bytes at a time, and says so in its own way.
func TestIPMIFRUInSmallPieces(t *testing.T) {
	for _, code := range []types.CompletionCode{types.CodeCannotReturnRequestedDataBytes, types.CodeRequestDataLengthInvalid, types.CodeUnspecifiedError} {
		b := startBoard(t)
		whole := b.answers[[2]uint8{0x0a, 0x11}]
		b.set(0x0a, 0x11, func(req []byte) ([]byte, types.CompletionCode) {
			if req[3] > 8 {
				return nil, code
			}
			return whole(req)
		})
		if id, err := b.open(t).Identity(t.Context()); err != nil || id.SystemSerial != "SYS0007" {
			t.Errorf("code 0x%02x: serial %q, %v", uint8(code), id.SystemSerial, err)
		}
	}
}

// fruLocator is the record of an inventory device of the BMC.
func fruLocator(id uint16, device, entity byte, name string) []byte {
	b := []byte{byte(id), byte(id >> 8), 0x51, 0x11, 0, 0x20, device, 0x80, 0, 0, 0x10, 0, entity, 1, 0, 0xc0 | byte(len(name))}
	b = append(b, name...)
	b[4] = byte(len(b) - 5)
	return b
}

func TestIPMIInventory(t *testing.T) {
	b := startBoard(t)
	b.sdrs = [][]byte{fruLocator(1, 1, 10, "PSU 1"), fruLocator(2, 2, 10, "PSU 2"), fruLocator(3, 3, 32, "DIMM A1"), fruLocator(4, 4, 32, "DIMM A2"), fruLocator(5, 5, 7, "Riser")}
	b.frus[1], b.frus[3], b.frus[5] = boardFRU(), boardFRU(), boardFRU()
	client := b.open(t)
	inv, err := client.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.PSUs) != 1 || inv.PSUs[0].Label != "PSU 1" || inv.PSUs[0].Serial != "SYS0007" || inv.PSUs[0].PartNumber != "GPU-8" {
		t.Errorf("power supplies are %+v", inv.PSUs)
	}
	if len(inv.DIMMs) != 1 || inv.DIMMs[0].Label != "DIMM A1" || !slices.Equal(inv.EmptyDIMMs, []string{"DIMM A2"}) {
		t.Errorf("memory is %+v, empty %v", inv.DIMMs, inv.EmptyDIMMs)
	}
	if len(inv.Firmware) != 1 || inv.Firmware[0] != (redfish.Firmware{Name: "BMC", Version: "3.17", URI: "ipmi:device"}) {
		t.Errorf("firmware is %+v", inv.Firmware)
	}
	for _, what := range []string{"CPUs", "memory modules", "GPUs", "network adapters", "drives"} {
		if !slices.Contains(inv.Partial, "ipmi: does not list "+what) {
			t.Errorf("that IPMI knows nothing of %s is not said: %v", what, inv.Partial)
		}
	}
	recorded := client.Recorded()
	for _, key := range []string{"ipmi:identity", "ipmi:guid", "ipmi:lan", "ipmi:fru/0", "ipmi:fru/1", "ipmi:sdr", "ipmi:session"} {
		if !json.Valid(recorded[key]) {
			t.Errorf("evidence %s is %q", key, recorded[key])
		}
	}
	if list, err := client.Firmware(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("firmware is %v, %v", list, err)
	}
}

// fullSensor is a record of a threshold sensor: y = (M x + B 10^k1) 10^k2.
func fullSensor(id uint16, number, kind, unit byte, m, b int, k1, k2 int, name string) []byte {
	r := make([]byte, 48)
	copy(r, []byte{byte(id), byte(id >> 8), 0x51, 0x01, 0, 0x20, 0, number, 3, 1, 0x7f, 0x68, kind, 0x01})
	binary.LittleEndian.PutUint16(r[18:], 0x3838) // the upper thresholds can be read
	r[21] = unit
	r[24], r[25], r[26], r[27] = byte(m), byte(m>>2)&0xc0, byte(b), byte(b>>2)&0xc0
	r[29] = byte(k2<<4)&0xf0 | byte(k1)&0x0f
	r[36], r[37], r[38] = 105, 100, 95
	r[47] = 0xc0 | byte(len(name))
	r = append(r, name...)
	r[4] = byte(len(r) - 5)
	return r
}

func compactSensor(id uint16, number, kind, event byte, share [2]byte, name string) []byte {
	r := make([]byte, 32)
	copy(r, []byte{byte(id), byte(id >> 8), 0x51, 0x02, 0, 0x20, 0, number, 10, 1, 0x63, 0x40, kind, event})
	binary.LittleEndian.PutUint16(r[18:], 0x00ff)
	r[20], r[23], r[24] = 0xc0, share[0], share[1]
	r[31] = 0xc0 | byte(len(name))
	r = append(r, name...)
	r[4] = byte(len(r) - 5)
	return r
}

func sensorBoard(t *testing.T) *board {
	t.Helper()
	b := startBoard(t)
	b.sdrs = [][]byte{
		fullSensor(1, 1, 1, 1, 1, 0, 0, 0, "CPU0 Temp"),
		fullSensor(2, 2, 2, 4, 6, 0, 0, -2, "P12V"),
		fullSensor(3, 3, 4, 18, 100, 0, 0, 0, "FAN1"),
		fullSensor(4, 4, 1, 1, 1, -50, 0, 0, "Outside"),
		fullSensor(5, 5, 1, 1, 1, 0, 0, 0, "Gone"),
		compactSensor(6, 0x10, 8, 0x6f, [2]byte{}, "PSU1 Status"),
		compactSensor(7, 0x20, 0x0c, 0x6f, [2]byte{0x12, 0x00}, "DIMM "),
		fullSensor(8, 8, 1, 1, 1, 0, 0, 0, "Asleep"),
		fullSensor(9, 9, 1, 1, 1, 0, 0, 0, "Starting"),
	}
	b.values = map[byte][]byte{
		1: {97, 0xc0, 0xc8}, 2: {202, 0xc0, 0xc0}, 3: {90, 0xc0, 0xc0}, 4: {30, 0xc0, 0xc0},
		0x10: {0, 0xc0, 0x09, 0x80}, 0x20: {0, 0xc0, 0x00, 0x80}, 0x21: {0, 0xc0, 0x02, 0x80},
		8: {0, 0x80, 0xc0}, 9: {0, 0xe0, 0xc0},
	}
	return b
}

func TestIPMISensors(t *testing.T) {
	b := sensorBoard(t)
	list, err := b.open(t).Sensors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := func(v float64) *float64 { return &v }
	upper := redfish.Thresholds{UpperFatal: f(105), UpperCritical: f(100), UpperCaution: f(95)}
	want := []redfish.Sensor{
		{Name: "CPU0 Temp", Kind: redfish.Temperature, Reading: f(97), Unit: "Cel", Thresholds: upper, Health: "Warning", State: "Enabled", Context: "CPU", Source: "sdr 0x0001"},
		{Name: "P12V", Kind: redfish.Voltage, Reading: f(12.12), Unit: "V", Thresholds: redfish.Thresholds{UpperFatal: f(6.3), UpperCritical: f(6), UpperCaution: f(5.7)}, Health: "OK", State: "Enabled", Context: "CPU", Source: "sdr 0x0002"},
		{Name: "FAN1", Kind: redfish.FanSpeed, Reading: f(9000), Unit: "RPM", Thresholds: redfish.Thresholds{UpperFatal: f(10500), UpperCritical: f(10000), UpperCaution: f(9500)}, Health: "OK", State: "Enabled", Context: "CPU", Source: "sdr 0x0003"},
		{Name: "Outside", Kind: redfish.Temperature, Reading: f(-20), Unit: "Cel", Thresholds: redfish.Thresholds{UpperFatal: f(55), UpperCritical: f(50), UpperCaution: f(45)}, Health: "OK", State: "Enabled", Context: "CPU", Source: "sdr 0x0004"},
		{Name: "Gone", Kind: redfish.Temperature, Unit: "Cel", State: "Absent", Context: "CPU", Source: "sdr 0x0005"},
		{Name: "PSU1 Status", Kind: redfish.Discrete, State: "Enabled", States: []string{"Presence detected", "Power Supply input lost (AC/DC)"}, Context: "PowerSupply", Source: "sdr 0x0006"},
		{Name: "DIMM A", Kind: redfish.Discrete, State: "Enabled", Context: "PowerSupply", Source: "sdr 0x0007"},
		{Name: "DIMM B", Kind: redfish.Discrete, State: "Enabled", States: []string{"Uncorrectable ECC / other uncorrectable memory error"}, Context: "PowerSupply", Source: "sdr 0x0007"},
		{Name: "Asleep", Kind: redfish.Temperature, Unit: "Cel", State: "Disabled", Context: "CPU", Source: "sdr 0x0008"},
		{Name: "Starting", Kind: redfish.Temperature, Unit: "Cel", State: "UnavailableOffline", Context: "CPU", Source: "sdr 0x0009"},
	}
	for i := range max(len(list), len(want)) {
		if i >= len(list) || i >= len(want) || !reflect.DeepEqual(list[i], want[i]) {
			got, _ := json.Marshal(list[min(i, len(list)-1)])
			wanted, _ := json.Marshal(want[min(i, len(want)-1)])
			t.Errorf("sensor %d:\n got %s\nwant %s", i, got, wanted)
		}
	}
}

// The thresholds in force are those that the BMC tells, not those of the record.
func TestIPMIThresholdsChanged(t *testing.T) {
	b := sensorBoard(t)
	b.set(0x04, 0x27, func([]byte) ([]byte, types.CompletionCode) { return []byte{0x11, 5, 0, 0, 0, 80, 0}, types.CodeOK })
	list, err := b.open(t).Sensors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := list[0].Thresholds
	if got.LowerCaution == nil || *got.LowerCaution != 5 || got.UpperCritical == nil || *got.UpperCritical != 80 || got.UpperFatal != nil {
		t.Errorf("thresholds are %+v", got)
	}
}

// Records in pieces, a reservation that is lost, one record that cannot be read, and
// a chain that ends in itself: what comes is used.
func TestIPMIOddRepository(t *testing.T) {
	b := sensorBoard(t)
	whole, lost := b.answers[[2]uint8{0x0a, 0x23}], false
	b.set(0x0a, 0x23, func(req []byte) ([]byte, types.CompletionCode) {
		id := binary.LittleEndian.Uint16(req[2:])
		switch {
		case req[5] > 16:
			return nil, types.CodeCannotReturnRequestedDataBytes
		case id == 3 && req[4] > 0 && !lost:
			lost = true
			return nil, types.CodeReservationCanceled
		}
		data, code := whole(req)
		if id == 5 && req[4] == 0 && len(data) > 6 {
			data[6] = 40 // shorter than a full record can be
		}
		return data, code
	})
	list, err := b.open(t).Sensors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	if want := []string{"CPU0 Temp", "P12V", "FAN1", "Outside", "PSU1 Status", "DIMM A", "DIMM B", "Asleep", "Starting"}; !slices.Equal(names, want) {
		t.Errorf("sensors are %v, wanted %v", names, want)
	}
	b = startBoard(t)
	if _, err := b.open(t).Sensors(t.Context()); err == nil {
		t.Error("a BMC that describes no sensors is no BMC without trouble")
	}
}

// event is a record of the log: of the BMC, at a time, with three bytes of data.
func event(id uint16, at uint32, sensorType, number, kind byte, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint16(nil, id)
	b = binary.LittleEndian.AppendUint32(append(b, 0x02), at)
	return append(append(b, 0x20, 0, 0x04, sensorType, number, kind), data...)
}

func TestIPMILog(t *testing.T) {
	b := sensorBoard(t)
	now := time.Now().Truncate(time.Second)
	at := func(ago time.Duration) uint32 { return uint32(now.Add(-ago).Unix()) }
	b.sel = [][]byte{
		event(1, 500, 8, 0x10, 0x6f, 0x01, 0xff, 0xff),
		event(2, at(2*time.Hour), 1, 1, 0x01, 0x59, 104, 100),
		event(3, at(time.Hour), 1, 1, 0x81, 0x59, 90, 100),
		event(4, at(time.Minute), 0x0c, 0x21, 0x6f, 0xa1, 0xff, 3),
		event(5, at(time.Minute), 0x0c, 0x99, 0x6f, 0x00, 0xff, 0xff),
		append(binary.LittleEndian.AppendUint32([]byte{6, 0, 0xc1}, at(time.Minute)), 0x57, 0x01, 0x00, 1, 2, 3, 4, 5, 6),
		append([]byte{7, 0, 0xe0}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13),
	}
	client := b.open(t)
	all, err := client.Log(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	want := []redfish.LogEntry{
		{ID: "0x0001", Sensor: "PSU1 Status", Kind: "Power Supply", Event: "Power Supply Failure detected", Severity: "Critical", Asserted: &yes},
		{ID: "0x0002", Time: now.Add(-2 * time.Hour).UTC(), Sensor: "CPU0 Temp", Kind: "Temperature", Event: "Upper Critical - going high (reading 104 Cel, threshold 100 Cel)", Severity: "Critical", Asserted: &yes},
		{ID: "0x0003", Time: now.Add(-time.Hour).UTC(), Sensor: "CPU0 Temp", Kind: "Temperature", Event: "Upper Critical - going high (reading 90 Cel, threshold 100 Cel)", Severity: "OK", Asserted: &no},
		{ID: "0x0004", Time: now.Add(-time.Minute).UTC(), Sensor: "DIMM B", Kind: "Memory", Event: "Uncorrectable ECC / other uncorrectable memory error (module 3)", Severity: "Critical", Asserted: &yes},
		{ID: "0x0005", Time: now.Add(-time.Minute).UTC(), Sensor: "Memory 0x99", Kind: "Memory", Event: "Correctable ECC / other correctable memory error", Severity: "Warning", Asserted: &yes},
		{ID: "0x0006", Time: now.Add(-time.Minute).UTC(), Event: "maker's record c1 of 000157: 010203040506"},
		{ID: "0x0007", Event: "maker's record e0: 0102030405060708090a0b0c0d"},
	}
	for i := range want {
		want[i].Log, want[i].Source, want[i].Raw = "sel", "sel "+want[i].ID, all[i].Raw
		if len(all[i].Raw) != 32 || !reflect.DeepEqual(all[i], want[i]) {
			t.Errorf("entry %d:\n got %+v\nwant %+v", i, all[i], want[i])
		}
	}
	since, err := client.Log(t.Context(), now.Add(-90*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range since {
		ids = append(ids, e.ID)
	}
	if want := []string{"0x0001", "0x0003", "0x0004", "0x0005", "0x0006", "0x0007"}; !slices.Equal(ids, want) {
		t.Errorf("since 90 minutes ago: %v, wanted %v: entries without a time are kept", ids, want)
	}
	if got := b.commands("0a/47"); len(got) > 0 {
		t.Error("the log was cleared")
	}
}

// The BMC's clock may be an hour late: since is told by ours.
func TestIPMILogClockSkew(t *testing.T) {
	b := startBoard(t)
	late := time.Now().Add(-time.Hour)
	b.set(0x0a, 0x48, func([]byte) ([]byte, types.CompletionCode) {
		return binary.LittleEndian.AppendUint32(nil, uint32(late.Unix())), types.CodeOK
	})
	b.sel = [][]byte{event(1, uint32(late.Add(-time.Minute).Unix()), 1, 1, 1, 0x59, 1, 1)}
	if list, err := b.open(t).Log(t.Context(), time.Now().Add(-10*time.Minute)); err != nil || len(list) != 1 {
		t.Errorf("%d entries, %v; wanted the one of a minute ago", len(list), err)
	}
}

func TestIPMIOddLog(t *testing.T) {
	b := startBoard(t)
	for i := range uint16(20) {
		b.sel = append(b.sel, event(10+i, 0x60000000, 1, 1, 1, 0x59, 1, 1))
	}
	whole, asked := b.answers[[2]uint8{0x0a, 0x43}], 0
	b.set(0x0a, 0x43, func(req []byte) ([]byte, types.CompletionCode) {
		if asked++; asked%7 == 0 {
			return nil, types.CodeReservationCanceled // a new entry came
		}
		return whole(req)
	})
	client := b.open(t)
	if list, err := client.Log(t.Context(), time.Time{}); err != nil || len(list) != 20 {
		t.Errorf("%d entries, %v; wanted 20 over lost reservations", len(list), err)
	}
	b.set(0x0a, 0x43, func(req []byte) ([]byte, types.CompletionCode) {
		data, code := whole(req)
		if len(data) > 1 {
			data[0], data[1] = 10, 0 // round in a circle
		}
		return data, code
	})
	if _, err := client.Log(t.Context(), time.Time{}); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("err = %v, wanted that the log goes round", err)
	}
	b.set(0x0a, 0x43, refuse(types.CodeRequestedDataNotPresent))
	b.set(0x0a, 0x40, func([]byte) ([]byte, types.CompletionCode) { return make([]byte, 14), types.CodeOK })
	if list, err := client.Log(t.Context(), time.Time{}); err != nil || len(list) != 0 || list == nil {
		t.Errorf("an empty log reads %v, %v", list, err)
	}
	b.set(0x0a, 0x40, refuse(types.CodeInvalidCommand))
	if _, err := client.Log(t.Context(), time.Time{}); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("err = %v, wanted ErrUnsupported", err)
	}
}
