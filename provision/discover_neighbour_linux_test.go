package provision

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// neighbourMessage is an entry of the table as the kernel sends it.
func neighbourMessage(index int, state uint16, addr string, mac []byte) []byte {
	body := make([]byte, neighbourHead)
	binary.NativeEndian.PutUint32(body[4:], uint32(index))
	binary.NativeEndian.PutUint16(body[8:], state)
	attribute := func(kind uint16, value []byte) {
		head := make([]byte, syscall.SizeofRtAttr)
		binary.NativeEndian.PutUint16(head, uint16(len(head)+len(value)))
		binary.NativeEndian.PutUint16(head[2:], kind)
		body = append(append(body, head...), value...)
		body = append(body, make([]byte, (4-len(body)%4)%4)...)
	}
	attribute(unix.NDA_DST, netip.MustParseAddr(addr).AsSlice())
	if mac != nil {
		attribute(unix.NDA_LLADDR, mac)
	}
	head := make([]byte, syscall.NLMSG_HDRLEN)
	binary.NativeEndian.PutUint32(head, uint32(len(head)+len(body)))
	binary.NativeEndian.PutUint16(head[4:], syscall.RTM_NEWNEIGH)
	return append(head, body...)
}

func TestNeighbours(t *testing.T) {
	mac := []byte{0x7c, 0xc2, 0x55, 0, 0, 7}
	var table []byte
	for _, m := range [][]byte{
		neighbourMessage(2, unix.NUD_REACHABLE, "10.0.12.7", mac),
		neighbourMessage(2, unix.NUD_STALE, "fe80::7ec2:55ff:fe00:7", mac),
		neighbourMessage(2, unix.NUD_INCOMPLETE, "10.0.12.8", nil),
		neighbourMessage(2, unix.NUD_FAILED, "10.0.12.9", mac),
		neighbourMessage(2, unix.NUD_NOARP, "ff02::1", []byte{0x33, 0x33, 0, 0, 0, 1}),
		neighbourMessage(3, unix.NUD_REACHABLE, "10.0.13.7", mac), // on an interface that nobody named
		neighbourMessage(2, unix.NUD_PERMANENT, "10.0.12.10", make([]byte, 20)),
	} {
		table = append(table, m...)
	}
	list, err := parseNeighbours(table, map[int]string{2: "eth1"})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, s := range list {
		fmt.Fprintf(&got, "%s %s %s\n", bmcWords(s.At), s.MAC, s.Source)
	}
	want := "10.0.12.7 7c:c2:55:00:00:07 neighbour on eth1\nfe80::7ec2:55ff:fe00:7%eth1 7c:c2:55:00:00:07 neighbour on eth1\n"
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
	if _, err := neighbours(nil); err != nil { // of this machine, whoever is in it
		t.Error(err)
	}
}

func FuzzNeighbours(f *testing.F) {
	f.Add(neighbourMessage(2, unix.NUD_REACHABLE, "10.0.12.7", []byte{0x7c, 0xc2, 0x55, 0, 0, 7}))
	f.Add(neighbourMessage(2, unix.NUD_REACHABLE, "fe80::1", []byte{1, 2, 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, _ := parseNeighbours(b, map[int]string{2: "eth1"})
		for _, s := range list {
			if !s.At.IsValid() || s.MAC == "" {
				t.Fatalf("%+v", s)
			}
		}
	})
}
