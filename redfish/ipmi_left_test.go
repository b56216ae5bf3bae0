package redfish_test

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

// notebook is a redfish.SessionStore: kept are sessions of this process, left those
// of one that is gone.
type notebook struct {
	mu         sync.Mutex
	kept, left []redfish.SessionRecord
	ended      []string
}

type note struct {
	book   *notebook
	record redfish.SessionRecord
}

func (n *notebook) Keep(_ string, r redfish.SessionRecord) (redfish.SessionHold, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r.Used = time.Now()
	n.kept = append(n.kept, r)
	return note{n, r}, nil
}

func (n *notebook) Left(string) ([]redfish.SessionHold, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var left []redfish.SessionHold
	for _, r := range n.left {
		left = append(left, note{n, r})
	}
	return left, nil
}

func (h note) end(how string) error {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	h.book.ended = append(h.book.ended, how)
	return nil
}

func (h note) Record() redfish.SessionRecord { return h.record }
func (h note) Touch()                        {}
func (h note) Forget() error                 { return h.end("forgotten") }
func (h note) Drop() error                   { return h.end("dropped") }

// tellsOfSessions lets a board tell of the sessions that its BMC has, by their ids.
func tellsOfSessions(b *board) {
	b.answers[[2]uint8{0x06, 0x3d}] = func(req []byte) ([]byte, types.CompletionCode) {
		if len(req) < 5 || req[0] != 0xff {
			return nil, types.CodeRequestDataFieldInvalid
		}
		s, err := b.bmc.Sessions.Get(binary.LittleEndian.Uint32(req[1:]))
		if err != nil {
			return nil, types.CodeRequestedDataNotPresent
		}
		at := s.GetAddr().(*net.UDPAddr)
		info := append([]byte{1, 4, 2, 2, 4, 0x11}, at.IP.To4()...)
		return binary.LittleEndian.AppendUint16(append(info, make([]byte, 6)...), uint16(at.Port)), types.CodeOK
	}
}

// A session that a killed process left is closed; one that is somebody else's by now
// is not.
func TestIPMISessionLeft(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*redfish.SessionRecord)
		closed bool
	}{
		{"ours", func(*redfish.SessionRecord) {}, true},
		{"from another socket", func(r *redfish.SessionRecord) { r.Origin = "127.0.0.1:1" }, false},
		{"too long ago", func(r *redfish.SessionRecord) { r.Used = time.Now().Add(-2 * time.Minute) }, false},
		{"of Redfish", func(r *redfish.SessionRecord) { r.URI = "/redfish/v1/SessionService/Sessions/1" }, false},
		{"gone", func(r *redfish.SessionRecord) { r.URI = "ipmi:/session/00001234" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t, tellsOfSessions)
			killed := &notebook{}
			cfg := b.config(nil)
			cfg.Sessions = killed
			first, err := redfish.OpenIPMI(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			next := &notebook{left: killed.kept}
			c.change(&next.left[0])
			cfg.Sessions = next
			second, err := redfish.OpenIPMI(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			want := 2
			if c.closed {
				want = 1
			}
			if n := b.bmc.Sessions.Count(); n != want {
				t.Errorf("%d sessions are open, wanted %d", n, want)
			}
			if len(next.ended) != 1 || next.ended[0] != "forgotten" {
				t.Errorf("what was remembered was %v, wanted forgotten", next.ended)
			}
			if err := second.Close(); err != nil || len(next.ended) != 2 {
				t.Errorf("close: %v; %v", err, next.ended)
			}
			_ = first.Close()
		})
	}
}
