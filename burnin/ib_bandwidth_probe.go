package burnin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// IBBandwidth is what a program measured between two ports: ib_write_bw and its
// siblings of perftest, as text or by --out_json, or iperf3 --json. An instance of it
// is a pair, named after the port here.
var IBBandwidth = Probe[PairRate]{
	Spec:  ProbeSpec{Name: "ib-bandwidth"},
	Parse: parsePairRate,
}

// PairRate is how much a pair of ports moved.
type PairRate struct {
	Tool   string       // "RDMA_Write BW Test", "iperf3"
	Device string       // of this end: "mlx5_0"
	Bytes  float64      // of a message; 0 where the tool has none
	Rate   Opt[float64] // Gb/s, mean
	Both   bool         // the sum of both ways
	Peer   string       // the other end, where we paired them
}

var (
	perftestTest   = regexp.MustCompile(`(?m)^\s*((?:RDMA|Send|Raw)\S* (Bidirectional )?BW Test)\s*$`)
	perftestDevice = regexp.MustCompile(`\bDevice\s*: (\S+)`)
	perftestHead   = regexp.MustCompile(`^#bytes\s+#iterations\s+BW peak\[(\S+)\]\s+BW average\[(\S+)\]`)
	perftestRow    = regexp.MustCompile(`^(\d+)\s+\d+\s+[0-9.]+\s+([0-9.]+)\s+[0-9.]+$`)
	pairPeer       = regexp.MustCompile(`(?m)^` + pairMark + `peer (.+)$`)
	pairReason     = regexp.MustCompile(`(?m)^` + pairMark + `(.+)$`)
	// What perftest says when it cannot go on (perftest issues 126, 269, 280, 336).
	perftestError = regexp.MustCompile(`(?im)^.*(?:couldn't |failed to |failed status|unable to |completion with error).*$`)
)

// perftestUnits are the units of its head in Gb/s. What it calls MB is 2^20 bytes.
var perftestUnits = map[string]float64{"Gb/sec": 1, "MB/sec": 8 * (1 << 20) / 1e9, "MiB/sec": 8 * (1 << 20) / 1e9}

func parsePairRate(e *Evidence) (PairRate, error) {
	if m := pairReason.FindSubmatch(e.Err); m != nil {
		return PairRate{}, errors.New("ib-bandwidth: " + string(m[1]))
	}
	p, err := parsePair(e)
	if m := pairPeer.FindSubmatch(e.Out); m != nil {
		p.Peer = string(m[1])
	}
	if err == nil && p.Peer != "" && (e.Exit == nil || *e.Exit != 0) {
		return PairRate{Peer: p.Peer}, errors.New("ib-bandwidth: the test did not end well" + firstLine(e.Err))
	}
	return p, err
}

func parsePair(e *Evidence) (PairRate, error) {
	body, _ := e.Body()
	if at := fioStart.FindIndex(body); at != nil {
		return pairJSON(body[at[0]:], e.Command)
	}
	text := string(body)
	var p PairRate
	if m := perftestTest.FindStringSubmatch(text); m != nil {
		p.Tool, p.Both = m[1], m[2] != ""
	}
	if m := perftestDevice.FindStringSubmatch(text); m != nil {
		p.Device = m[1]
	}
	unit := 0.0
	for _, line := range lines(body) {
		if m := perftestHead.FindStringSubmatch(line); m != nil {
			unit = perftestUnits[m[2]]
			continue
		}
		m := perftestRow.FindStringSubmatch(line)
		if m == nil || unit == 0 {
			continue
		}
		if size := optCount(m[1]).V; size >= p.Bytes { // of a sweep the largest message counts
			p.Bytes, p.Rate = size, scaled(looseNumber(m[2]), unit)
		}
	}
	switch {
	case p.Rate.Set:
		return p, nil
	case perftestError.MatchString(text + "\n" + string(e.Err)):
		return p, fmt.Errorf("ib-bandwidth: %s", strings.TrimSpace(perftestError.FindString(text+"\n"+string(e.Err))))
	case p.Tool != "":
		return p, errors.New("ib-bandwidth: the test did not come to its table of results")
	}
	return p, errors.New("ib-bandwidth: this is neither perftest's output nor iperf3's" + firstLine(e.Err))
}

// pairDoc is the part of both programs' JSON that is read.
type pairDoc struct {
	Info struct {
		Test   string `json:"test"`
		Device string `json:"Device"`
	} `json:"test_info"`
	Results *struct {
		Size    float64  `json:"MsgSize"`
		Average *float64 `json:"BW_average"`
	} `json:"results"`

	Start *struct {
		Version string `json:"version"`
	} `json:"start"`
	End struct {
		Received *struct {
			Rate *float64 `json:"bits_per_second"`
		} `json:"sum_received"`
	} `json:"end"`
	Error string `json:"error"`
}

// pairJSON reads JSON. That of perftest does not name its unit: the command must.
func pairJSON(body []byte, command string) (PairRate, error) {
	var doc pairDoc
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&doc); err != nil {
		return PairRate{}, fmt.Errorf("ib-bandwidth: the JSON cannot be read, or was cut: %w", err)
	}
	switch {
	case doc.Error != "":
		return PairRate{}, errors.New("ib-bandwidth: iperf3: " + doc.Error)
	case doc.Start != nil:
		p := PairRate{Tool: "iperf3"}
		if doc.End.Received == nil || optFloat(doc.End.Received.Rate).V == 0 {
			return p, errors.New("ib-bandwidth: iperf3 did not say what the other end received")
		}
		p.Rate = scaled(optFloat(doc.End.Received.Rate), 1e-9)
		return p, nil
	case doc.Results == nil || doc.Results.Average == nil:
		return PairRate{}, errors.New("ib-bandwidth: the JSON is neither perftest's nor iperf3's")
	case !strings.Contains(command, "--report_gbits"):
		return PairRate{}, errors.New("ib-bandwidth: perftest's JSON does not name its unit, and the command is not known to have asked for Gb/s (--report_gbits)")
	}
	return PairRate{
		Tool: doc.Info.Test, Device: doc.Info.Device, Bytes: doc.Results.Size,
		Rate: optFloat(doc.Results.Average), Both: strings.Contains(doc.Info.Test, "Bidirectional"),
	}, nil
}
