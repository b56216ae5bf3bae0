package redfish_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// cutting is a host behind a BMC of which a test says what the cut of its power brings.
type cutting struct {
	mu      sync.Mutex
	on      bool
	last    int                // reset time, in minutes
	moves   bool               // switching off moves the reset time
	cut     func(*cutting) int // the cut: its status, 0 for an answer that is lost
	deaf    int                // requests that get no answer
	refuse  bool               // the next connection
	stays   bool               // switching off is refused
	resets  []string           // that were asked for
	allowed string             // resets
}

// take answers for the host and its reset.
func (m *cutting) take(w http.ResponseWriter, r *http.Request) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deaf > 0 {
		m.deaf--
		panic(http.ErrAbortHandler)
	}
	switch r.URL.Path {
	case aSystem:
		power := map[bool]string{true: "On", false: "Off"}[m.on]
		answer(w, http.StatusOK, fmt.Sprintf(`{"PowerState":%q,"LastResetTime":"2026-01-05T07:%02d:00Z","Boot":{},
			"Actions":{"#ComputerSystem.Reset":{"target":%q,"ResetType@Redfish.AllowableValues":["On","ForceOff",%s]}}}`, power, m.last, aSystem+"/reset", m.allowed))
	case aSystem + "/reset":
		m.reset(w, r)
	default:
		return false
	}
	return true
}

func (m *cutting) reset(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	status := http.StatusNoContent
	switch kind := strings.Split(string(body), `"`)[3]; {
	case kind == "ForceOff" && m.stays:
		status = http.StatusBadRequest
	case kind == "On" || kind == "ForceOff":
		m.resets = append(m.resets, kind)
		m.on = kind == "On"
		if m.on || m.moves {
			m.last++
		}
	default:
		m.resets = append(m.resets, kind)
		status = m.cut(m)
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	answer(w, status, "")
}

// dial refuses a connection where it is told to.
func (m *cutting) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	m.mu.Lock()
	refuse := m.refuse && len(m.resets) > 0
	m.mu.Unlock()
	if refuse {
		return nil, &net.OpError{Op: "dial", Net: network, Err: io.ErrUnexpectedEOF}
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

func (m *cutting) client(t *testing.T) *redfish.Client {
	t.Helper()
	m.on, m.allowed = true, `"FullPowerCycle"`
	cfg := front(t, serve(t, redfishtest.Options{Tree: small()}), m.take)
	cfg.Dial = m.dial
	return openAt(t, cfg)
}

// TestACCycleProof: a cut counts only where the machine shows it, and is sent again only
// where the BMC refused it for a host that is off.
func TestACCycleProof(t *testing.T) {
	comes := func(m *cutting) int { m.on = true; return http.StatusNoContent }
	ignored := func(*cutting) int { return http.StatusNoContent }
	for _, c := range []struct {
		name string
		host *cutting
		cuts int
		done bool
	}{
		{"comes on", &cutting{cut: comes}, 1, true},
		{"new reset time", &cutting{cut: func(m *cutting) int { m.last++; return http.StatusNoContent }}, 1, true},
		{"goes away", &cutting{cut: func(m *cutting) int { m.deaf = 9; return http.StatusNoContent }}, 1, true},
		{"goes away with its answer", &cutting{cut: func(m *cutting) int { m.deaf = 9; return 0 }}, 1, true},
		{"ignored", &cutting{cut: ignored}, 1, false},
		{"ignored, and switching off is a reset", &cutting{cut: ignored, moves: true}, 1, false},
		{"ignored for a host that had to be on", &cutting{cut: func(m *cutting) int {
			if !m.on {
				return http.StatusConflict
			}
			return http.StatusNoContent
		}}, 2, false},
		{"no answer, no effect", &cutting{cut: func(*cutting) int { return 0 }}, 1, false},
		{"the server gives up and it happens", &cutting{cut: func(m *cutting) int { m.on = true; return http.StatusInternalServerError }}, 1, true},
		{"the proxy gives up and nothing happens", &cutting{cut: func(*cutting) int { return http.StatusGatewayTimeout }}, 1, false},
		{"forbidden", &cutting{cut: func(*cutting) int { return http.StatusForbidden }}, 1, false},
		{"no connection", &cutting{cut: comes, refuse: true}, 0, false},
		{"a host that is not to be switched off", &cutting{cut: comes, stays: true}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := c.host
			client := m.client(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := client.ACCycle(ctx)
			m.mu.Lock()
			m.refuse = false
			cuts := len(slices.DeleteFunc(slices.Clone(m.resets), func(kind string) bool { return kind != "FullPowerCycle" }))
			m.mu.Unlock()
			if (err == nil) != c.done || cuts != c.cuts {
				t.Errorf("%v, %v; want done %v and %d cuts", err, m.resets, c.done, c.cuts)
			}
		})
	}
}

// TestUncertainRestartIsNotSentAgain: a reset whose proxy gave up may be under way.
func TestUncertainRestartIsNotSentAgain(t *testing.T) {
	m := &cutting{cut: func(*cutting) int { return http.StatusGatewayTimeout }}
	m.on, m.allowed = true, `"ForceRestart","PowerCycle"`
	cfg := front(t, serve(t, redfishtest.Options{Tree: small()}), m.take)
	cfg.PowerWait = 50 * time.Millisecond
	err := openAt(t, cfg).SetPower(within(t, time.Minute), redfish.Restart)
	if err == nil || !strings.Contains(err.Error(), "look at the console") || len(m.resets) != 1 {
		t.Errorf("%v, %v; want one reset, and a person to look", err, m.resets)
	}
}
