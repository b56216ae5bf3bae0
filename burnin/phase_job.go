package burnin

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

//go:embed phase.sh
var phaseScript string

const (
	// outputLimit bounds each stream of a probe; nothing that we ask for comes near it.
	outputLimit = 64 << 20
	// lineLimit bounds a command line: Linux takes 128 KiB in one word of a command.
	lineLimit = 120_000
	// phaseSlack is what a phase may take beyond the deadlines of its probes.
	phaseSlack = time.Minute
)

// PhaseJob is one command of a phase, as the node is told it.
type PhaseJob struct {
	Name      string // of its evidence, without the phase
	Lane      int    // jobs of one lane stand together and never run at once
	Deadline  time.Duration
	AfterHang time.Duration // the deadline once one of the lane has hung
	Command   string
}

// phaseFields is how many words of the command each job has.
const phaseFields = 5

// phaseWords is how many there are before those of the jobs.
const phaseWords = 3

// phaseCommand runs jobs on a node in one command, unless it has booted since bootID.
// What it prints, a phaseReader reads.
func phaseCommand(bootID string, jobs []PhaseJob, reader io.Writer) Command {
	words := []string{strconv.Itoa(atOnce), strconv.Itoa(outputLimit), bootID}
	for _, j := range jobs {
		words = append(words, j.Name, strconv.Itoa(j.Lane), wholeSeconds(j.Deadline), wholeSeconds(j.AfterHang), j.Command)
	}
	c := Command{Line: nodeLine("phase", words, phaseScript), Stdout: reader, Deadline: longest(jobs) + phaseSlack, Limit: outputLimit}
	if len(c.Line)+3*strings.Count(c.Line, "'") > lineLimit {
		c.Line, c.Stdin = nodeLine("phase", nil, phaseScript), strings.NewReader(quoteWords(words))
	}
	return c
}

// wholeSeconds are what a shell counts.
func wholeSeconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}

// longest is how long jobs take at most when every one of them hangs. A worker notices
// a second or two late.
func longest(jobs []PhaseJob) time.Duration {
	const late = 3 * time.Second
	var all, lane, most time.Duration
	for i, j := range jobs {
		d := j.AfterHang + late
		if i == 0 || j.Lane != jobs[i-1].Lane {
			lane, d = 0, j.Deadline+late
		}
		all, lane = all+d, lane+d
		most = max(most, lane)
	}
	return all/atOnce + most
}

// PhaseJobs reads what is to be run in a phase, on the side that answers in place of a
// node: args are those of NodeCall. Nothing is to run in another boot than bootID.
func PhaseJobs(args []string, stdin io.Reader) (bootID string, jobs []PhaseJob, err error) {
	if len(args) == 0 {
		if args, err = readWords(stdin); err != nil {
			return "", nil, fmt.Errorf("jobs of a phase: %w", err)
		}
	}
	if len(args) < phaseWords || (len(args)-phaseWords)%phaseFields != 0 {
		return "", nil, errPhaseWords
	}
	bootID = args[2]
	for args = args[phaseWords:]; len(args) > 0; args = args[phaseFields:] {
		var n [3]int
		for i := range n {
			if n[i], err = strconv.Atoi(args[1+i]); err != nil {
				return "", nil, fmt.Errorf("job %.40q: %w", args[0], err)
			}
		}
		jobs = append(jobs, PhaseJob{
			Name: args[0], Lane: n[0], Command: args[4],
			Deadline: time.Duration(n[1]) * time.Second, AfterHang: time.Duration(n[2]) * time.Second,
		})
	}
	return bootID, jobs, nil
}

func readWords(r io.Reader) ([]string, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	words, rest, err := shellWords(string(b))
	if err == nil && rest != "" {
		err = errPhaseWords
	}
	return words, err
}

var errPhaseWords = errors.New("want quoted words: workers, limit, boot id, and five for each job")
