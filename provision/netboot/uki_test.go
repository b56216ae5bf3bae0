package netboot

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// testStub is a PE32+ program of one section, with room for a few more, and symbols
// behind it.
func testStub() []byte {
	b := make([]byte, 0x400+0x200, 0x700)
	le := binary.LittleEndian
	copy(b, "MZ")
	le.PutUint32(b[60:], 0x80)
	h := b[0x80:]
	copy(h, "PE\x00\x00")
	le.PutUint16(h[4:], pe.IMAGE_FILE_MACHINE_AMD64)
	le.PutUint16(h[6:], 1)
	le.PutUint16(h[20:], 240)
	o := h[24:]
	le.PutUint16(o, 0x20b)
	le.PutUint32(o[32:], 0x1000) // alignment in memory
	le.PutUint32(o[36:], 0x200)  // and in the file
	le.PutUint32(o[56:], 0x3000)
	le.PutUint32(o[60:], 0x400)
	le.PutUint32(o[64:], 0x1234)
	le.PutUint32(o[108:], 16)
	s := o[240:]
	copy(s, ".text")
	le.PutUint32(s[8:], 0x1f0)
	le.PutUint32(s[12:], 0x2000)
	le.PutUint32(s[16:], 0x200)
	le.PutUint32(s[20:], 0x400)
	copy(b[0x400:], "stub code")
	return append(b, "symbols"...)
}

func TestUnify(t *testing.T) {
	want := map[string]string{".cmdline": "console=ttyS0", ".initrd": strings.Repeat("i", 5000), ".linux": strings.Repeat("k", 700)}
	var parts []ukiPart
	for _, name := range []string{".cmdline", ".initrd", ".linux"} {
		parts = append(parts, ukiPart{name, strings.NewReader(want[name]), int64(len(want[name]))})
	}
	a, err := unify(testStub(), parts)
	if err != nil {
		t.Fatal(err)
	}
	if a.size%0x200 != 0 {
		t.Errorf("the file has %d bytes, no whole blocks", a.size)
	}
	f, err := pe.NewFile(io.NewSectionReader(a, 0, a.size))
	if err != nil {
		t.Fatal(err)
	}
	head := f.OptionalHeader.(*pe.OptionalHeader64)
	file, memory := uint32(0x400), uint32(0x1000)
	for _, s := range f.Sections {
		if s.Offset < file || s.Offset%0x200 != 0 || s.Size%0x200 != 0 || s.VirtualAddress < memory || s.VirtualAddress%0x1000 != 0 {
			t.Errorf("%s: %+v, want it behind file %#x, memory %#x, and aligned", s.Name, s.SectionHeader, file, memory)
		}
		file, memory = s.Offset+s.Size, s.VirtualAddress+s.VirtualSize
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := want[s.Name]; ok && string(data[:s.VirtualSize]) != text {
			t.Errorf("%s holds %d bytes that differ", s.Name, len(data))
		}
		delete(want, s.Name)
	}
	if len(want) > 0 || len(f.Sections) != 4 {
		t.Errorf("%d sections, missing %v", len(f.Sections), want)
	}
	if head.SizeOfImage < memory || head.SizeOfImage%0x1000 != 0 || head.CheckSum != 0 || int64(file) != a.size {
		t.Errorf("image size %#x of %#x, checksum %#x, file %#x of %#x", head.SizeOfImage, memory, head.CheckSum, file, a.size)
	}
	code := make([]byte, 9)
	if _, err := a.ReadAt(code, 0x400); err != nil || string(code) != "stub code" {
		t.Errorf("the stub's own code reads %q, %v", code, err)
	}
}

func TestUnifyRefuses(t *testing.T) {
	crowded := make([]ukiPart, 20)
	for i := range crowded {
		crowded[i] = ukiPart{".x" + strconv.Itoa(i), strings.NewReader(""), 0}
	}
	huge := []ukiPart{{".initrd", strings.NewReader(""), 3 << 30}}
	for name, test := range map[string]struct {
		stub  []byte
		parts []ukiPart
		want  string
	}{
		"no program":  {[]byte("#!ipxe"), nil, "no PE file"},
		"no room":     {testStub(), crowded, "no room"},
		"cut":         {testStub()[:0x300], nil, "no room"},
		"more than 2": {testStub(), huge, "larger"},
	} {
		if _, err := unify(test.stub, test.parts); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func FuzzUnify(f *testing.F) {
	f.Add(testStub())
	f.Add([]byte("MZ"))
	f.Fuzz(func(t *testing.T, stub []byte) {
		a, err := unify(stub, []ukiPart{{".linux", strings.NewReader("kernel"), 6}})
		if err != nil {
			return
		}
		if a.size < 6 || a.size > int64(len(stub))+1<<33 {
			t.Errorf("%d bytes of %d", a.size, len(stub))
		}
	})
}

// TestBootProgram: the URL of an image with a stub is that of a program, which
// firmware asks for with HEAD, then whole or in ranges; HEAD is no boot.
func TestBootProgram(t *testing.T) {
	dir := t.TempDir()
	image := filepath.Join(dir, "live")
	if err := os.MkdirAll(image, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"vmlinuz": "KERNEL", "initrd": "INITRD", "cmdline": "quiet\n", stubFile: string(testStub())} {
		if err := os.WriteFile(filepath.Join(image, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, filepath.Join(dir, "netboot.json"), dir)
	ticket, err := s.Ticket("m", 1, "live", "")
	if err != nil {
		t.Fatal(err)
	}
	url := s.URL("127.0.0.1", ticket.Token)
	if !strings.HasSuffix(url, "/"+ticket.Token+"/boot.efi") {
		t.Fatalf("URL %s", url)
	}
	head := request(t, http.MethodHead, url, "")
	if head.status != http.StatusOK || head.length <= 0 || head.kind != "application/efi" {
		t.Errorf("HEAD: %+v", head)
	}
	if now, _ := s.Find("m", 1); !now.Fetched.IsZero() {
		t.Error("HEAD counts as a boot")
	}
	whole := request(t, http.MethodGet, url, "")
	if int64(len(whole.body)) != head.length || !bytes.Contains(whole.body, []byte("quiet rackproof.token="+ticket.Token+" rackproof.seed=http://127.0.0.1:"+strconv.Itoa(s.Port())+"/b/"+ticket.Token+"/seed")) {
		t.Errorf("the program has %d bytes of %d, or another command line", len(whole.body), head.length)
	}
	bare := request(t, http.MethodGet, url, "", "127.0.0.1")
	if !bytes.Equal(bare.body, whole.body) {
		t.Error("a Host without the port, as EDK II sends it, gives another program")
	}
	part := request(t, http.MethodGet, url, "bytes=1024-1032")
	if part.status != http.StatusPartialContent || string(part.body) != "stub code" {
		t.Errorf("range: %d %q", part.status, part.body)
	}
	if now, _ := s.Find("m", 1); now.Fetched.IsZero() {
		t.Error("the boot is not noted")
	}
}

type reply struct {
	status int
	length int64
	kind   string
	body   []byte
}

func request(t *testing.T, method, url, ranged string, host ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if len(host) > 0 {
		req.Host = host[0]
	}
	if ranged != "" {
		req.Header.Set("Range", ranged)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.ContentLength, resp.Header.Get("Content-Type"), body}
}
