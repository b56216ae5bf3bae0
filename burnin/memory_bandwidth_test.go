package burnin

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

const streamGood = `-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
This system uses 8 bytes per array element.
-------------------------------------------------------------
Array size = 1200000000 (elements), Offset = 0 (elements)
Memory per array = 9155.3 MiB (= 8.9 GiB).
Number of Threads requested = 64
Number of Threads counted = 64
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           61000.0     0.017811     0.017748     0.017950
Scale:          60000.0     0.017753     0.017684     0.017948
Add:            62000.0     0.027626     0.027541     0.028479
Triad:          TRIAD     0.027448     0.027362     0.027785
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
-------------------------------------------------------------
`

// streamPage is the output of STREAM with a triad in MB/s.
func streamPage(triad string) string { return strings.Replace(streamGood, "TRIAD", triad, 1) }

func TestMemoryBandwidth(t *testing.T) {
	const share, triad = "memory.bandwidth/share/memory", "memory.bandwidth/triad/memory"
	// The host of the test has four channels of DDR5-4800: 153.6 GB/s.
	floor := ratedLimit(profiles.Min, 70, profiles.Percent)
	for _, c := range []struct {
		name, out string
		limit     *profiles.Limit
		want      map[string]string
	}{
		{"fast", streamPage("120000.0"), floor, map[string]string{share: "pass", triad: "not_applicable"}},
		{"slow", streamPage("100000.0"), floor, map[string]string{share: "fail"}},
		{"recorded", streamPage("100000.0"), nil, map[string]string{share: "not_applicable", triad: "not_applicable"}},
		{"faster than the channels", streamPage("160000.0"), floor, map[string]string{share: "not_run"}},
		{"not validated", strings.Split(streamPage("120000.0"), "Solution")[0], floor, map[string]string{share: "not_run"}},
		{"the second of two not validated", streamPage("120000.0") + strings.Split(streamPage("120000.0"), "Solution")[0], floor, map[string]string{share: "not_run"}},
		{
			"wrong results", strings.Replace(streamPage("120000.0"), "Solution Validates", "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)\nx", 1), floor,
			map[string]string{"memory.bandwidth/results/memory": "fail"},
		},
		{"cut in a row", streamPage("120000.0")[:700], floor, map[string]string{share: "not_run"}},
		{"a figure that is none", streamPage("inf"), floor, map[string]string{share: "not_run"}},
		{"another program", "stress-ng: info: [1] stream: memory rate: 12345.67 MB read/sec\n", floor, map[string]string{share: "not_run"}},
		{"nothing", "", floor, map[string]string{share: "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := *gpuProfile(t, "host-node")
			p.Memory.BandwidthShare = c.limit
			rec := hostNode(t)
			rec.Evidence = append(rec.Evidence, loadPage("stream", c.out, "", 0).Evidence...)
			wantAnswers(t, judged(t, rec, &p, newGPUParts, memoryBandwidth), c.want, true)
		})
	}
}

func TestStreamCorpus(t *testing.T) {
	for file, triad := range map[string]float64{"bench/superbench-streamResultNeo.log": 105256, "bench/superbench-streamResultZen.log": 363208.7} {
		l, err := parseStream(loose(string(corpus(t, file))))
		if err != nil || !l.Validated || l.Triad.V != triad {
			t.Errorf("%s: %+v, %v", file, l, err)
		}
	}
}

func FuzzStream(f *testing.F) {
	fuzzParser(f, "stream", streamPage("120000.0"), "STREAM version\nFailed Validation on array a\n")
}
