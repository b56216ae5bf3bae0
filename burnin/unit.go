package burnin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unitState is how a unit on the node does.
type unitState struct {
	name, kind string
	started    time.Time // node's clock; zero while it starts
	state      string    // starting, runs, exit, gone
	exit       int       // of state exit
	seconds    float64
}

func (u unitState) over() bool { return u.state == "exit" || u.state == "gone" }

// chunk is a piece of a file on the node.
type chunk struct {
	file   string
	offset int64
	data   []byte
}

// report is the answer to a poll.
type report struct {
	ended  string // why all units were ended: stop, dead-man, over; "" = they were not
	units  []unitState
	chunks []chunk
}

// loadsOver reports whether no load runs any more.
func (r *report) loadsOver() bool {
	for _, u := range r.units {
		if u.kind == "load" && !u.over() {
			return false
		}
	}
	return true
}

// most is how many bytes one poll brings.
const most = 8 << 20

// errSlow means that the node did not answer a poll in time. It may be too busy: a
// poll changes nothing there and can be asked again.
var errSlow = errors.New("the node does not answer in time under load")

// poll gives a sign of life and brings what the node has beyond offsets.
func (f *nodeFolder) poll(ctx context.Context, offsets map[string]int64) (*report, error) {
	args := []string{strconv.Itoa(most)}
	for _, file := range slices.Sorted(maps.Keys(offsets)) {
		args = append(args, file, strconv.FormatInt(offsets[file], 10))
	}
	out, err := f.call(ctx, "poll", nil, args...)
	if err != nil {
		return nil, err
	}
	r, err := parseReport(out.Out)
	if err != nil && out.Ended == EndedTimeout {
		return nil, fmt.Errorf("%w (%w)", errSlow, err)
	}
	if err != nil {
		return nil, fmt.Errorf("poll (%s): %w%s", endWords(out), err, firstLine(out.Err))
	}
	return r, nil
}

func parseReport(b []byte) (*report, error) {
	r := &report{}
	for {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		if !ok {
			return nil, errors.New("the answer is cut")
		}
		key, value, _ := strings.Cut(string(line), " ")
		b = rest
		switch key {
		case "end":
			return r, nil
		case "ended":
			r.ended = value
		case "unit":
			u, err := parseUnit(value)
			if err != nil {
				return nil, err
			}
			r.units = append(r.units, u)
		case "file":
			c, rest, err := cutChunk(value, b)
			if err != nil {
				return nil, err
			}
			r.chunks = append(r.chunks, c)
			b = rest
		default:
			return nil, fmt.Errorf("unexpected line %.80q", line)
		}
	}
}

// parseUnit reads "NAME KIND STARTED STATE [EXIT SECONDS]".
func parseUnit(line string) (unitState, error) {
	f := strings.Fields(line)
	if len(f) != 4 && len(f) != 6 {
		return unitState{}, fmt.Errorf("unit line %.80q", line)
	}
	u := unitState{name: f[0], kind: f[1], state: f[3]}
	epoch, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return u, fmt.Errorf("unit line %.80q: %w", line, err)
	}
	if epoch > 0 {
		u.started = time.Unix(epoch, 0).UTC()
	}
	if len(f) == 6 {
		exit, err1 := strconv.Atoi(f[4])
		seconds, err2 := strconv.ParseFloat(f[5], 64)
		if err := errors.Join(err1, err2); err != nil {
			return u, fmt.Errorf("unit line %.80q: %w", line, err)
		}
		u.exit, u.seconds = exit, seconds
	}
	return u, nil
}

// cutChunk reads "FILE OFFSET LENGTH" and that many bytes and a newline off b.
func cutChunk(head string, b []byte) (c chunk, rest []byte, err error) {
	f := strings.Fields(head)
	if len(f) != 3 {
		return c, nil, fmt.Errorf("file line %.80q", head)
	}
	offset, err1 := strconv.ParseInt(f[1], 10, 64)
	n, err2 := strconv.ParseInt(f[2], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return c, nil, fmt.Errorf("file line %.80q: %w", head, err)
	}
	if offset < 0 || n < 0 || n > most || int64(len(b)) < n+1 || b[n] != '\n' {
		return c, nil, fmt.Errorf("file %s: the answer is cut", f[0])
	}
	return chunk{file: f[0], offset: offset, data: b[:n]}, b[n+1:], nil
}
