package burnin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Smartctl is the health of each drive by smartctl. Its exit status is a bit field:
// bits 0 and 1 mean that there is no data, bit 3 that the drive calls itself failing.
var Smartctl = Probe[SMARTLog]{
	Spec: ProbeSpec{
		Name:      "smartctl",
		Command:   always(`smartctl -j -a "/dev/$1"`),
		Phases:    []Phase{PhaseBefore, PhaseAfter},
		Tool:      "smartctl",
		Version:   "smartctl --version",
		AnyExit:   true,
		Deadline:  time.Minute,
		Root:      true,
		Instances: nvmeInstances,
	},
	Parse: parseSmartctl,
}

// Bits of smartctl's exit status (smartctl(8), "EXIT STATUS").
const (
	smartctlNoData  = 1<<0 | 1<<1 // command line did not parse; device open failed
	smartctlFailing = 1 << 3
	smartctlNotes   = 1<<2 | 1<<4 | 1<<5 | 1<<6 | 1<<7
)

// smartctlDoc is the part of smartctl's JSON that we read.
type smartctlDoc struct {
	Smartctl struct {
		ExitStatus *int `json:"exit_status"`
		Messages   []struct {
			String string `json:"string"`
		} `json:"messages"`
	} `json:"smartctl"`
	Device struct {
		Name     string `json:"name"`
		Protocol string `json:"protocol"`
	} `json:"device"`
	ModelName    string          `json:"model_name"`
	SerialNumber string          `json:"serial_number"`
	Firmware     string          `json:"firmware_version"`
	Capacity     json.RawMessage `json:"nvme_total_capacity"`
	UserCapacity struct {
		Bytes json.RawMessage `json:"bytes"`
	} `json:"user_capacity"`
	SmartStatus struct {
		Passed *bool `json:"passed"`
	} `json:"smart_status"`
	Log map[string]any `json:"nvme_smart_health_information_log"`
}

func parseSmartctl(e *Evidence) (SMARTLog, error) {
	body, _ := e.Body()
	start := strings.IndexByte(string(body), '{')
	if start < 0 {
		return SMARTLog{}, nvmeFailure("smartctl", string(body)+"\n"+string(e.Err))
	}
	var doc smartctlDoc
	if err := json.NewDecoder(strings.NewReader(string(body[start:]))).Decode(&doc); err != nil {
		return SMARTLog{}, fmt.Errorf("smartctl: %w", err)
	}
	name := doc.Device.Name[strings.LastIndexByte(doc.Device.Name, '/')+1:]
	l := SMARTLog{
		Device: firstWord(e.Instance, name), Model: doc.ModelName, Serial: plainIdentity(doc.SerialNumber), Firmware: doc.Firmware,
		ATA: doc.Device.Protocol != "" && doc.Device.Protocol != "NVMe",
	}
	l.Capacity = rawNumber(doc.Capacity)
	if bytes := rawNumber(doc.UserCapacity.Bytes); bytes.Set {
		l.Capacity = bytes
	}
	if doc.SmartStatus.Passed != nil {
		l.Passed = Opt[bool]{V: *doc.SmartStatus.Passed, Set: true}
	}
	if bits := firstExit(doc.Smartctl.ExitStatus, e.Exit); bits != nil {
		l.ExitBits = Opt[int]{V: *bits, Set: true}
	}
	l.fill(doc.Log)
	if l.ATA || l.known() || l.Passed.Set {
		return l, nil
	}
	if l.ExitBits.V&smartctlNoData != 0 && len(doc.Smartctl.Messages) > 0 {
		return SMARTLog{}, errors.New("smartctl: no data: " + doc.Smartctl.Messages[0].String)
	}
	return SMARTLog{}, errors.New("smartctl: the answer holds no health of a drive")
}

func firstExit(statuses ...*int) *int {
	for _, s := range statuses {
		if s != nil {
			return s
		}
	}
	return nil
}

func rawNumber(raw json.RawMessage) Opt[float64] {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return Opt[float64]{}
	}
	return looseNumber(v)
}
