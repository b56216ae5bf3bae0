package lab

import (
	"sync"
	"time"
)

// selLimit is how many events the BMCs keep; the oldest go.
const selLimit = 1000

// SELEntry is one event of the system event log.
type SELEntry struct {
	Sensor     byte // sensor number
	SensorType byte
	EventType  byte // event/reading type code
	Deassert   bool
	Data       [3]byte
	Message    string // for the Redfish log
	Severity   string // Redfish: OK, Warning, Critical
}

// stampedEntry is an event with the time at which it came.
type stampedEntry struct {
	SELEntry
	at time.Time
}

// eventLog is what the machine's Redfish BMC logs. It outlives a BMC that loses
// power. ipmi_sim keeps its own, which a client may clear apart from this one.
type eventLog struct {
	mu       sync.Mutex
	entries  []stampedEntry
	follower func(stampedEntry)
}

func (l *eventLog) add(e SELEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := stampedEntry{e, time.Now()}
	l.entries = append(l.entries, one)
	if over := len(l.entries) - selLimit; over > 0 {
		l.entries = append([]stampedEntry(nil), l.entries[over:]...)
	}
	if l.follower != nil {
		l.follower(one)
	}
}

// follow tells f what was logged and then each event that comes, until it is
// replaced; nil ends it.
func (l *eventLog) follow(f func(stampedEntry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follower = f
	if f == nil {
		return
	}
	for _, e := range l.entries {
		f(e)
	}
}

// sensed logs what a change of a sensor crosses; ipmi_sim finds it by itself.
func (m *Machine) sensed(s sensor, from, to byte) {
	for _, e := range s.events(from, to) {
		m.events.add(e)
	}
	m.bmc.wake()
}

// Log adds an event to the logs of both BMCs. One that has no power misses it.
func (m *Machine) Log(e SELEntry) {
	if sim := m.bmc.running(); sim != nil {
		m.events.add(e)
		sim.addEvent(e)
	}
}
