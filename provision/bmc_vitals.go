package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// vitalTime bounds one short reading.
const vitalTime = 30 * time.Second

// vitalReader is a client that reads in few requests what moves under load. Over IPMI
// there is no such way: each sensor is a request of its own.
type vitalReader interface {
	Vitals(context.Context) ([]redfish.Sensor, error)
}

// Watch implements burnin.Watcher.
func (s *bmcSource) Watch(ctx context.Context) (*burnin.Evidence, error) {
	unsupported := false
	e := s.read(ctx, probeSensors, burnin.PhaseLoad, vitalTime, func(ctx context.Context, c BMC) (bmcRead, error) {
		v, ok := c.(vitalReader)
		if !ok {
			unsupported = true
			return bmcRead{}, nil
		}
		got, err := s.vitals(ctx, v)
		unsupported = errors.Is(err, redfish.ErrUnsupported)
		forget(c) // what was recorded is of no use here
		return got, err
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case unsupported:
		return nil, fmt.Errorf("read the BMC once a second: %w", errors.ErrUnsupported)
	}
	return e, nil
}

// vitalRow is one sensor of a short reading, without what is known of it.
type vitalRow struct {
	Name       string              `json:"name"`
	Kind       redfish.SensorKind  `json:"kind"`
	Reading    *float64            `json:"reading"`
	Unit       string              `json:"unit,omitempty"`
	Thresholds *redfish.Thresholds `json:"thresholds,omitempty"` // where they are new
	Health     string              `json:"health,omitempty"`
	State      string              `json:"state,omitempty"`
	States     []string            `json:"states,omitempty"`
	Context    string              `json:"context,omitempty"`
}

func (s *bmcSource) vitals(ctx context.Context, v vitalReader) (bmcRead, error) {
	var note burnin.BMCNote
	list, err := v.Vitals(ctx)
	s.saw(ctx, list)
	if err := missing(&note, err); err != nil {
		return bmcRead{}, err
	}
	if s.told == nil {
		s.told = map[string]redfish.Thresholds{}
	}
	rows := make([]vitalRow, len(list))
	for i, one := range list {
		rows[i] = vitalRow{
			Name: one.Name, Kind: one.Kind, Reading: one.Reading, Unit: one.Unit, Health: one.Health, State: one.State, States: one.States, Context: one.Context,
		}
		key := one.Source + " " + one.Name
		if told, known := s.told[key]; !known || !told.Equal(one.Thresholds) {
			rows[i].Thresholds, s.told[key] = &list[i].Thresholds, one.Thresholds
		}
	}
	b, err := json.Marshal(map[string]any{"sensors": rows})
	if err != nil {
		return bmcRead{}, err
	}
	got, err := withNote("fans, supplies and temperatures", note, map[string]json.RawMessage{burnin.BMCVitalsKey: b})
	got.short = true
	return got, err
}
