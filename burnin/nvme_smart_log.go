package burnin

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// SMARTLog is the health of one drive as one tool tells it.
type SMARTLog struct {
	Device   string // "nvme9"; "" when the tool does not say
	Model    string
	Serial   string
	Firmware string
	ATA      bool         // not an NVMe drive
	Capacity Opt[float64] // bytes

	CriticalWarning Opt[float64] // bit field, 0 is healthy
	Temperature     Opt[float64] // °C, composite
	Spare           Opt[float64] // % of the spare blocks that are left
	SpareThreshold  Opt[float64] // % below which the drive is worn out
	PercentUsed     Opt[float64] // % of its life, may be above 100
	MediaErrors     Opt[float64] // unrecovered
	ErrorLog        Opt[float64] // entries over the drive's life; not zero on healthy drives
	PowerOn         Opt[float64] // hours
	PowerCycles     Opt[float64]
	Read, Written   Opt[float64] // TB
	HotMinutes      Opt[float64] // above its own warning or critical temperature

	Passed      Opt[bool] // the drive's own verdict, smartctl only
	ExitBits    Opt[int]  // exit status of smartctl, a bit field
	Implausible string    // why the log cannot be what the drive measured
}

// smartNames are the fields of the log by the names of nvme-cli and smartctl.
var smartNames = map[string][]string{
	"critical_warning": {"critical_warning"},
	"temperature":      {"temperature", "composite_temperature"},
	"spare":            {"avail_spare", "available_spare"},
	"threshold":        {"spare_thresh", "available_spare_threshold"},
	"used":             {"percent_used", "percentage_used"},
	"media":            {"media_errors", "media_and_data_integrity_errors"},
	"errors":           {"num_err_log_entries", "error_information_log_entries"},
	"hours":            {"power_on_hours"},
	"cycles":           {"power_cycles"},
	"read":             {"data_units_read"},
	"written":          {"data_units_written"},
	"warm":             {"warning_temp_time", "warning_temperature_time"},
	"hot":              {"critical_comp_time", "critical_composite_temperature_time"},
}

// dataUnit is one data unit in TB: a thousand blocks of 512 bytes, whatever the
// block size (NVM Express Base Specification, SMART / Health Information log).
const dataUnit = 512 * 1000 / 1e12

// kelvinAbove parts kelvin from °C: nvme-cli prints kelvin as a bare number, and no
// drive lives at 150 °C.
const kelvinAbove = 150

// fill reads the log from fields by name.
func (l *SMARTLog) fill(fields map[string]any) {
	get := func(key string) Opt[float64] {
		for _, name := range smartNames[key] {
			if v, ok := fields[name]; ok {
				return notNegative(looseNumber(v))
			}
		}
		return Opt[float64]{}
	}
	l.CriticalWarning = get("critical_warning")
	l.Temperature = celsius(get("temperature"))
	l.Spare, l.SpareThreshold, l.PercentUsed = get("spare"), get("threshold"), get("used")
	l.MediaErrors, l.ErrorLog = get("media"), get("errors")
	l.PowerOn, l.PowerCycles = get("hours"), get("cycles")
	l.Read, l.Written = scaled(get("read"), dataUnit), scaled(get("written"), dataUnit)
	l.HotMinutes = optSum(get("warm"), get("hot"))
	l.Implausible = l.implausible()
}

// known reports whether the log told anything about health.
func (l *SMARTLog) known() bool {
	return l.CriticalWarning.Set || l.Spare.Set || l.MediaErrors.Set
}

// implausible says what cannot be. A drive that has been on for hours has been
// switched on at least once; one that reports neither that nor a single block read
// does not report at all (seen: passed, 6331 hours, everything else zero).
func (l *SMARTLog) implausible() string {
	silent := l.PowerCycles.Set && l.PowerCycles.V == 0 && l.Read.V == 0 && l.Written.V == 0
	if silent && l.PowerOn.V > 0 {
		return "the drive reports hours of work, and neither a start nor a block read: its health log is not filled in"
	}
	if l.Spare.V > 100 || l.SpareThreshold.V > 100 {
		return "the drive reports more than 100 % of spare blocks"
	}
	return ""
}

func notNegative(o Opt[float64]) Opt[float64] {
	if o.Set && o.V < 0 {
		return Opt[float64]{Text: o.Text}
	}
	return o
}

func scaled(o Opt[float64], factor float64) Opt[float64] {
	o.V *= factor
	return o
}

func celsius(o Opt[float64]) Opt[float64] {
	if o.Set && o.V > kelvinAbove {
		v, err := profiles.Quantity{Value: o.V, Unit: profiles.Kelvin}.In(profiles.Celsius)
		if err != nil {
			return Opt[float64]{Text: o.Text}
		}
		o.V = v
	}
	return o
}

// errNoJSON is why a tool's answer cannot be read.
var errNoJSON = errors.New("the output holds no JSON")

// findJSON decodes the first JSON object or array of an output: warnings may stand
// before it.
func findJSON(body []byte) (any, error) {
	start := strings.IndexAny(string(body), "{[")
	if start < 0 {
		return nil, errNoJSON
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(string(body[start:])))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, errors.Join(errNoJSON, err)
	}
	return v, nil
}

// objectWith finds the first object, at any depth, that has one of the names.
func objectWith(v any, depth int, names ...string) map[string]any {
	if depth == 0 {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range names {
			if _, ok := v[name]; ok {
				return v
			}
		}
		for _, key := range sortedKeys(v) {
			if found := objectWith(v[key], depth-1, names...); found != nil {
				return found
			}
		}
	case []any:
		for _, item := range v {
			if found := objectWith(item, depth-1, names...); found != nil {
				return found
			}
		}
	}
	return nil
}
