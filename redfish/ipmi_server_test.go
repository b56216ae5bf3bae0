package redfish_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

// operator is a user who may not be administrator.
const operator = "tech"

// board is a machine with a BMC that speaks IPMI: go-ipmi's server for the sessions,
// and a board of our own behind it, whose answers a test may change.
type board struct {
	addr    string
	bmc     *bmc.BMC
	console *mock.FakeConsoleConn
	socket  *lossy
	clients int // of this test that are open

	mu      sync.Mutex
	answers map[[2]uint8]reply
	session uint32
	asked   []string // commands in words: "00/02 01"
	on      bool
	flags   [5]byte // boot options, parameter 5
	sel     [][]byte
	sdrs    [][]byte
	frus    map[byte][]byte
	values  map[byte][]byte // answers to Get Sensor Reading
	lit     bool
}

// reply gives the bytes of an answer, or a completion code.
type reply func(req []byte) ([]byte, types.CompletionCode)

// lossy is a socket that loses what it is told to.
type lossy struct {
	*udp.Conn
	mu     sync.Mutex
	lose   int // answers
	silent bool
	sent   int
	change func([]byte) []byte
}

func (l *lossy) WriteTo(b []byte, to net.Addr) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent || l.lose > 0 {
		l.lose = max(l.lose-1, 0)
		return len(b), nil
	}
	l.sent++
	if l.change != nil {
		b = l.change(b)
	}
	return l.Conn.WriteTo(b, to)
}

// count gives how many answers were sent.
func (l *lossy) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

func (l *lossy) set(f func(*lossy)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

// startBoard starts one for the life of the test, with what is odd about it.
func startBoard(t *testing.T, odd ...func(*board)) *board {
	t.Helper()
	pc, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	b := &board{
		addr: pc.LocalAddr().String(), socket: &lossy{Conn: udp.Wrap(pc)}, console: &mock.FakeConsoleConn{},
		answers: map[[2]uint8]reply{}, frus: map[byte][]byte{0: boardFRU()}, values: map[byte][]byte{},
	}
	hw := mock.New()
	hw.SetConsole(&mock.Console{Conn: b.console})
	guid := [16]byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0xf7, 0x40, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	b.bmc = bmc.New(bmc.DeviceInfo{DeviceID: 32, FirmwareMajor: 3, FirmwareMinor: 0x17, IPMIVersion: 2, AdditionalDeviceSupport: 0x8f}, guid, hw)
	b.addUser(t, 2, user, bmc.PrivilegeLevelAdministrator)
	b.addUser(t, 3, operator, bmc.PrivilegeLevelOperator)
	b.standard(guid)
	for _, change := range odd {
		change(b)
	}
	reg := handlers.NewRegistry()
	handlers.RegisterAllHandlers(reg)
	for key := range b.answers {
		reg.RegisterFunc(types.Command{NetFn: types.NetFn(key[0]), ID: key[1]}, b.dispatch(key))
	}
	srv := server.NewServer(b.bmc, b.socket, server.WithHandlerRegistry(reg))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(ctx) }()
	t.Cleanup(func() { cancel(); _ = srv.Close(); <-served })
	return b
}

func (b *board) addUser(t *testing.T, id uint8, name string, level bmc.PrivilegeLevel) {
	t.Helper()
	if _, err := b.bmc.Users.Add(id, name); err != nil {
		t.Fatal(err)
	}
	err := b.bmc.Users.Update(id, func(u *bmc.User) error {
		u.SetPassword([]byte(password))
		u.Enabled = true
		u.ChannelAccess[1] = bmc.UserChannelAccess{MaxPrivilege: level, Enabled: true}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *board) dispatch(key [2]uint8) handlers.HandlerFunc {
	return func(_ context.Context, h *handlers.HandlerContext, req []byte) ([]byte, types.CompletionCode, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if h.Session != nil {
			b.session = h.Session.BMCID
		}
		b.asked = append(b.asked, words(key, req))
		data, code := b.answers[key](req)
		return data, code, nil
	}
}

func words(key [2]uint8, req []byte) string {
	const digits = "0123456789abcdef"
	s := string([]byte{digits[key[0]>>4], digits[key[0]&15], '/', digits[key[1]>>4], digits[key[1]&15]})
	for _, v := range req {
		s += " " + string([]byte{digits[v>>4], digits[v&15]})
	}
	return s
}

// set changes an answer.
func (b *board) set(netFn, cmd uint8, a reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[[2]uint8{netFn, cmd}] = a
}

// alter changes the board itself.
func (b *board) alter(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

func refuse(code types.CompletionCode) reply {
	return func([]byte) ([]byte, types.CompletionCode) { return nil, code }
}

// commands gives how often each of the commands that begin so was carried out.
func (b *board) commands(prefix string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, a := range b.asked {
		if len(a) >= len(prefix) && a[:len(prefix)] == prefix {
			out = append(out, a)
		}
	}
	return out
}

// standard is a board without quirks.
func (b *board) standard(guid [16]byte) {
	ok := func(data ...byte) ([]byte, types.CompletionCode) { return data, types.CodeOK }
	b.answers[[2]uint8{0x06, 0x37}] = func([]byte) ([]byte, types.CompletionCode) { return ok(guid[:]...) }
	b.answers[[2]uint8{0x0c, 0x02}] = func(req []byte) ([]byte, types.CompletionCode) {
		if req[1] != 5 {
			return nil, types.CodeParameterNotSupported
		}
		return ok(0x11, 0x7c, 0xc2, 0x55, 0x00, 0x00, 0x07)
	}
	b.answers[[2]uint8{0x00, 0x01}] = func([]byte) ([]byte, types.CompletionCode) {
		state := []byte{0x20, 0, 0x40}
		if b.on {
			state[0] |= 1
		}
		if b.lit {
			state[2] |= 0x20
		}
		return ok(state...)
	}
	b.answers[[2]uint8{0x00, 0x02}] = func(req []byte) ([]byte, types.CompletionCode) {
		b.on = req[0] == 1
		return ok()
	}
	b.answers[[2]uint8{0x00, 0x04}] = func(req []byte) ([]byte, types.CompletionCode) {
		b.lit = len(req) > 1 && req[1] == 1 || req[0] > 0
		return ok()
	}
	b.answers[[2]uint8{0x00, 0x08}] = func(req []byte) ([]byte, types.CompletionCode) {
		if req[0] == 5 {
			copy(b.flags[:], req[1:])
		}
		return ok()
	}
	b.answers[[2]uint8{0x00, 0x09}] = func([]byte) ([]byte, types.CompletionCode) { return ok(append([]byte{1, 5}, b.flags[:]...)...) }
	b.storage()
}

func (b *board) storage() {
	ok := func(data ...byte) ([]byte, types.CompletionCode) { return data, types.CodeOK }
	b.answers[[2]uint8{0x0a, 0x10}] = func(req []byte) ([]byte, types.CompletionCode) {
		fru, there := b.frus[req[0]]
		if !there {
			return nil, types.CodeRequestedDataNotPresent
		}
		return ok(byte(len(fru)), byte(len(fru)>>8), 0)
	}
	b.answers[[2]uint8{0x0a, 0x11}] = func(req []byte) ([]byte, types.CompletionCode) {
		fru, at, n := b.frus[req[0]], int(binary.LittleEndian.Uint16(req[1:])), int(req[3])
		if at+n > len(fru) {
			return nil, types.CodeParameterOutOfRange
		}
		return ok(append([]byte{byte(n)}, fru[at:at+n]...)...)
	}
	b.answers[[2]uint8{0x0a, 0x22}] = func([]byte) ([]byte, types.CompletionCode) { return ok(1, 0) }
	b.answers[[2]uint8{0x0a, 0x23}] = func(req []byte) ([]byte, types.CompletionCode) {
		return record(b.sdrs, binary.LittleEndian.Uint16(req[2:]), int(req[4]), int(req[5]))
	}
	b.answers[[2]uint8{0x0a, 0x40}] = func([]byte) ([]byte, types.CompletionCode) {
		return ok(append([]byte{0x51, byte(len(b.sel)), 0}, make([]byte, 11)...)...)
	}
	b.answers[[2]uint8{0x0a, 0x42}] = func([]byte) ([]byte, types.CompletionCode) { return ok(1, 0) }
	b.answers[[2]uint8{0x0a, 0x43}] = func(req []byte) ([]byte, types.CompletionCode) {
		return record(b.sel, binary.LittleEndian.Uint16(req[2:]), int(req[4]), int(req[5]))
	}
	b.answers[[2]uint8{0x0a, 0x48}] = func([]byte) ([]byte, types.CompletionCode) {
		return ok(binary.LittleEndian.AppendUint32(nil, uint32(time.Now().Unix()))...)
	}
	b.answers[[2]uint8{0x04, 0x2d}] = func(req []byte) ([]byte, types.CompletionCode) {
		v, there := b.values[req[0]]
		if !there {
			return nil, types.CodeRequestedDataNotPresent
		}
		return ok(v...)
	}
	b.answers[[2]uint8{0x04, 0x27}] = refuse(types.CodeInvalidCommand)
	b.answers[[2]uint8{0x04, 0x23}] = refuse(types.CodeInvalidCommand)
}

// record finds one in a chain whose records begin with their id.
func record(chain [][]byte, id uint16, at, n int) ([]byte, types.CompletionCode) {
	i := slices.IndexFunc(chain, func(r []byte) bool { return binary.LittleEndian.Uint16(r) == id })
	if id == 0 {
		i = 0
	}
	if i < 0 || i >= len(chain) {
		return nil, types.CodeRequestedDataNotPresent
	}
	next := uint16(0xffff)
	if i+1 < len(chain) {
		next = binary.LittleEndian.Uint16(chain[i+1])
	}
	r := chain[i]
	if n == 0xff {
		n = len(r) - at
	}
	if at+n > len(r) {
		return nil, types.CodeParameterOutOfRange
	}
	return append(binary.LittleEndian.AppendUint16(nil, next), r[at:at+n]...), types.CodeOK
}

// config is for a board on loopback: nothing waits longer than it must.
func (b *board) config(log *bytes.Buffer) redfish.Config {
	cfg := redfish.Config{
		Addr: b.addr, User: user, Password: password, Timeout: 2 * time.Second, Poll: 5 * time.Millisecond,
		GracefulWait: 50 * time.Millisecond, PowerWait: 300 * time.Millisecond,
	}
	if log != nil {
		cfg.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return cfg
}

// open logs in and closes at the end.
func (b *board) open(t *testing.T) *redfish.IPMI {
	t.Helper()
	return b.openWith(t, b.config(nil))
}

func (b *board) openWith(t *testing.T, cfg redfish.Config) *redfish.IPMI {
	t.Helper()
	c, err := redfish.OpenIPMI(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.clients++
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error("close:", err)
		}
		if b.clients--; b.clients > 0 {
			return
		}
		if n := b.bmc.Sessions.Count(); n != 0 {
			t.Errorf("%d sessions are left open at the BMC", n)
		}
	})
	return c
}

// boardFRU is the inventory of the board in our own words: an eight-bit serial, a
// six-bit part number and a blank product name, which one model really has.
func boardFRU() []byte {
	field := func(s string) []byte { return append([]byte{0xc0 | byte(len(s))}, s...) }
	area := func(head []byte, fields ...[]byte) []byte {
		b := append([]byte{1, 0}, head...)
		for _, f := range fields {
			b = append(b, f...)
		}
		b = append(b, 0xc1)
		for len(b)%8 != 7 {
			b = append(b, 0)
		}
		b[1] = byte((len(b) + 1) / 8)
		return append(b, sumToZero(b))
	}
	chassis := area([]byte{23}, field("CH-PART"), field("CH0007"))
	main := area([]byte{0, 1, 2, 3}, field("Maker"), field("H12-BOARD"), field("BRD0007"), []byte{0x83, 0x29, 0xdc, 0xa6}, field(""))
	product := area([]byte{0}, field("Maker"), field(" "), field("GPU-8"), field("1.0"), field("SYS0007"), field("To be filled by O.E.M."), field(""))
	at := 1
	head := []byte{1, 0, byte(at), byte(at + len(chassis)/8), byte(at + (len(chassis)+len(main))/8), 0, 0}
	head = append(head, sumToZero(head))
	return slices.Concat(head, chassis, main, product)
}

func sumToZero(b []byte) byte {
	var sum byte
	for _, v := range b {
		sum += v
	}
	return -sum
}
