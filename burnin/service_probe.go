package burnin

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// ServiceAnswers are the answers of the service that the profile names, asked on the
// node itself, past any proxy. Each is behind a line "#service URL" and before its
// status.
var ServiceAnswers = Probe[map[string]HTTPAnswer]{
	Spec: ProbeSpec{
		Name:     "service-endpoint",
		Command:  serviceCommand,
		Phases:   []Phase{PhaseAfter},
		Tool:     "curl",
		Version:  "curl --version",
		Deadline: time.Minute,
	},
	Parse: parseService,
}

// HTTPAnswer is one answer.
type HTTPAnswer struct {
	Status int    // 0: none came
	Body   string // or what curl says of why
}

const serviceEnd = "#rackproof-service-end"

// serviceCommand asks the profile's URL and what proves who answers there.
func serviceCommand(p *profiles.Profile) string {
	if p == nil {
		return ""
	}
	asks := serviceURLs(&p.Service)
	if len(asks) == 0 {
		return ""
	}
	var b strings.Builder
	for _, ask := range asks {
		q := shellQuote(ask)
		b.WriteString("echo \"#service \"" + q + "\ncurl -sS --noproxy '*' -m 10 -w '\\n#service status %{http_code}\\n' " + q + " 2>&1\n")
	}
	return b.String() + "echo '" + serviceEnd + "'"
}

// serviceURLs are what is asked for: the URL itself, and of a server that answers
// readiness without a word also what it is, and the models by name.
func serviceURLs(s *profiles.Service) []string {
	u, err := url.Parse(s.URL)
	if s.URL == "" || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	asks := []string{s.URL}
	base, inference := strings.CutSuffix(s.URL, "/v2/health/ready")
	if !inference {
		return asks
	}
	asks = append(asks, base+"/v2")
	if s.Model.Set() {
		for _, name := range s.Model.Text {
			asks = append(asks, base+"/v2/models/"+url.PathEscape(name))
		}
	}
	return asks
}

var (
	serviceAsk    = regexp.MustCompile(`^#service (https?://\S+)$`)
	serviceStatus = regexp.MustCompile(`^#service status (\d{3})$`)
)

// parseService keeps the answers that came to their status; what was cut is none.
func parseService(e *Evidence) (map[string]HTTPAnswer, error) {
	body, _ := e.Body()
	out := map[string]HTTPAnswer{}
	asked := ""
	var text []string
	for line := range strings.Lines(string(body)) {
		line = chomp(line)
		if m := serviceAsk.FindStringSubmatch(line); m != nil {
			asked, text = m[1], nil
			continue
		}
		m := serviceStatus.FindStringSubmatch(line)
		switch {
		case m == nil:
			text = append(text, line)
		case asked != "":
			out[asked] = HTTPAnswer{Status: atoi(m[1]), Body: strings.TrimSpace(strings.Join(text, "\n"))}
			asked = ""
		}
	}
	if len(out) == 0 {
		return nil, errors.New("service-endpoint: the output holds no whole answer" + firstLine(e.Err))
	}
	return out, nil
}
