package netboot

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func start(t *testing.T, state, images string) *Server {
	t.Helper()
	s := &Server{Addr: "127.0.0.1:0", State: state, Images: images}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestBootFromScriptToUp(t *testing.T) {
	dir := t.TempDir()
	image := filepath.Join(dir, "images", "live")
	if err := os.MkdirAll(image, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"vmlinuz": "KERNEL", "initrd": "INITRD", "cmdline": "console=ttyS0\n"} {
		if err := os.WriteFile(filepath.Join(image, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, filepath.Join(dir, "netboot.json"), filepath.Join(dir, "images"))
	ticket, err := s.Ticket("r1u01", 1, "live", "ssh-ed25519 AAAA test")
	if err != nil {
		t.Fatal(err)
	}
	url := s.URL("127.0.0.1", ticket.Token)
	code, script := get(t, url)
	if code != http.StatusOK || !strings.Contains(script, " console=ttyS0 rackproof.token="+ticket.Token+" ") {
		t.Fatalf("script %d:\n%s", code, script)
	}
	if code, body := get(t, strings.TrimSuffix(url, "boot.ipxe")+"vmlinuz"); code != http.StatusOK || body != "KERNEL" {
		t.Errorf("vmlinuz: %d %q", code, body)
	}
	if code, _ := get(t, strings.TrimSuffix(url, "boot.ipxe")+"cmdline"); code != http.StatusNotFound {
		t.Errorf("a file that is not to be served: %d", code)
	}
	var got seed
	_, body := get(t, strings.TrimSuffix(url, "boot.ipxe")+"seed")
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey([]byte(got.HostKey))
	if err != nil {
		t.Fatal(err)
	}
	if pub := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))); pub != ticket.HostKeyPublic {
		t.Errorf("seed gives another host key than the ticket: %s, %s", pub, ticket.HostKeyPublic)
	}
	if got.AuthorizedKeys != "ssh-ed25519 AAAA test" || got.Token != ticket.Token {
		t.Errorf("seed %+v", got)
	}
	post(t, strings.TrimSuffix(url, "boot.ipxe")+"up", `{"uuid":"u-1","serial":"S1"}`, http.StatusNoContent)
	post(t, strings.TrimSuffix(url, "boot.ipxe")+"up", `no json`, http.StatusBadRequest)
	now, ok := s.Find("r1u01", 1)
	if !ok || now.Fetched.IsZero() || now.Seeded.IsZero() || now.Up == nil || now.Up.UUID != "u-1" {
		t.Errorf("ticket afterwards: %+v", now)
	}
}

func post(t *testing.T, url, body string, want int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != want {
		t.Errorf("POST %s: %d, want %d", url, resp.StatusCode, want)
	}
}

func TestRestartServesTheSameTicketOnTheSamePort(t *testing.T) {
	state := filepath.Join(t.TempDir(), "netboot.json")
	first := start(t, state, "")
	ticket, err := first.Ticket("m", 2, Simulated, "")
	if err != nil {
		t.Fatal(err)
	}
	port := first.Port()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, state, "")
	again, err := second.Ticket("m", 2, Simulated, "")
	if err != nil {
		t.Fatal(err)
	}
	if second.Port() != port || again.Token != ticket.Token || again.HostKey != ticket.HostKey {
		t.Errorf("port %d, want %d; token %s, want %s", second.Port(), port, again.Token, ticket.Token)
	}
	if other, err := second.Ticket("m", 3, Simulated, ""); err != nil || other.Token == ticket.Token {
		t.Errorf("another attempt got token %s (%v)", other.Token, err)
	}
	if code, _ := get(t, second.URL("127.0.0.1", "beef")); code != http.StatusNotFound {
		t.Errorf("a token that nobody made: %d", code)
	}
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("state file holds keys: mode %v, %v", info.Mode(), err)
	}
}

func TestImageNamesStayInTheirFolder(t *testing.T) {
	s := &Server{Images: t.TempDir()}
	for _, name := range []string{"../etc", "", "a/b", ".."} {
		if s.HasImage(name) {
			t.Errorf("image %q is served", name)
		}
	}
	if !s.HasImage(Simulated) {
		t.Error("the simulated image is not there")
	}
}

// TestImageOnAVirtualDrive: BMCs ask with HEAD and for ranges; the name tells nothing
// of the token, and nobody gets an image that no machine is to boot.
func TestImageOnAVirtualDrive(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "netboot.json"), "")
	ticket, err := s.Ticket("m", 1, Simulated, "")
	if err != nil {
		t.Fatal(err)
	}
	url := s.MediaURL("127.0.0.1", ticket.Token)
	if !strings.HasSuffix(url, ".iso") || strings.Contains(url, ticket.Token) || len(url) > 64 {
		t.Errorf("URL %s: want it short, without the token, ending in .iso", url)
	}
	if code, _ := get(t, url); code != http.StatusNotFound {
		t.Errorf("an image that nobody asked for: %d", code)
	}
	if err := s.FaceHost(ticket.Token, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	ask := func(method, ranged string) (*http.Response, []byte) {
		req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
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
		return resp, body
	}
	head, _ := ask(http.MethodHead, "")
	if head.StatusCode != http.StatusOK || head.ContentLength < 1<<20 || head.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("HEAD: %s, %d bytes, ranges %q", head.Status, head.ContentLength, head.Header.Get("Accept-Ranges"))
	}
	if now, _ := s.Find("m", 1); !now.MediaRead.IsZero() {
		t.Error("a HEAD counts as read")
	}
	resp, body := ask(http.MethodGet, "bytes=32768-34815")
	if resp.StatusCode != http.StatusPartialContent || len(body) != isoSector || string(body[1:6]) != "CD001" {
		t.Errorf("a range: %s, %d bytes, %q", resp.Status, len(body), body[:min(len(body), 8)])
	}
	_, whole := ask(http.MethodGet, "")
	seed := "rackproof.seed=http://192.0.2.1:" + strconv.Itoa(s.Port()) + "/b/" + ticket.Token + "/seed"
	if int64(len(whole)) != head.ContentLength || !strings.Contains(string(whole), seed) {
		t.Errorf("the image has %d bytes and holds no %q", len(whole), seed)
	}
	if now, _ := s.Find("m", 1); now.MediaRead.IsZero() || !now.Seeded.IsZero() || !now.Fetched.IsZero() {
		t.Errorf("the ticket says %+v; reading the image is all that happened", now)
	}
}
