package redfish

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bougou/go-ipmi/pkg/command/sensor"
	"github.com/bougou/go-ipmi/pkg/types"
)

const (
	cmdReadingFactors = 0x23
	cmdThresholds     = 0x27
	cmdReading        = 0x2d
)

// Sensors reads every sensor that the BMC describes, in the order of its records. A
// sensor that gives no figure now has no Reading, and State says why: Absent,
// Disabled, or UnavailableOffline. With a PartialError there are the sensors whose
// record could be read. It wraps ErrUnsupported where the BMC describes none.
func (c *IPMI) Sensors(ctx context.Context) ([]Sensor, error) {
	records, remarks, err := c.records(ctx)
	if err != nil {
		return nil, err
	}
	list := []Sensor{}
	raw := map[string]string{}
	for _, s := range records {
		if !s.sensor() {
			continue
		}
		for i := range max(int(s.shared), 1) {
			one := s
			one.number += byte(i)
			read, answer, err := c.sensor(ctx, one, s.label(i))
			if err != nil {
				return list, err
			}
			raw[read.Source+" "+read.Name] = answer
			list = append(list, read)
		}
	}
	c.keep("sdr", map[string]any{"sensors": list, "records": c.sdrs.raw, "remarks": remarks, "readings": raw})
	switch {
	case len(remarks) > 0:
		return list, &PartialError{Addr: c.cfg.Addr, Missing: remarks}
	case len(list) == 0:
		return list, fmt.Errorf("BMC %s: %w: it describes no sensors", c.cfg.Addr, ErrUnsupported)
	}
	return list, nil
}

// sensor reads one. The error is for a BMC that does not answer any more.
func (c *IPMI) sensor(ctx context.Context, s sdr, name string) (Sensor, string, error) {
	out := Sensor{
		Name: name, Kind: s.measures(), Unit: s.unitWord(), Context: ipmiEntities[s.entity],
		State: "UnavailableOffline", Source: fmt.Sprintf("sdr 0x%04x", s.id),
	}
	if s.owner != types.BMC_SA {
		return out, "behind controller " + fmt.Sprintf("0x%02x", s.owner), nil // such as a power node manager: not asked
	}
	b, err := c.command(ctx, ipmiCommand{name: "Get Sensor Reading", netFn: netFnSensor, cmd: cmdReading, lun: s.lun, data: []byte{s.number}})
	switch {
	case codeOf(err) == codeNotPresent:
		out.State = "Absent"
		return out, err.Error(), nil
	case codeOf(err) != 0:
		return out, err.Error(), nil
	case err != nil:
		return out, "", err
	}
	var r sensor.GetSensorReadingResponse
	if r.Unpack(b) != nil {
		return out, fmt.Sprintf("%x", b), nil
	}
	switch {
	case r.SensorScanningDisabled:
		out.State = "Disabled"
	case !r.ReadingUnavailable:
		out.State = "Enabled"
		if err := c.fill(ctx, &out, s, r); err != nil {
			return out, "", err
		}
	}
	return out, fmt.Sprintf("%x", b), nil
}

// fill puts in what a reading says.
func (c *IPMI) fill(ctx context.Context, out *Sensor, s sdr, r sensor.GetSensorReadingResponse) error {
	if !s.analog() {
		out.States = s.states(r.ActiveStates.TrueEvents())
		return nil
	}
	var err error
	if out.Reading, err = c.value(ctx, s, r.Reading); err != nil {
		return err
	}
	switch r.ThresholdStatus() {
	case types.SensorThresholdStatus_OK:
		out.Health = "OK"
	case types.SensorThresholdStatus_UNC, types.SensorThresholdStatus_LNC:
		out.Health = "Warning"
	default:
		out.Health = "Critical"
	}
	return c.thresholds(ctx, out, s)
}

// thresholds reads the limits in force, once in a session; a board with fixed limits
// has them in the record.
func (c *IPMI) thresholds(ctx context.Context, out *Sensor, s sdr) error {
	place := [2]byte{s.lun, s.number}
	c.sdrs.mu.Lock()
	known, ok := c.sdrs.limits[place]
	c.sdrs.mu.Unlock()
	if ok {
		out.Thresholds = known
		return nil
	}
	readable, raw := byte(s.mask), s.thresholds
	b, err := c.command(ctx, ipmiCommand{name: "Get Sensor Thresholds", netFn: netFnSensor, cmd: cmdThresholds, lun: s.lun, data: []byte{s.number}})
	switch {
	case err == nil && len(b) >= 7:
		readable = b[0]
		copy(raw[:], b[1:7])
	case err != nil && codeOf(err) == 0:
		return err
	}
	t := &out.Thresholds
	for i, to := range []**float64{&t.LowerCaution, &t.LowerCritical, &t.LowerFatal, &t.UpperCaution, &t.UpperCritical, &t.UpperFatal} {
		if readable>>i&1 != 0 {
			if *to, err = c.value(ctx, s, raw[i]); err != nil {
				return err
			}
		}
	}
	c.sdrs.mu.Lock()
	defer c.sdrs.mu.Unlock()
	c.sdrs.limits[place] = *t
	return nil
}

// value converts a raw reading. A sensor that is not linear has factors of its own
// for each reading.
func (c *IPMI) value(ctx context.Context, s sdr, raw byte) (*float64, error) {
	factors := s.factors
	if s.linear.IsNonLinear() {
		b, err := c.command(ctx, ipmiCommand{name: "Get Sensor Reading Factors", netFn: netFnSensor, cmd: cmdReadingFactors, lun: s.lun, data: []byte{s.number, raw}})
		if err != nil && codeOf(err) == 0 {
			return nil, err
		}
		if err != nil || len(b) < 7 {
			return nil, nil
		}
		factors = parseFactors(b[1:7])
	}
	return s.convert(raw, factors), nil
}

// convert gives a figure without the noise of binary fractions, nil where there is
// none.
func (s sdr) convert(raw byte, factors types.ReadingFactors) *float64 {
	v := types.ConvertReading(raw, s.unit.AnalogDataFormat, factors, s.linear)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v = math.Round(v*1e6) / 1e6
	return &v
}

// states words what a discrete sensor asserts. Only states that its record says can
// be read count: some BMCs set others.
func (s sdr) states(active []uint8) []string {
	var out []string
	for _, offset := range active {
		if s.mask != 0 && s.mask>>offset&1 == 0 {
			continue
		}
		word := fmt.Sprintf("state %d", offset)
		if e := s.eventType.EventForOffset(s.sensorType, offset); e != nil && e.EventName != "" {
			word = e.EventName
		}
		out = append(out, word)
	}
	return out
}

// measures tells the kind by the unit first: a power supply gives watts, amperes and
// degrees under one sensor type.
func (s sdr) measures() SensorKind {
	if !s.analog() {
		return Discrete
	}
	if kind, ok := unitKinds[s.unit.BaseUnit]; ok && !s.unit.Percentage {
		return kind
	}
	if s.unit.Percentage && slices.Contains([]types.SensorType{types.SensorTypeFan, types.SensorTypeCollingDevice}, s.sensorType) {
		return FanSpeed
	}
	return OtherSensor
}

var unitKinds = map[types.SensorUnitType]SensorKind{
	types.SensorUnitType_DegreesC: Temperature, types.SensorUnitType_DegreesF: Temperature, types.SensorUnitType_DegreesK: Temperature,
	types.SensorUnitType_RPM: FanSpeed, types.SensorUnitType_Volts: Voltage, types.SensorUnitType_Amps: Current, types.SensorUnitType_Watts: PowerDraw,
}

// ucum are units as Redfish writes them.
var ucum = map[types.SensorUnitType]string{
	types.SensorUnitType_Unspecified: "", types.SensorUnitType_DegreesC: "Cel", types.SensorUnitType_DegreesF: "[degF]", types.SensorUnitType_DegreesK: "K",
	types.SensorUnitType_Volts: "V", types.SensorUnitType_Amps: "A", types.SensorUnitType_Watts: "W", types.SensorUnitType_Joules: "J",
	types.SensorUnitType_RPM: "RPM", types.SensorUnitType_Hz: "Hz", types.SensorUnitType_CFM: "[ft_i]3/min", types.SensorUnitType_Second: "s",
}

func (s sdr) unitWord() string {
	switch {
	case !s.analog():
		return ""
	case s.unit.Percentage:
		return "%"
	}
	if word, ok := ucum[s.unit.BaseUnit]; ok {
		return word
	}
	return s.unit.BaseUnit.String()
}

// ipmiEntities are the places of sensors (IPMI 2.0, table 43-13) in the words of
// Redfish's PhysicalContext; others are left out.
var ipmiEntities = map[byte]string{
	3: "CPU", 4: "StorageDevice", 7: "SystemBoard", 8: "Memory", 10: "PowerSupply", 12: "SystemBoard", 15: "Backplane",
	19: "PowerSubsystem", 20: "VoltageRegulator", 26: "StorageBay", 29: "Fan", 30: "Fan", 32: "Memory",
	55: "Intake", 64: "Intake", 65: "CPU", 66: "SystemBoard",
}
