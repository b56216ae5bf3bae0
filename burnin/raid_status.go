package burnin

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// RAIDStatus shows the disk arrays of the node: those of the kernel by /proc/mdstat,
// those of controllers by the tools of their makers where the node has one. It reads
// only. Each part is behind a line "#raid NAME EXIT"; the parser takes what one tool
// printed alone too.
var RAIDStatus = Probe[RAIDReport]{
	Spec: ProbeSpec{
		Name:     "raid",
		Command:  always(raidScript),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Deadline: 2 * time.Minute,
		Root:     true, // controllers answer root alone
	},
	Parse: parseRAIDStatus,
}

// raidScript asks one tool of each kind: storcli64 and its namesakes are one program.
// Their log files would be left in the folder they run in.
const raidScript = `
if [ -r /proc/mdstat ]; then cat /proc/mdstat; echo "#raid mdstat $?"; else echo "#raid no mdstat"; fi
for kind in "storcli64 storcli perccli64 perccli /opt/MegaRAID/storcli/storcli64 /opt/MegaRAID/perccli/perccli64" ; do
  for t in $kind; do
    command -v "$t" >/dev/null 2>&1 || continue
    for what in /call/vall /call/eall/sall; do "$t" "$what" show J nolog; echo "#raid storcli $?"; done
    break
  done
done
if command -v ssacli >/dev/null 2>&1; then ssacli ctrl all show config; echo "#raid ssacli $?"; fi
for d in /sys/bus/pci/devices/*; do
  v=; [ -r "$d/class" ] && read -r v <"$d/class"
  case $v in 0x0104*) w=; read -r w <"$d/vendor"; x=; [ -e "$d/driver" ] && x=$(cd -P "$d/driver" && pwd); echo "#raid controller ${d##*/} ${w#0x} ${x##*/}";; esac
done
echo "#rackproof-raid-end"
`

const raidEnd = "#rackproof-raid-end"

// RAIDReport is what was shown of arrays.
type RAIDReport struct {
	Arrays      []RAIDArray
	Drives      []RAIDDrive // drives that a controller says are not well
	Controllers []RAIDController
	Failed      []string // tools that could not say all, with why
	Asked       []string // "mdstat", "storcli", "ssacli": who answered
	Complete    bool     // an array that is not in it was not there
	Alone       bool     // one tool printed this and nothing else: whether it is cut the tool's own form tells
}

// RAIDArray is one array. Members are the drives it names as failed or missing.
type RAIDArray struct {
	Name, Level string
	State       RAIDState
	Words       string // as the tool says it: "[2/1] [U_], recovery 12.6 %"
	Members     []string
}

// RAIDState is how an array is.
type RAIDState string

// The states of an array.
const (
	RAIDGood     RAIDState = "good"
	RAIDDegraded RAIDState = "degraded" // it works, with less redundancy than it was made for
	RAIDFailed   RAIDState = "failed"
	RAIDSyncing  RAIDState = "syncing" // all members are there, and not alike yet
	RAIDUnknown  RAIDState = "unknown" // a word of the tool that is not known here
)

// RAIDDrive is a drive behind a controller, by its enclosure and slot.
type RAIDDrive struct {
	Name, Words string
	Failed      bool // false: it says that it will fail, or is being rebuilt
}

// RAIDController is a device of the class of RAID controllers on the PCI bus.
type RAIDController struct{ Address, Vendor, Driver string }

var (
	raidSection    = regexp.MustCompile(`^#raid (mdstat|storcli|ssacli) (\d+)$`)
	raidController = regexp.MustCompile(`^#raid controller (\S+) ([0-9a-f]{4}) ?(\S*)$`)
)

func parseRAIDStatus(e *Evidence) (RAIDReport, error) {
	body, whole := e.Body()
	whole = (whole || !e.wrapped()) && (e.Exit == nil || *e.Exit == 0)
	var r RAIDReport
	var part []string
	marked := false
	for line := range strings.Lines(string(body)) {
		line = chomp(line)
		switch m := raidSection.FindStringSubmatch(line); {
		case m != nil:
			marked = true
			r.read(m[1], strings.Join(part, "\n"), m[2] == "0")
			part = nil
		case line == raidEnd:
			r.Complete, marked = whole, true
		case strings.HasPrefix(line, "#raid "):
			marked = true
			if c := raidController.FindStringSubmatch(line); c != nil {
				r.Controllers = append(r.Controllers, RAIDController{normalAddress(c[1]), c[2], c[3]})
			}
		default:
			part = append(part, line)
		}
	}
	if rest := strings.TrimSpace(strings.Join(part, "\n")); rest != "" { // one tool alone, or cut
		r.Alone = !marked && !e.wrapped()
		r.read(raidTool(rest), rest, !marked)
	}
	if !marked && len(r.Asked) == 0 {
		return RAIDReport{}, errors.New("raid: the output shows neither arrays nor that there are none")
	}
	return r, nil
}

// raidTool tells a tool by its words.
func raidTool(text string) string {
	switch {
	case strings.HasPrefix(text, "{"):
		return "storcli"
	case strings.Contains(text, "Personalities :"):
		return "mdstat"
	case ssaController.MatchString(text):
		return "ssacli"
	}
	return ""
}

// read adds what one tool printed. One that failed, or was cut, may have told of a
// fault all the same.
func (r *RAIDReport) read(tool, text string, good bool) {
	var err error
	switch tool {
	case "mdstat":
		r.Arrays, err = append(r.Arrays, mdArrays(text)...), mdWhole(text)
	case "storcli":
		err = r.readController(text)
	case "ssacli":
		err = r.readSSA(text)
	default:
		return
	}
	if !slices.Contains(r.Asked, tool) {
		r.Asked = append(r.Asked, tool)
	}
	if err == nil && !good {
		err = errors.New("it ended with an error")
	}
	if err != nil {
		r.Failed = append(r.Failed, tool+": "+err.Error())
	}
}

// storcli's answer; the perccli of a server's maker prints the same.
type storcliDoc struct {
	Controllers []struct {
		Status struct {
			Controller  any    `json:"Controller"`
			Status      string `json:"Status"`
			Description string `json:"Description"`
		} `json:"Command Status"`
		Data map[string]json.RawMessage `json:"Response Data"`
	} `json:"Controllers"`
}

// storcliRow is a row of its tables of arrays or of drives.
type storcliRow struct {
	Array string `json:"DG/VD"`
	Slot  string `json:"EID:Slt"`
	Type  string `json:"TYPE"`
	State string `json:"State"`
}

// storcliArrays and storcliDrives are the words of the legend that it prints.
var (
	storcliArrays = map[string]RAIDState{
		"optl": RAIDGood, "dgrd": RAIDDegraded, "pdgd": RAIDDegraded, "rec": RAIDDegraded, "ofln": RAIDFailed, "msng": RAIDFailed,
	}
	storcliDrives = map[string]bool{"ubad": true, "offln": true, "msng": true, "failed": true, "f": true, "rbld": false, "cpybck": false}
)

func (r *RAIDReport) readController(text string) error {
	var doc storcliDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return fmt.Errorf("the JSON cannot be read, or was cut: %w", err)
	}
	if len(doc.Controllers) == 0 {
		return errors.New("the JSON names no controller")
	}
	var open error
	for _, c := range doc.Controllers {
		low := strings.ToLower(c.Status.Description)
		none := containsAny(low, []string{"no vd", "no virtual", "no drive", "no controller", "not found"})
		if !strings.EqualFold(c.Status.Status, "Success") && !none {
			open = fmt.Errorf("controller %v: %s", c.Status.Controller, or(c.Status.Description, "it gives no reason"))
		}
		for _, raw := range c.Data {
			var rows []storcliRow
			if json.Unmarshal(raw, &rows) == nil {
				r.addRows(fmt.Sprint(c.Status.Controller), rows)
			}
		}
	}
	return open
}

func (r *RAIDReport) addRows(controller string, rows []storcliRow) {
	for _, row := range rows {
		state, known := storcliArrays[strings.ToLower(row.State)]
		switch {
		case row.Array != "":
			if !known {
				state = RAIDUnknown
			}
			r.Arrays = append(r.Arrays, RAIDArray{Name: "controller " + controller + " array " + row.Array, Level: strings.ToLower(row.Type), State: state, Words: row.State})
		case row.Slot != "":
			if failed, bad := storcliDrives[strings.ToLower(row.State)]; bad {
				r.Drives = append(r.Drives, RAIDDrive{Name: "controller " + controller + " slot " + row.Slot, Words: row.State, Failed: failed})
			}
		}
	}
}

var (
	ssaController = regexp.MustCompile(`(?m)^\s*(.+) in Slot (\S+)`)
	ssaArray      = regexp.MustCompile(`^logicaldrive (\d+) \((.*)\)$`)
	ssaDrive      = regexp.MustCompile(`^physicaldrive (\S+) \((.*)\)$`)
)

// readSSA reads the listing of ssacli: the state is the last word of a logical drive,
// and one of the words of a physical one.
func (r *RAIDReport) readSSA(text string) error {
	slot := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := ssaController.FindStringSubmatch(line); m != nil {
			slot = m[2]
		}
		if m := ssaArray.FindStringSubmatch(line); m != nil {
			words := strings.Split(m[2], ", ")
			r.Arrays = append(r.Arrays, RAIDArray{Name: "slot " + slot + " logical drive " + m[1], State: ssaState(words), Words: m[2]})
		}
		if m := ssaDrive.FindStringSubmatch(line); m != nil && !slices.Contains(strings.Split(m[2], ", "), "OK") {
			low := strings.ToLower(m[2])
			r.Drives = append(r.Drives, RAIDDrive{Name: "slot " + slot + " bay " + m[1], Words: m[2], Failed: strings.Contains(low, "failed")})
		}
	}
	if slot == "" {
		return errors.New("it names no controller")
	}
	return nil
}

func ssaState(words []string) RAIDState {
	low := strings.ToLower(strings.Join(words, ", "))
	switch {
	case slices.Contains(words, "OK"):
		return RAIDGood
	case containsAny(low, []string{"interim recovery", "recovering", "ready for recovery", "rebuild"}):
		return RAIDDegraded
	case strings.Contains(low, "failed"):
		return RAIDFailed
	case containsAny(low, []string{"parity initialization", "transforming", "expanding"}):
		return RAIDSyncing
	}
	return RAIDUnknown
}
