package provision

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

const (
	probeSensors = "bmc-sensors"
	probeSEL     = "bmc-sel"

	// sensorTime and logTime bound one reading.
	sensorTime = 2 * time.Minute
	logTime    = 5 * time.Minute

	// logMargin is how far before the attempt its last reading of the log reaches back,
	// so that no entry is lost to clocks that are set in between. What was there before
	// is told by comparing with the first reading.
	logMargin = 10 * time.Minute
)

// bmcSource reads what the BMC measures and logs, in the phases of a burn-in. It is a
// burnin.Source. It never fails a burn-in: where the BMC does not answer, the evidence says so,
// and the burn-in goes on.
type bmcSource struct {
	env   *Env
	since time.Time                     // by our clock: when the log was first read
	whole bool                          // a whole reading under load was given
	told  map[string]redfish.Thresholds // limits that a short reading has shown, by sensor
	mu    sync.Mutex                    // one question at a time: readings, and what a fault under load asks for

	phase   burnin.Phase // of the reading under way
	drawing drawing      // under load
	supply  supplyWatch

	frozen string // what freeze has collected, and what not
}

// freeze collects diagnostics at a fault under load, where the batch asks for them; they
// are stored by then, and the readings under load wait.
func (s *bmcSource) freeze(ctx context.Context) ([]*burnin.Evidence, error) {
	if !s.env.Batch.Diagnostics.OnFailure {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := cmp.Or(time.Duration(s.env.Batch.Diagnostics.For), diagnosticsFor)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.frozen = s.env.diagnoseWithin(ctx, time.Now().Add(limit))
	return nil, nil
}

// Collect implements burnin.Source. Its only error is that of ctx: a reading that we
// cut ourselves says nothing about the BMC.
func (s *bmcSource) Collect(ctx context.Context, phase burnin.Phase) ([]*burnin.Evidence, error) {
	got := s.collect(ctx, phase)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return got, nil
}

func (s *bmcSource) collect(ctx context.Context, phase burnin.Phase) []*burnin.Evidence {
	switch phase {
	case burnin.PhaseBefore:
		return []*burnin.Evidence{s.read(ctx, probeSensors, phase, sensorTime, s.readSensors)}
	case burnin.PhaseLoad:
		how := s.readSensors
		if s.whole {
			how = s.sampleSensors
		}
		e := s.read(ctx, probeSensors, phase, sensorTime, how)
		s.whole = s.whole || e.Ended == burnin.EndedExit
		return []*burnin.Evidence{e}
	case burnin.PhaseAfter:
		return []*burnin.Evidence{
			s.read(ctx, probeSensors, phase, sensorTime, s.readSensors),
			s.log(ctx),
		}
	case burnin.PhaseBMC: // read by the step that verifies the BMC
	}
	return nil
}

// log reads what the BMC has logged since the attempt began.
func (s *bmcSource) log(ctx context.Context) *burnin.Evidence {
	return s.read(ctx, probeSEL, burnin.PhaseAfter, logTime, func(ctx context.Context, c BMC) (bmcRead, error) { return readLog(ctx, c, s.since) })
}

// bmcRead is what one reading gave: bodies by URI, and what we say of it.
type bmcRead struct {
	command string
	bodies  map[string]json.RawMessage
	short   bool // one of thousands: it is written without indentation
}

func (r bmcRead) out() ([]byte, error) {
	if r.short {
		return json.Marshal(r.bodies)
	}
	return burnin.JSON(r.bodies)
}

// read makes evidence of one reading, of one that failed too.
func (s *bmcSource) read(ctx context.Context, probe string, phase burnin.Phase, limit time.Duration, how func(context.Context, BMC) (bmcRead, error)) *burnin.Evidence {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase = phase
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	e := s.env.bmcEvidence(bounded, probe, phase, how)
	if e.Ended != burnin.EndedExit && ctx.Err() == nil {
		s.env.Log.Warn("the BMC was not read", "probe", e.Ref(), "why", string(e.Err))
		s.env.dropClient() // the next reading logs in anew
	}
	return e
}

// bmcEvidence reads the BMC once and makes evidence of it.
func (e *Env) bmcEvidence(ctx context.Context, probe string, phase burnin.Phase, how func(context.Context, BMC) (bmcRead, error)) *burnin.Evidence {
	start := time.Now()
	ev := &burnin.Evidence{
		Probe: probe, Phase: phase, Source: burnin.FromBMC, Ended: burnin.EndedExit, Started: start, Command: probe,
		Simulated: e.Machine.Boot.Image == SimulatedImage,
	}
	var got bmcRead
	c, err := e.Client(ctx)
	if err == nil {
		got, err = how(ctx, c)
	}
	if err == nil {
		ev.Out, err = got.out()
	}
	ev.Seconds = time.Since(start).Seconds()
	if got.command != "" {
		ev.Command = got.command
	}
	if err != nil {
		ev.Ended, ev.Out, ev.Err = burnin.EndedLost, nil, []byte(e.secrets.redact(err.Error())+"\n")
	}
	return ev
}

// forgetter drops what a client has recorded, so that the next reading stands alone.
type forgetter interface{ Forget() }

func forget(c BMC) {
	if f, ok := c.(forgetter); ok {
		f.Forget()
	}
}

// readSensors reads all sensors, as the BMC wrote them.
func (s *bmcSource) readSensors(ctx context.Context, c BMC) (bmcRead, error) {
	forget(c)
	note := clockNote(ctx, c)
	list, err := c.Sensors(ctx)
	s.saw(ctx, list)
	if err := missing(&note, err); err != nil {
		return bmcRead{}, err
	}
	return newReading(c, "sensors", note, "ipmi:/sdr", map[string]any{"sensors": list})
}

// sampleSensors reads all sensors and keeps their values only: a body of a DGX H100 is
// 140 KB, and a long load has hundreds of readings. The bodies are in the first.
func (s *bmcSource) sampleSensors(ctx context.Context, c BMC) (bmcRead, error) {
	forget(c)
	var note burnin.BMCNote
	list, err := c.Sensors(ctx)
	s.saw(ctx, list)
	if err := missing(&note, err); err != nil {
		return bmcRead{}, err
	}
	rows, err := json.Marshal(map[string]any{"sensors": list})
	if err != nil {
		return bmcRead{}, err
	}
	return withNote("sensors", note, map[string]json.RawMessage{"rackproof:sensors": rows})
}

// readLog reads the events since a moment of our clock; zero is all.
func readLog(ctx context.Context, c BMC, since time.Time) (bmcRead, error) {
	forget(c)
	note := clockNote(ctx, c)
	list, err := c.Log(ctx, since)
	if err := missing(&note, err); err != nil {
		return bmcRead{}, err
	}
	if !since.IsZero() && note.Skew != nil {
		note.Since = since.Add(time.Duration(*note.Skew * float64(time.Second)))
	}
	return newReading(c, "log of hardware events", note, "ipmi:/sel", map[string]any{"entries": list})
}

// clockNote starts a note with the BMC's clock, where it tells one.
func clockNote(ctx context.Context, c BMC) burnin.BMCNote {
	var note burnin.BMCNote
	clock, ok := c.(interface {
		Clock(context.Context) (time.Time, time.Duration, error)
	})
	if !ok {
		return note
	}
	if at, skew, err := clock.Clock(ctx); err == nil {
		seconds := skew.Seconds()
		note.Clock, note.Skew = at, &seconds
	}
	return note
}

// missing moves into the note what a reading lacks, and keeps any other error.
func missing(note *burnin.BMCNote, err error) error {
	if partial, ok := errors.AsType[*redfish.PartialError](err); ok {
		note.Missing = partial.Missing
		return nil
	}
	return err
}

// newReading takes the bodies that the client has recorded. Where it records none of
// the reading in a form that others read, the rows stand beside them.
func newReading(c BMC, of string, note burnin.BMCNote, key string, rows any) (bmcRead, error) {
	bodies := c.Recorded()
	readable := bodies[key] != nil
	for uri := range bodies {
		readable = readable || strings.HasPrefix(uri, "/")
	}
	if !readable {
		b, err := json.Marshal(rows)
		if err != nil {
			return bmcRead{}, err
		}
		bodies[key] = b
	}
	return withNote(of, note, bodies)
}

func withNote(of string, note burnin.BMCNote, bodies map[string]json.RawMessage) (bmcRead, error) {
	n := len(bodies)
	b, err := json.Marshal(note)
	if err != nil {
		return bmcRead{}, err
	}
	bodies[burnin.BMCNoteKey] = b
	return bmcRead{command: fmt.Sprintf("BMC: %s, %d resources", of, n), bodies: bodies}, nil
}

// keepLog keeps the log as it is when the attempt begins. A BMC whose log cannot be
// read is still worked with: the evidence says why.
func (e *Env) keepLog(ctx context.Context) (Facts, error) {
	if e.Store.Has(burnin.PhaseBMC, probeSEL) {
		return nil, nil
	}
	bounded, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	ev := e.bmcEvidence(bounded, probeSEL, burnin.PhaseBMC, func(ctx context.Context, c BMC) (bmcRead, error) { return readLog(ctx, c, time.Time{}) })
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return Facts{FactLogRead: ev.Started.UTC().Format(time.RFC3339)}, e.Store.Add(ev)
}

// logSince is how far back the log is read at the end, by our clock.
func (e *Env) logSince() time.Time {
	at, err := time.Parse(time.RFC3339, e.Facts[FactLogRead])
	if err != nil {
		return time.Time{} // the beginning is not known: all is read
	}
	return at.Add(-logMargin)
}
