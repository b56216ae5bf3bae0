package netboot

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOffer: one file under a short plain URL, for as long as it is offered, and over a
// restart.
func TestOffer(t *testing.T) {
	dir := t.TempDir()
	file, secret := filepath.Join(dir, "BIOS_1.5.bin"), filepath.Join(dir, "secret")
	for path, text := range map[string]string{file: "FIRMWARE", secret: "SECRET"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(dir, "netboot.json")
	s := start(t, state, dir)
	token, err := s.Offer("m1", file, 8)
	if err != nil {
		t.Fatal(err)
	}
	url := s.OfferURL("127.0.0.1", token, file)
	if !strings.HasSuffix(url, "/BIOS_1.5.bin") || strings.ContainsAny(url, "?%") || len(url) > 64 {
		t.Errorf("URL %s", url)
	}
	if !s.Fetched(token).IsZero() {
		t.Error("fetched before anybody came")
	}
	base := strings.TrimSuffix(url, "BIOS_1.5.bin")
	for _, other := range []string{base + "secret", base + "..%2Fsecret", base, strings.Replace(url, token, "0000000000000000", 1)} {
		if code, body := get(t, other); code != http.StatusNotFound || strings.Contains(body, "SECRET") {
			t.Errorf("%s: %d %q", other, code, body)
		}
	}
	if code, body := get(t, url); code != http.StatusOK || body != "FIRMWARE" || s.Fetched(token).IsZero() {
		t.Errorf("%d %q, fetched %v", code, body, s.Fetched(token))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, state, dir)
	if again, err := s.Offer("m1", file, 8); err != nil || again != token {
		t.Errorf("after a restart token %s, was %s, %v", again, token, err)
	}
	if code, _ := get(t, url); code != http.StatusOK {
		t.Errorf("after a restart: %d", code)
	}
	if err := os.WriteFile(file, []byte("ANOTHER ONE"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, url); code == http.StatusOK {
		t.Errorf("a file that was changed: %d %q", code, body)
	}
	if err := s.Withdraw(token); err != nil {
		t.Fatal(err)
	}
	if code, _ := get(t, url); code != http.StatusNotFound {
		t.Errorf("withdrawn: %d", code)
	}
	if name := offerName("/x/fw 1?.fwpkg"); name != "image.fwpkg" {
		t.Errorf("an odd name is served as %q", name)
	}
}
