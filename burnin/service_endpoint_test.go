package burnin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

const (
	listURL  = "http://127.0.0.1:8000/v1/models"
	readyURL = "http://127.0.0.1:8000/v2/health/ready"
)

// servicePage is what the probe prints: URL, body and status of each answer in turn.
func servicePage(answers ...string) string {
	var b strings.Builder
	for i := 0; i+2 < len(answers); i += 3 {
		fmt.Fprintf(&b, "#service %s\n%s\n#service status %s\n", answers[i], answers[i+1], answers[i+2])
	}
	return b.String() + serviceEnd + "\n"
}

func TestServiceEndpoint(t *testing.T) {
	const list = `{"object":"list","data":[{"id":"llama-70b","object":"model"}]}`
	const what = `{"name":"triton","version":"2.50.0","extensions":["model_repository"]}`
	llama := &profiles.Limit{Relation: profiles.Equal, Text: []string{"llama-70b"}}
	base := strings.TrimSuffix(readyURL, "/health/ready")
	for _, c := range []struct {
		name, url, out string
		model          *profiles.Limit
		ready, answer  string // of quantities ready and model
	}{
		{"a list of models", listURL, servicePage(listURL, list, "200"), nil, "pass", ""},
		{"the model wanted", listURL, servicePage(listURL, list, "200"), llama, "pass", "pass"},
		{"another model", listURL, servicePage(listURL, strings.Replace(list, "llama", "other", 1), "200"), llama, "pass", "fail"},
		{"no model", listURL, servicePage(listURL, `{"object":"list","data":[]}`, "200"), nil, "fail", ""},
		{"some other server", listURL, servicePage(listURL, "<html>It works!</html>", "200"), nil, "fail", ""},
		{"refused", listURL, servicePage(listURL, "curl: (7) Failed to connect to 127.0.0.1 port 8000", "000"), nil, "fail", ""},
		{"not ready", listURL, servicePage(listURL, "loading", "503"), nil, "fail", ""},
		{"ready, and says what it is", readyURL, servicePage(readyURL, "", "200", base, what, "200"), nil, "pass", ""},
		{"ready, and does not say what it is", readyURL, servicePage(readyURL, "", "200", base, "", "404"), nil, "fail", ""},
		{"ready, cut", readyURL, servicePage(readyURL, "", "200"), nil, "not_run", ""},
		{"its model", readyURL, servicePage(readyURL, "", "200", base, what, "200", base+"/models/llama-70b", `{"name":"llama-70b","versions":["1"]}`, "200"), llama, "pass", "pass"},
		{"not its model", readyURL, servicePage(readyURL, "", "200", base, what, "200", base+"/models/llama-70b", `{"error":"unknown model"}`, "400"), llama, "pass", "fail"},
		{"cut", listURL, servicePage(listURL, list, "200")[:60], nil, "not_run", ""},
		{"a path of which nothing is known", "http://127.0.0.1/healthz", servicePage("http://127.0.0.1/healthz", "ok", "200"), nil, "not_run", ""},
		{"no address", "8000", "hello\n", nil, "not_run", ""},
		{"nothing", listURL, "", nil, "not_run", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := map[string]string{"service.endpoint/ready/service " + c.url: c.ready}
			if c.answer != "" {
				want["service.endpoint/model/service "+c.url] = c.answer
			}
			p := &profiles.Profile{Service: profiles.Service{URL: c.url, Model: c.model}}
			wantAnswers(t, judged(t, phases("service-endpoint", "", c.out), p, newGPUParts, serviceEndpoint), want, true)
		})
	}
	none := judged(t, phases("service-endpoint", "", ""), &profiles.Profile{}, newGPUParts, serviceEndpoint)
	wantAnswers(t, none, map[string]string{"service.endpoint/ready/service": "not_applicable"}, true)
}

// The command of the probe, run here against a server of the test.
func TestServiceCommand(t *testing.T) {
	if serviceCommand(nil) != "" || serviceCommand(&profiles.Profile{}) != "" {
		t.Error("a service that nobody named is asked")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not here")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m"}]}`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, want := range map[string]string{"/v1/models": "pass", "/v2/health/ready": "fail"} {
		p := &profiles.Profile{Service: profiles.Service{URL: server.URL + path}}
		e := runHere(t, shells()[0], serviceCommand(p))
		e.Probe, e.Phase, e.Source = "service-endpoint", PhaseAfter, FromLocal
		got := judged(t, &Record{Meta: Meta{Coverage: CoverHost}, Evidence: []*Evidence{e}}, p, newGPUParts, serviceEndpoint)
		wantAnswers(t, got, map[string]string{"service.endpoint/ready/service " + server.URL + path: want}, true)
	}
}

func FuzzService(f *testing.F) {
	fuzzParser(f, "service-endpoint", servicePage(listURL, "x", "200"), "#service status 200\n")
}
