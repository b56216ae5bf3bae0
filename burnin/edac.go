package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// EDAC are the kernel's counters of memory errors since its driver was loaded,
// from sysfs in a text of our own. Its parser also reads what edac-util prints.
// Where the firmware handles errors first there may be no controller at all: that
// is not measured, and not zero. Samples under load tell when errors came; that there
// were none, before and after tell.
var EDAC = Probe[EDACCounters]{
	Spec: ProbeSpec{
		Name:     "edac",
		Command:  always(edacScript),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Sampled:  true,
		Deadline: 30 * time.Second,
	},
	Parse: parseEDAC,
}

// edacScript prints one line a controller and one a DIMM (rank or chip-select row
// where the driver knows no DIMMs), fields parted by tabs, and an end mark that
// counts the controllers. A label may hold spaces.
const edacScript = `
tab=$(printf '\t'); n=0
val() { v=; [ -r "$1" ] && read -r v 2>/dev/null <"$1"; }
echo "#rackproof-edac 1"
for m in /sys/devices/system/edac/mc/mc[0-9]*; do
  [ -d "$m" ] || continue
  n=$((n + 1)); c=${m##*/}
  val "$m/ce_count"; ce=$v; val "$m/ue_count"; ue=$v; val "$m/ce_noinfo_count"; cn=$v
  val "$m/ue_noinfo_count"; un=$v; val "$m/mc_name"
  echo "mc$tab$c$tab$ce$tab$ue$tab$cn$tab$un$tab$v"
  for d in "$m"/dimm[0-9]* "$m"/rank[0-9]*; do
    [ -d "$d" ] || continue
    val "$d/dimm_ce_count"; ce=$v; val "$d/dimm_ue_count"; ue=$v; val "$d/dimm_location"; loc=$v; val "$d/dimm_label"
    echo "dimm$tab$c/${d##*/}$tab$ce$tab$ue$tab$loc$tab$v"
  done
  [ -d "$m/dimm0" ] || [ -d "$m/rank0" ] || for d in "$m"/csrow[0-9]*; do
    [ -d "$d" ] || continue
    val "$d/ce_count"; ce=$v; val "$d/ue_count"; ue=$v; val "$d/ch0_dimm_label"
    echo "dimm$tab$c/${d##*/}$tab$ce$tab$ue$tab-$tab$v"
  done
done
echo "#rackproof-edac-end $n"
`

const (
	edacHead = "#rackproof-edac 1"
	edacEnd  = "#rackproof-edac-end "
)

// EDACCounters are the counters of all memory controllers.
type EDACCounters struct {
	Complete    bool // every controller and DIMM is there, also those at zero
	Controllers int
	Places      []EDACPlace
}

// EDACPlace is where errors are counted: a DIMM, or what a controller could not
// assign to one.
type EDACPlace struct {
	ID                     string // "mc0/dimm3", "mc0" for what is assigned to no DIMM
	Label                  string // of the DIMM, as the driver or the administrator set it
	Corrected, Uncorrected Opt[float64]
}

// Name is what people call the place.
func (p *EDACPlace) Name() string { return firstWord(p.Label, p.ID) }

func parseEDAC(e *Evidence) (EDACCounters, error) {
	body, _ := e.Body()
	text := string(body)
	if strings.Contains(text, edacHead) {
		return parseEDACSysfs(text)
	}
	return parseEDACUtil(text + "\n" + string(e.Err))
}

func parseEDACSysfs(text string) (EDACCounters, error) {
	var c EDACCounters
	for line := range strings.Lines(text) {
		line = chomp(line)
		f := strings.Split(line, "\t")
		switch {
		case strings.HasPrefix(line, edacEnd):
			c.Complete = strings.TrimPrefix(line, edacEnd) == strconv.Itoa(c.Controllers)
		case f[0] == "mc" && len(f) >= 6:
			c.Controllers++
			p, err := edacPlace(f[1], "", f[4], f[5])
			if err != nil { // a driver without these counters: the controller's own, less what the DIMMs say
				p, err = edacPlace(f[1], "", f[2], f[3])
			}
			if err != nil {
				return EDACCounters{}, err
			}
			c.Places = append(c.Places, p)
		case f[0] == "dimm" && len(f) >= 6:
			p, err := edacPlace(f[1], f[5], f[2], f[3])
			if err != nil {
				return EDACCounters{}, err
			}
			c.Places = append(c.Places, p)
		}
	}
	if c.Controllers == 0 {
		return EDACCounters{}, errNoEDAC
	}
	return c, nil
}

// errNoEDAC is why there are no counters.
var errNoEDAC = errors.New("edac: the kernel counts no memory errors here (no driver for this memory controller, or the firmware handles them first); this is not zero errors")

func edacPlace(id, label, corrected, uncorrected string) (EDACPlace, error) {
	p := EDACPlace{ID: id, Label: plainIdentity(label), Corrected: optCount(corrected), Uncorrected: optCount(uncorrected)}
	if !p.Corrected.Set || !p.Uncorrected.Set {
		return EDACPlace{}, fmt.Errorf("edac: the counters of %s read %q and %q", id, corrected, uncorrected)
	}
	return p, nil
}

// edacUtilLine is one counter of edac-util: "mc1: csrow1: CPU_SrcID#1_…: 31
// Corrected Errors", "mc0: 0 Uncorrected Errors with no DIMM info".
var edacUtilLine = regexp.MustCompile(`^(mc\d+)(?:: ((?:csrow|rank|dimm)\d+))?(?:: ([^:]+))?: (\d+) (Corrected|Uncorrected) Errors`)

func parseEDACUtil(text string) (EDACCounters, error) {
	var c EDACCounters
	at := map[string]int{}
	controllers := map[string]bool{}
	clean := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		clean = clean || strings.Contains(line, "No errors to report")
		m := edacUtilLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		controllers[m[1]] = true
		id := strings.Join(withoutBlanks(m[1:4]), "/")
		if _, ok := at[id]; !ok {
			at[id] = len(c.Places)
			c.Places = append(c.Places, EDACPlace{ID: id, Label: plainIdentity(m[3])})
		}
		place := &c.Places[at[id]]
		if m[5] == "Corrected" {
			place.Corrected = optSum(place.Corrected, optCount(m[4]))
		} else {
			place.Uncorrected = optSum(place.Uncorrected, optCount(m[4]))
		}
	}
	c.Controllers = len(controllers)
	c.Complete = clean && c.Controllers == 0 // the default report leaves out what is zero
	if c.Controllers == 0 && !clean {
		return EDACCounters{}, errNoEDAC
	}
	return c, nil
}
