package provision

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// RAIDWish is one volume that a machine is to have.
type RAIDWish struct {
	Level  string `json:"level"`            // RAID1, as redfish.Volume has it
	Drives int    `json:"drives,omitempty"` // in it; 0 = any number
}

func (w RAIDWish) String() string { return volumeWords(w.Level, w.Drives) }

func volumeWords(level string, drives int) string {
	if drives == 0 {
		return level
	}
	return fmt.Sprintf("%s of %d drives", level, drives)
}

// raid compares the RAID volumes with those that the batch wants, before anything
// changes. It makes and deletes none: what is on the drives is not ours to lose.
type raid struct{}

func (raid) Name() string { return "raid" }

// volumer is a BMC that lists RAID volumes.
type volumer interface {
	Volumes(context.Context) ([]redfish.Volume, error)
}

// raidState is what a machine has against what it is to have.
type raidState struct {
	found, missing, more, ill []string
	unread                    string // why nothing is known
	off                       bool   // volumes are lacking, and the host is off: some BMCs list them only behind POST
}

func (raid) state(ctx context.Context, e *Env) (s raidState, err error) {
	c, err := e.Client(ctx)
	if err != nil {
		return s, err
	}
	v, ok := c.(volumer)
	if !ok {
		s.unread = "the BMC lists no volumes over " + string(e.Machine.Login.Protocol)
		return s, nil
	}
	volumes, err := v.Volumes(ctx)
	if errors.Is(err, redfish.ErrUnsupported) {
		s.unread = "the BMC lists no volumes"
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.compare(volumes, e.Machine.RAID)
	if len(volumes) == 0 || len(s.missing) > 0 {
		power, err := c.Power(ctx)
		if err != nil {
			return s, err
		}
		s.off = power == redfish.Off
	}
	return s, nil
}

// compare holds what there is against what is wanted.
func (s *raidState) compare(volumes []redfish.Volume, wishes []RAIDWish) {
	wanted := slices.Clone(wishes)
	slices.SortStableFunc(wanted, func(a, b RAIDWish) int { return b.Drives - a.Drives }) // the loosest wish takes what is left
	for _, v := range volumes {
		words := volumeWords(v.Level, v.Drives) + " (" + v.Name + ")"
		told := words
		switch v.Health {
		case "OK":
		case "":
			told += ", whose health the BMC does not tell"
		default:
			s.ill = append(s.ill, words+" is "+v.Health)
		}
		s.found = append(s.found, told)
		i := slices.IndexFunc(wanted, func(w RAIDWish) bool { return w.Level == v.Level && (w.Drives == 0 || w.Drives == v.Drives) })
		if i < 0 {
			s.more = append(s.more, words)
			continue
		}
		wanted = slices.Delete(wanted, i, i+1)
	}
	for _, w := range wanted {
		s.missing = append(s.missing, w.String())
	}
}

// differs says in a sentence what is not as wanted, "" where all is.
func (s raidState) differs() string {
	if s.unread != "" {
		return s.unread + ", so its RAID is not proven"
	}
	var out []string
	for _, p := range []struct {
		what string
		list []string
	}{{"missing: ", s.missing}, {"not wanted: ", s.more}, {"not well: ", s.ill}} {
		if len(p.list) > 0 {
			out = append(out, p.what+strings.Join(p.list, ", "))
		}
	}
	if s.off && len(s.missing) > 0 {
		out = append(out, "the host is off, and some BMCs list volumes only when it has started: switch it on first, and look again")
	}
	return strings.Join(out, "; ")
}

func (s raidState) words() string {
	words := or(strings.Join(s.found, ", "), "none")
	if s.off {
		words += ", as its BMC shows them with the host off"
	}
	return words
}

func (r raid) Done(ctx context.Context, e *Env) (bool, error) {
	if e.Machine.RAID == nil {
		return true, nil
	}
	s, err := r.state(ctx, e)
	if err != nil {
		return false, err
	}
	if s.unread == "" {
		e.Facts[FactVolumes] = s.words()
	}
	return s.differs() == "", nil
}

func (r raid) Do(ctx context.Context, e *Env) (Facts, error) {
	s, err := r.state(ctx, e)
	if err != nil {
		return nil, err
	}
	differs := s.differs()
	if differs == "" {
		return nil, nil
	}
	return nil, &Hands{
		Why: "RAID: " + differs, Where: or(e.Machine.Where(), e.Machine.Name),
		Do: []burnin.Advice{{
			Do:      "bring the volumes to what the batch wants in the controller's setup, or correct raid: in the batch; rackproof makes and deletes no volume",
			Minutes: 15, Who: "trained", Retest: "the BMC lists the volumes that the batch wants, and they are OK",
		}},
		Next: "rackproof done " + e.Machine.Name, Knows: "it asks the BMC for its volumes again",
	}
}

// Plan implements Planner.
func (r raid) Plan(ctx context.Context, e *Env) ([]Change, error) {
	if e.Machine.RAID == nil {
		return nil, nil
	}
	s, err := r.state(ctx, e)
	if err != nil {
		return nil, err
	}
	if differs := s.differs(); differs != "" {
		return []Change{{Step: "raid", What: "waits for a person:", Now: s.words(), Want: differs + "; no volume is made or deleted"}}, nil
	}
	return nil, nil
}

var raidLevel = regexp.MustCompile(`^RAID[0-9]{1,2}$`)

// raid takes the volumes of a machine; [] says that it is to have none.
func (l *loader) raid(to *[]RAIDWish) func(ast.Node) {
	return func(n ast.Node) {
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			l.problem(n, "raid: write a list of volumes, [{level: RAID1, drives: 2}], or [] for none")
			return
		}
		*to = []RAIDWish{}
		for _, item := range list.Values {
			var w RAIDWish
			l.fields(item, "a volume", field{
				"level": func(n ast.Node) {
					l.str(&w.Level)(n)
					if _, err := strconv.Atoi(w.Level); err == nil {
						w.Level = "RAID" + w.Level
					}
					if w.Level = strings.ToUpper(w.Level); !raidLevel.MatchString(w.Level) {
						l.problem(n, "level %s: write RAID0, RAID1, RAID5, RAID6 or RAID10", quoteNode(n))
					}
				},
				"drives": l.integer(&w.Drives, 1),
			})
			if w.Level == "" {
				l.add(l.start(item), "a volume needs its level: {level: RAID1, drives: 2}")
			}
			*to = append(*to, w)
		}
	}
}
