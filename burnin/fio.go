package burnin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Fio is the JSON of fio, which the load fio runs. Its parser reads every version
// since 2, with lines before the JSON.
var Fio = Probe[FioLog]{
	Spec:  ProbeSpec{Name: "fio", Tool: "fio"},
	Parse: parseFio,
}

// FioLog is what fio said: one job for every namespace.
type FioLog struct {
	Version  string
	Jobs     []FioJob
	Messages []string // lines before the JSON, and on stderr
}

// FioJob is one job. Rates are those of reading, but for the last three.
type FioJob struct {
	Name, File string       // "nvme0n1", "/dev/nvme0n1"
	Error      int          // errno of what ended it, 0 = none
	Read       Opt[float64] // B/s
	IOPS       Opt[float64]
	Total      Opt[float64] // reads
	Slow       Opt[float64] // 99 % of the reads took at most so many seconds

	Write   Opt[float64] // B/s
	Writes  Opt[float64] // of these, how many
	Written Opt[float64] // bytes
}

// fioDoc is the part of fio's JSON that is read. Versions before 3 print KiB/s and
// microseconds.
type fioDoc struct {
	Version string            `json:"fio version"`
	Global  map[string]string `json:"global options"`
	Jobs    []struct {
		Name    string            `json:"jobname"`
		Error   int               `json:"error"`
		Options map[string]string `json:"job options"`
		Read    struct {
			Bytes *float64 `json:"bw_bytes"`
			KiB   *float64 `json:"bw"`
			IOPS  *float64 `json:"iops"`
			Total *float64 `json:"total_ios"`
			Nanos fioDelay `json:"clat_ns"`
			Micro fioDelay `json:"clat"`
		} `json:"read"`
		Write struct {
			Rate  *float64 `json:"bw_bytes"`
			Total *float64 `json:"total_ios"`
			Bytes *float64 `json:"io_bytes"`
		} `json:"write"`
	} `json:"jobs"`
}

type fioDelay struct {
	Percentile map[string]float64 `json:"percentile"`
}

// fioStart is where the JSON begins: a bracket at the start of a line.
var fioStart = regexp.MustCompile(`(?m)^\{`)

func parseFio(e *Evidence) (FioLog, error) {
	body, _ := e.Body()
	var l FioLog
	at := fioStart.FindIndex(body)
	if at == nil {
		return l, fmt.Errorf("fio: the output holds no JSON%s", firstLine(append(bytes.TrimSpace(body), e.Err...)))
	}
	l.Messages = append(lines(body[:at[0]]), lines(e.Err)...)
	var doc fioDoc
	if err := json.NewDecoder(bytes.NewReader(body[at[0]:])).Decode(&doc); err != nil {
		return FioLog{}, fmt.Errorf("fio: the JSON cannot be read, or was cut: %w", err)
	}
	if l.Version = doc.Version; l.Version == "" {
		return FioLog{}, errors.New("fio: the JSON is not that of fio")
	}
	for _, j := range doc.Jobs {
		job := FioJob{
			Name: j.Name, File: firstWord(j.Options["filename"], doc.Global["filename"]), Error: j.Error,
			IOPS: optFloat(j.Read.IOPS), Total: optFloat(j.Read.Total), Read: optFloat(j.Read.Bytes),
			Write: optFloat(j.Write.Rate), Writes: optFloat(j.Write.Total), Written: optFloat(j.Write.Bytes),
		}
		if !job.Read.Set {
			job.Read = scaled(optFloat(j.Read.KiB), 1024)
		}
		if v, ok := j.Read.Nanos.Percentile["99.000000"]; ok {
			job.Slow = Opt[float64]{V: v / 1e9, Set: true}
		} else if v, ok := j.Read.Micro.Percentile["99.000000"]; ok {
			job.Slow = Opt[float64]{V: v / 1e6, Set: true}
		}
		l.Jobs = append(l.Jobs, job)
	}
	return l, nil
}

func optFloat(v *float64) Opt[float64] {
	if v == nil || *v < 0 {
		return Opt[float64]{}
	}
	return Opt[float64]{V: *v, Set: true, Text: fmt.Sprint(*v)}
}

// lines are the lines of an output that say something.
func lines(b []byte) []string {
	var out []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// chomp cuts the end off a line.
func chomp(line string) string {
	for line != "" && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// fioRead reads every namespace at random places past the page cache. It cannot
// write: --readonly makes fio refuse to.
func fioRead(_ *profiles.Profile, d time.Duration) string {
	return fmt.Sprintf(`set --
for b in /sys/block/nvme*n*; do
	n=${b##*/}
	case $n in *c[0-9]*) continue ;; esac
	[ -r "/dev/$n" ] && set -- "$@" "--name=$n" "--filename=/dev/$n"
done
[ $# -gt 0 ] || { echo "nothing to load"; exit 0; }
exec fio --readonly --output-format=json --rw=randread --direct=1 --ioengine=libaio --bs=128k --iodepth=32 --time_based --runtime=%d "$@"`, seconds(d))
}
