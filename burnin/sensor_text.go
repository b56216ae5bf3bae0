package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The three tables of ipmitool:
//
//	sdr        CPU1 Temp        | 40 degrees C      | ok
//	sdr elist  CPU1 Temp        | 01h | ok  |  3.1 | 40 degrees C
//	sensor     CPU1 Temp        | 40.000     | degrees C  | ok    | 5.000     | 5.000     | na | 95.000 | 99.000 | 99.000
var (
	elistNumber = regexp.MustCompile(`^[0-9A-F]{2}h$`)
	hexStates   = regexp.MustCompile(`^0x[0-9a-f]+$`)
	textReading = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)\s+(degrees C|percent|RPM|Volts|Amps|Watts|CFM|unspecified)$`)
)

// parseSensorText reads a table of ipmitool. A last line that was cut short, or a
// line of another form, means that it is not whole.
func parseSensorText(e *Evidence) (SensorSet, error) {
	body, complete := e.Body()
	var set SensorSet
	if !complete && e.Source != FromLoose {
		set.Missing = fmt.Errorf("%s was cut short", e.Ref())
	}
	for line := range strings.Lines(string(body)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		s, ok := sensorLine(line)
		if !ok {
			set.Missing = errors.Join(set.Missing, fmt.Errorf("a line is no sensor: %.60q", strings.TrimSpace(line)))
			continue
		}
		set.Sensors = append(set.Sensors, s)
	}
	if len(set.Sensors) == 0 {
		return set, errors.Join(errors.New("bmc-sensors: no sensor is in it"), set.Missing)
	}
	return set, nil
}

func sensorLine(line string) (BMCSensor, bool) {
	if !strings.HasSuffix(line, "\n") && strings.Count(line, "|") < 2 {
		return BMCSensor{}, false
	}
	cells := strings.Split(chomp(line), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	s := BMCSensor{Name: cells[0], Kind: sensorState, source: cells[0]}
	switch {
	case s.Name == "":
		return s, false
	case len(cells) == 3:
		return s.read(cells[1], cells[2])
	case len(cells) == 5 && elistNumber.MatchString(cells[1]):
		return s.read(cells[4], cells[2])
	case len(cells) == 10:
		return s.readWithLimits(cells)
	}
	return s, false
}

// read takes a reading in words and ipmitool's status of it: ok, ns (not
// readable now), and the limits that are crossed: nc, cr and nr.
func (s BMCSensor) read(reading, status string) (BMCSensor, bool) {
	if !s.rate(status) {
		return s, false
	}
	switch m := textReading.FindStringSubmatch(reading); {
	case m != nil:
		s.Unit = sensorUnit(m[2])
		s.Reading = looseNumber(m[1])
		s.Kind = sensorKind("", s.Unit)
		if s.Unit == "%" {
			s.Kind = percentKind(s.Name)
		}
	case hexStates.MatchString(strings.ToLower(reading)):
	case strings.EqualFold(reading, "disabled"):
		s.State = "Disabled"
	case strings.EqualFold(reading, "no reading"), strings.EqualFold(reading, "not readable"):
		s.State = firstWord(s.State, "UnavailableOffline")
	case reading != "":
		for word := range strings.SplitSeq(reading, ",") {
			s.States = append(s.States, strings.TrimSpace(word))
		}
	}
	return s, true
}

// percentKind tells what is measured in percent: fans, and else the use of
// something.
func percentKind(name string) string {
	if strings.Contains(strings.ToLower(name), "fan") {
		return sensorFan
	}
	return sensorOther
}

// rate reads ipmitool's status; ok is false for a word that it never prints.
func (s *BMCSensor) rate(status string) (ok bool) {
	switch strings.ToLower(status) {
	case "ok":
		s.Health, s.State = "OK", "Enabled"
	case "nc", "lnc", "unc":
		s.Health, s.State = "Warning", "Enabled"
	case "cr", "lcr", "ucr", "nr", "lnr", "unr":
		s.Health, s.State = "Critical", "Enabled"
	case "ns", "na":
		s.State = "UnavailableOffline"
	default:
		if !hexStates.MatchString(strings.ToLower(status)) {
			return false
		}
	}
	return true
}

func (s BMCSensor) readWithLimits(cells []string) (BMCSensor, bool) {
	if !s.rate(cells[3]) {
		return s, false
	}
	number := func(text string) Opt[float64] {
		if strings.EqualFold(text, "na") {
			return Opt[float64]{}
		}
		return looseNumber(text)
	}
	s.Unit = sensorUnit(cells[2])
	if strings.EqualFold(s.Unit, "discrete") {
		s.Unit = ""
		return s, true
	}
	s.Reading, s.Kind = number(cells[1]), sensorKind("", s.Unit)
	if s.Unit == "%" {
		s.Kind = percentKind(s.Name)
	}
	s.Limits = SensorLimits{
		LowerFatal: number(cells[4]), LowerCritical: number(cells[5]), LowerCaution: number(cells[6]),
		UpperCaution: number(cells[7]), UpperCritical: number(cells[8]), UpperFatal: number(cells[9]),
	}
	return s, true
}
