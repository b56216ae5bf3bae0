package redfish

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/bougou/go-ipmi/pkg/types"
)

const (
	cmdReserveSDR       = 0x22
	cmdGetSDR           = 0x23
	cmdReserveDeviceSDR = 0x22
	cmdGetDeviceSDR     = 0x21

	lastRecord = 0xffff
	maxRecords = 4096 // more than any board has; a chain that goes on is a loop
)

// sdr is a sensor data record, as far as it is used (IPMI 2.0, 43).
type sdr struct {
	id               uint16
	kind             types.SDRRecordType
	owner, lun       byte
	number           byte
	shared           byte // how many sensors one compact record is of
	entity, instance byte
	sensorType       types.SensorType
	eventType        types.EventReadingType
	unit             types.SensorUnit
	mask             uint16 // discrete: states that can be read; threshold: thresholds that can
	linear           types.LinearizationFunc
	factors          types.ReadingFactors
	thresholds       [6]byte // raw, in the order of Get Sensor Thresholds
	name             string  // as written, perhaps with blanks around
	fruDevice        byte    // FRU locators
	fruLogical       bool
	suffix           func(i int) string // of a shared record
}

// label is the name for people; of a shared record that of its sensor number i.
func (s sdr) label(i int) string {
	if s.shared > 1 {
		return strings.TrimSpace(s.name + s.suffix(i))
	}
	return strings.TrimSpace(s.name)
}

// full reports a record that says how a reading is converted.
func (s sdr) full() bool { return s.kind == types.SDRRecordTypeFullSensor }

func (s sdr) sensor() bool { return s.full() || s.kind == types.SDRRecordTypeCompactSensor }

// analog reports a sensor that gives a figure.
func (s sdr) analog() bool { return s.full() && s.unit.IsAnalog() && s.eventType.IsThreshold() }

// sdrMinimum is the length of the fixed part of each kind of record, with its
// type/length byte.
var sdrMinimum = map[types.SDRRecordType]int{
	types.SDRRecordTypeFullSensor: 48, types.SDRRecordTypeCompactSensor: 32, types.SDRRecordTypeEventOnly: 17, types.SDRRecordTypeFRUDeviceLocator: 16,
}

// parseSDR reads one record. Kinds that are not used come back with id and kind
// alone.
func parseSDR(b []byte) (sdr, error) {
	if len(b) < types.SDRRecordHeaderSize {
		return sdr{}, errors.New("cut short")
	}
	s := sdr{id: le16(b), kind: types.SDRRecordType(b[3])}
	least, used := sdrMinimum[s.kind]
	if !used {
		return s, nil
	}
	if len(b) < least {
		return s, fmt.Errorf("record 0x%04x: %d bytes, wanted %d", s.id, len(b), least)
	}
	s.name = sdrName(b[least-1:])
	if s.kind == types.SDRRecordTypeFRUDeviceLocator {
		s.owner, s.fruDevice, s.fruLogical = b[5], b[6], b[7]&0x80 != 0
		s.entity, s.instance = b[12], b[13]
		return s, nil
	}
	s.owner, s.lun, s.number, s.entity, s.instance = b[5], b[6]&0x03, b[7], b[8], b[9]&0x7f
	if s.kind == types.SDRRecordTypeEventOnly {
		s.sensorType, s.eventType = types.SensorType(b[10]), types.EventReadingType(b[11]&0x7f)
		return s, nil
	}
	s.sensorType, s.eventType, s.mask = types.SensorType(b[12]), types.EventReadingType(b[13]&0x7f), le16(b[18:])
	s.unit = types.SensorUnit{
		AnalogDataFormat: types.SensorAnalogUnitFormat(b[20] >> 6), RateUnit: types.SensorRateUnit(b[20] >> 3 & 0x07),
		Percentage: b[20]&0x01 != 0, BaseUnit: types.SensorUnitType(b[21]),
	}
	if s.full() {
		s.linear = types.LinearizationFunc(b[23] & 0x7f)
		s.factors = parseFactors(b[24:30])
		// The record has upper before lower, and the worst first.
		s.thresholds = [6]byte{b[41], b[40], b[39], b[38], b[37], b[36]}
		return s, nil
	}
	s.shared = b[23] & 0x0f
	s.suffix = shareSuffix(b[23], b[24])
	return s, nil
}

// parseFactors reads M, B and their exponents (IPMI 2.0, 36.3).
func parseFactors(b []byte) types.ReadingFactors {
	signed := func(v int, bits uint) int { return v << (64 - bits) >> (64 - bits) }
	return types.ReadingFactors{
		M:     int16(signed(int(b[0])|int(b[1]&0xc0)<<2, 10)),
		B:     int16(signed(int(b[2])|int(b[3]&0xc0)<<2, 10)),
		R_Exp: int8(signed(int(b[5]>>4), 4)),
		B_Exp: int8(signed(int(b[5]&0x0f), 4)),
	}
}

// sdrName decodes the name behind its type/length byte, as much of it as there is.
func sdrName(b []byte) string {
	kind, rest := b[0], b[1:]
	rest = rest[:min(len(rest), int(kind&0x1f))]
	if kind>>6 == typeBinary {
		kind |= typeEightBit << 6 // Unicode here; what boards write is ASCII
	}
	return strings.Map(printable, typedText(kind, rest, 0))
}

// shareSuffix names the sensors of one record: "A", "B" … or numbers.
func shareSuffix(count, instance byte) func(i int) string {
	offset := int(instance & 0x7f)
	if count>>4&0x03 == 1 {
		return func(i int) string { return string(rune('A' + (offset+i)%26)) }
	}
	return func(i int) string { return fmt.Sprint(offset + i) }
}

// sdrCache keeps the records of a session: they describe the board and do not move.
type sdrCache struct {
	mu      sync.Mutex
	read    bool
	records []sdr
	raw     []string // in hex
	remarks []string
	limits  map[[2]byte]Thresholds // by LUN and number of the sensor
}

// records reads all sensor data records once. A record that cannot be read is a
// remark and costs nothing else; the error is for a repository that says nothing.
func (c *IPMI) records(ctx context.Context) ([]sdr, []string, error) {
	c.sdrs.mu.Lock()
	defer c.sdrs.mu.Unlock()
	if c.sdrs.read {
		return c.sdrs.records, c.sdrs.remarks, nil
	}
	device, err := c.device(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := sdrReader{c: c, netFn: netFnStorage, reserve: cmdReserveSDR, get: cmdGetSDR, chunk: 0xff}
	if !device.repository {
		r.netFn, r.reserve, r.get = netFnSensor, cmdReserveDeviceSDR, cmdGetDeviceSDR
	}
	raw, err := r.all(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("sensor data records: %w", err)
	}
	for _, b := range raw {
		c.sdrs.raw = append(c.sdrs.raw, hex.EncodeToString(b))
		s, err := parseSDR(b)
		if err != nil {
			r.remarks = append(r.remarks, err.Error())
			continue
		}
		c.sdrs.records = append(c.sdrs.records, s)
	}
	c.keep("sdr", map[string]any{"records": c.sdrs.raw, "remarks": r.remarks})
	c.sdrs.read, c.sdrs.remarks, c.sdrs.limits = true, r.remarks, map[[2]byte]Thresholds{}
	return c.sdrs.records, c.sdrs.remarks, nil
}

// sdrReader walks the chain of records.
type sdrReader struct {
	c                   *IPMI
	netFn, reserve, get uint8
	reservation         uint16
	chunk               byte // at once; 0xff is the whole record
	remarks             []string
}

func (r *sdrReader) all(ctx context.Context) ([][]byte, error) {
	var out [][]byte
	seen := map[uint16]bool{}
	for id := uint16(0); id != lastRecord && len(seen) < maxRecords; {
		if seen[id] {
			r.remarks = append(r.remarks, fmt.Sprintf("record 0x%04x stands in the chain twice", id))
			break
		}
		seen[id] = true
		b, next, err := r.record(ctx, id)
		if ctx.Err() != nil || isLost(err) || err != nil && len(out) == 0 {
			return out, err
		}
		if err != nil {
			r.remarks = append(r.remarks, fmt.Sprintf("record 0x%04x: %v", id, err))
		} else {
			out = append(out, b)
		}
		if next == id { // nothing tells where the next one is
			break
		}
		id = next
	}
	return out, nil
}

// record reads one, whole where the BMC can, else in pieces. A reservation that was
// lost, because something changed, is taken anew and the record read again.
func (r *sdrReader) record(ctx context.Context, id uint16) (b []byte, next uint16, err error) {
	next = id
	for range 8 {
		b, next, err = r.pieces(ctx, id)
		switch codeOf(err) {
		case codeReservation:
			r.reservation = r.reserved(ctx)
			continue
		case codeLength, codeTooLong, codeOutOfRange, codeCannotReturn, codeUnspecified, codeField:
			if r.chunk <= 8 {
				return b, next, err
			}
			r.chunk = min(r.chunk/2, 32)
			if r.reservation == 0 {
				r.reservation = r.reserved(ctx)
			}
			continue
		}
		return b, next, err
	}
	return b, next, err
}

func (r *sdrReader) reserved(ctx context.Context) uint16 {
	b, err := r.c.command(ctx, ipmiCommand{name: "Reserve SDR Repository", netFn: r.netFn, cmd: r.reserve})
	if err != nil || len(b) < 2 {
		return 0
	}
	return le16(b)
}

func (r *sdrReader) pieces(ctx context.Context, id uint16) ([]byte, uint16, error) {
	var out []byte
	next := id
	total := types.SDRRecordHeaderSize
	for len(out) < total {
		want := r.chunk
		if want != 0xff {
			want = byte(min(int(want), total-len(out)))
		}
		data := []byte{byte(r.reservation), byte(r.reservation >> 8), byte(id), byte(id >> 8), byte(len(out)), want}
		b, err := r.c.command(ctx, ipmiCommand{name: "Get SDR", netFn: r.netFn, cmd: r.get, data: data})
		if err != nil {
			return out, next, err
		}
		if len(b) < 3 {
			return out, next, errors.New("the BMC sent nothing")
		}
		next = le16(b)
		out = append(out, b[2:]...)
		if len(out) >= types.SDRRecordHeaderSize {
			total = types.SDRRecordHeaderSize + int(out[4])
		}
		if want == 0xff { // the whole record, or as much of it as the board wrote
			return out, next, nil
		}
	}
	return out, next, nil
}
