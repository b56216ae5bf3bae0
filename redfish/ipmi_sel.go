package redfish

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
)

const (
	cmdSELInfo    = 0x40
	cmdReserveSEL = 0x42
	cmdGetSEL     = 0x43
	cmdSELTime    = 0x48

	selBytes = 16
	// selPreInit is where times begin that are real: smaller ones count from the
	// start of the BMC (IPMI 2.0, 37.1).
	selPreInit = 0x20000000
	selNoTime  = 0xffffffff
)

// Log reads the system event log, oldest first, and clears nothing. since is by our
// clock and is compared by the BMC's, where the BMC tells how late it is; the zero
// time gives everything. An entry from before the BMC's clock was set has no time
// and is always given. The error is for a log that could not be read to its end.
func (c *IPMI) Log(ctx context.Context, since time.Time) ([]LogEntry, error) {
	raw, full, err := c.readSEL(ctx)
	if err != nil {
		return nil, err
	}
	records, _, err := c.records(ctx)
	if err != nil {
		if ctx.Err() != nil || isLost(err) {
			return nil, err
		}
		c.cfg.Log.WarnContext(ctx, "sensors of the log are not named", "bmc", c.cfg.Addr, "err", err)
	}
	if !since.IsZero() {
		_, skew, err := c.Clock(ctx)
		if err != nil && !errors.Is(err, ErrUnsupported) {
			return nil, err
		}
		since = since.Add(skew).Truncate(time.Second) // the log knows no fractions
	}
	list := []LogEntry{}
	hexed := make([]string, len(raw))
	for i, b := range raw {
		hexed[i] = hex.EncodeToString(b)
		if e := parseSEL(b, records); e.Time.IsZero() || !e.Time.Before(since) {
			list = append(list, e)
		}
	}
	c.keep("sel", map[string]any{"entries": list, "records": hexed, "overflow": full})
	return list, nil
}

// Clock reads the clock of the event log, in whole seconds, and by how much it is
// ahead of ours. It wraps ErrUnsupported where the BMC tells none, or none was set.
func (c *IPMI) Clock(ctx context.Context) (bmc time.Time, skew time.Duration, err error) {
	b, err := c.command(ctx, ipmiCommand{name: "Get SEL Time", netFn: netFnStorage, cmd: cmdSELTime})
	if err != nil && !notOffered(err) {
		return time.Time{}, 0, err
	}
	if err == nil && len(b) >= 4 {
		bmc = selTime(b)
	}
	if bmc.IsZero() {
		return time.Time{}, 0, fmt.Errorf("BMC %s: clock: %w", c.cfg.Addr, ErrUnsupported)
	}
	return bmc, time.Until(bmc), nil
}

// selCache is the log as it was read last in this session: a log of thousands is read
// once, and then only what is new.
type selCache struct {
	mu      sync.Mutex
	info    selInfo
	records [][]byte
}

// selInfo is what Get SEL Info tells.
type selInfo struct {
	count         uint16
	added, erased uint32 // when, by the BMC's clock
	full          bool   // it lost entries because it was full
}

// readSEL reads all records, and whether the log lost some because it was full. Where
// the log is cleared meanwhile, reading begins again.
func (c *IPMI) readSEL(ctx context.Context) (records [][]byte, full bool, err error) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	for range 3 {
		var info selInfo
		if info, err = c.selInfo(ctx); err != nil {
			return nil, info.full, err
		}
		known := c.log.records
		if info != c.log.info || len(known) == 0 {
			if info.erased != c.log.info.erased || info.count < c.log.info.count {
				known = nil
			}
			known, err = c.walkSEL(ctx, known)
		}
		c.log.info, c.log.records = info, known
		switch {
		case err == nil:
			return known, info.full, nil
		case codeOf(err) != codeNotPresent:
			c.log.records = nil
			return nil, info.full, err
		case info.count == 0: // empty logs answer so
			return nil, info.full, nil
		}
		c.log.records = nil
	}
	return nil, full, err
}

func (c *IPMI) selInfo(ctx context.Context) (selInfo, error) {
	b, err := c.command(ctx, ipmiCommand{name: "Get SEL Info", netFn: netFnStorage, cmd: cmdSELInfo})
	switch {
	case notOffered(err):
		return selInfo{}, fmt.Errorf("BMC %s: %w: no event log (%w)", c.cfg.Addr, ErrUnsupported, err)
	case err != nil:
		return selInfo{}, err
	case len(b) < 14:
		return selInfo{}, fmt.Errorf("BMC %s: Get SEL Info: only %d bytes", c.cfg.Addr, len(b))
	}
	const overflow = 0x80
	return selInfo{
		count: le16(b[1:]), added: binary.LittleEndian.Uint32(b[5:]), erased: binary.LittleEndian.Uint32(b[9:]), full: b[13]&overflow != 0,
	}, nil
}

// walkSEL follows the chain of records, from the last one that is known.
func (c *IPMI) walkSEL(ctx context.Context, known [][]byte) ([][]byte, error) {
	out := slices.Clone(known)
	id, seen := uint16(0), map[uint16]bool{}
	if len(known) > 0 {
		id = le16(known[len(known)-1])
		out = out[:len(out)-1] // is read again: it tells which is next
	}
	reservation, lost := c.reserveSEL(ctx), 0
	for id != lastRecord {
		if seen[id] || len(seen) > 1<<16-2 {
			return nil, fmt.Errorf("BMC %s: the event log goes round in a circle at record 0x%04x", c.cfg.Addr, id)
		}
		data := []byte{byte(reservation), byte(reservation >> 8), byte(id), byte(id >> 8), 0, 0xff}
		b, err := c.command(ctx, ipmiCommand{name: "Get SEL Entry", netFn: netFnStorage, cmd: cmdGetSEL, data: data})
		if codeOf(err) == codeReservation && lost < 32 { // a new entry came
			reservation, lost = c.reserveSEL(ctx), lost+1
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(b) < 2+selBytes {
			return nil, fmt.Errorf("BMC %s: event log record 0x%04x: %d bytes, wanted %d", c.cfg.Addr, id, len(b)-2, selBytes)
		}
		seen[id] = true
		out = append(out, b[2:2+selBytes])
		id = le16(b)
	}
	return out, ctx.Err()
}

// reserveSEL takes a reservation, 0 where the BMC wants none.
func (c *IPMI) reserveSEL(ctx context.Context) uint16 {
	b, err := c.command(ctx, ipmiCommand{name: "Reserve SEL", netFn: netFnStorage, cmd: cmdReserveSEL})
	if err != nil || len(b) < 2 {
		return 0
	}
	return le16(b)
}

func selTime(b []byte) time.Time {
	seconds := int64(le16(b)) | int64(le16(b[2:]))<<16
	if seconds < selPreInit || seconds == selNoTime {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// parseSEL reads one record of 16 bytes (IPMI 2.0, 32).
func parseSEL(b []byte, records []sdr) LogEntry {
	id := fmt.Sprintf("0x%04x", le16(b))
	e := LogEntry{ID: id, Log: "sel", Raw: hex.EncodeToString(b), Source: "sel " + id}
	const makersTimed, makers = 0xc0, 0xe0 // types of record
	switch kind := b[2]; {
	case kind >= makersTimed && kind < makers:
		e.Time = selTime(b[3:])
		e.Event = fmt.Sprintf("maker's record %02x of %06x: %x", b[2], uint32(b[7])|uint32(b[8])<<8|uint32(b[9])<<16, b[10:])
		return e
	case kind >= makers:
		e.Event = fmt.Sprintf("maker's record %02x: %x", b[2], b[3:])
		return e
	}
	ev := selEvent{
		owner: b[7], lun: b[8] & 0x03, sensor: b[11], sensorType: types.SensorType(b[10]), eventType: types.EventReadingType(b[12] & 0x7f),
		data: types.EventData{EventData1: b[13], EventData2: b[14], EventData3: b[15]}, asserted: b[12]&0x80 == 0,
	}
	e.Time, e.Asserted, e.Kind = selTime(b[3:]), &ev.asserted, ev.kind()
	known, name := ev.record(records)
	e.Sensor = firstOf(name, fmt.Sprintf("%s 0x%02x", e.Kind, ev.sensor))
	e.Event, e.Severity = ev.words(known), ev.severity()
	return e
}

// selEvent is the event in a standard record.
type selEvent struct {
	owner, lun, sensor byte
	sensorType         types.SensorType
	eventType          types.EventReadingType
	data               types.EventData
	asserted           bool
}

func (ev selEvent) kind() string {
	word := ev.sensorType.String()
	if word == "unknown" || word == "Reserved" {
		return fmt.Sprintf("sensor type 0x%02x", uint8(ev.sensorType))
	}
	return word
}

// record finds the sensor that the event is of, and its name. Its number says which,
// and its type that the record is not of another board.
func (ev selEvent) record(records []sdr) (*sdr, string) {
	for i := range records {
		s := &records[i]
		if s.owner != ev.owner || s.lun != ev.lun || s.sensorType != ev.sensorType || s.kind == types.SDRRecordTypeFRUDeviceLocator {
			continue
		}
		if n := ev.sensor - s.number; n == 0 || n < s.shared {
			return s, s.label(int(n))
		}
	}
	return nil, ""
}

// words tells what happened, and what the record adds to it.
func (ev selEvent) words(known *sdr) string {
	offset := ev.data.EventReadingOffset()
	event := ev.eventType.EventForOffset(ev.sensorType, offset)
	if event == nil || event.EventName == "" {
		return fmt.Sprintf("event type 0x%02x, offset %d, data %02x %02x", uint8(ev.eventType), offset, ev.data.EventData2, ev.data.EventData3)
	}
	more := ev.particulars(event)
	if ev.eventType.IsThreshold() {
		more = ev.figures(known)
	}
	if len(more) > 0 {
		return event.EventName + " (" + strings.Join(more, ", ") + ")"
	}
	return event.EventName
}

// meanings say what the second and third byte of the data are.
func (ev selEvent) meanings() (second, third byte) {
	return ev.data.EventData1 >> 6, ev.data.EventData1 >> 4 & 0x03
}

// figures are the reading that crossed a threshold, and the threshold.
func (ev selEvent) figures(known *sdr) []string {
	if known == nil || !known.analog() || known.linear.IsNonLinear() {
		return nil
	}
	const isFigure = 1
	var more []string
	second, third := ev.meanings()
	for _, f := range []struct {
		name    string
		meaning byte
		raw     byte
	}{{"reading", second, ev.data.EventData2}, {"threshold", third, ev.data.EventData3}} {
		if v := known.convert(f.raw, known.factors); f.meaning == isFigure && v != nil {
			more = append(more, strings.TrimSpace(fmt.Sprintf("%s %g %s", f.name, *v, known.unitWord())))
		}
	}
	return more
}

// particulars are what the sensor type defines for the bytes of data.
func (ev selEvent) particulars(event *types.Event) []string {
	const specific = 3
	var more []string
	second, third := ev.meanings()
	if word := event.ED2[ev.data.EventData2]; second == specific && word != "" {
		more = append(more, word)
	}
	if word := event.ED3[ev.data.EventData3]; third == specific && word != "" {
		more = append(more, word)
	}
	if ev.sensorType == types.SensorTypeMemory && third != 0 && ev.data.EventData3 != 0xff {
		more = append(more, fmt.Sprintf("module %d", ev.data.EventData3))
	}
	return more
}

// severity is what the specification's tables say of an event; a record has none of
// its own. A threshold that is not crossed any more is well; what else went away may
// be good or bad.
func (ev selEvent) severity() string {
	if !ev.asserted {
		if ev.eventType.IsThreshold() {
			return "OK"
		}
		return ""
	}
	if ev.eventType.EventForOffset(ev.sensorType, ev.data.EventReadingOffset()) == nil {
		return ""
	}
	switch ev.eventType.EventSeverity(ev.sensorType, ev.data, types.EventDirAssertion) {
	case types.EventSeverityCritical:
		return "Critical"
	case types.EventSeverityWarning, types.EventSeverityDegraded, types.EventSeverityNonFatal:
		return "Warning"
	case types.EventSeverityInfo, types.EventSeverityOK:
		return "OK"
	}
	return ""
}
