package redfish

import (
	"context"
	"slices"
	"strings"
)

// base is what the standard says, and what unknown BMCs get.
type base struct{}

func (base) identify(context.Context, *Client, systemDoc, []*chassisDoc, *Identity) {}

// gpus takes the GPUs among the host's processors and on the accelerator
// baseboards beside it.
func (base) gpus(ctx context.Context, c *Client, procs []*processorDoc, _ []*chassisDoc, unread *gaps) []GPU {
	all := procs
	for _, board := range c.baseboards {
		var doc systemDoc
		// Off hosts answer 503 for their baseboard (DGX H100): then its GPUs
		// are unread, not absent.
		if _, err := c.get(ctx, board, &doc); err != nil {
			unread.add(board, err)
			continue
		}
		all = append(all, c.processors(ctx, doc.CPUs, unread)...)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(p *processorDoc) bool {
		return p.Type != "GPU" && p.Type != "Accelerator" || p.absent()
	})
	found := make([]GPU, len(all))
	ofEach(all, func(i int, p *processorDoc) { found[i] = c.gpu(ctx, p, unread) })
	var gpus []GPU
	var modules []string
	seen := map[string]bool{}
	for i, p := range all {
		g := found[i]
		if g.Serial != "" && seen[g.Serial] {
			continue
		}
		seen[g.Serial] = true
		gpus = append(gpus, g)
		modules = append(modules, link(p.Location.value.Context).id())
	}
	tellApart(gpus, modules)
	return gpus
}

// tellApart puts the module before labels that repeat: each of a GB200's processor
// modules has a GPU_0 and a GPU_1.
func tellApart(gpus []GPU, modules []string) {
	count := map[string]int{}
	for _, g := range gpus {
		count[g.Label]++
	}
	for i := range gpus {
		if count[gpus[i].Label] > 1 && modules[i] != "" {
			gpus[i].Label = modules[i] + " " + gpus[i].Label
		}
	}
}

// gpu completes one with its slot, where it has no label, and its memory.
func (c *Client) gpu(ctx context.Context, p *processorDoc, unread *gaps) GPU {
	g := GPU{
		Part:       p.part(p.uri),
		Firmware:   p.Version.clean(),
		UUID:       strings.ToLower(p.UUID.clean()),
		ECCEnabled: p.Memory.value.ECC.pointer(),
		MemoryMiB:  p.Memory.value.Total.positive(),
	}
	if g.Label == "" && p.Links.value.Device != "" {
		for _, d := range each[deviceDoc](ctx, c, links{p.Links.value.Device}, unread) {
			if d != nil {
				g.Label = d.Slot.value.Location.value.PartLocation.value.ServiceLabel.clean()
				g.Model = firstOf(g.Model, d.Model.clean(), d.Name.clean())
			}
		}
	}
	if g.MemoryMiB == nil {
		var sum int64
		for _, m := range each[memoryDoc](ctx, c, p.Links.value.Memory, unread) {
			if m != nil && m.Capacity.positive() != nil {
				sum += *m.Capacity.positive()
			}
		}
		if sum > 0 {
			g.MemoryMiB = &sum
		}
	}
	return g
}

func (base) installed(link) bool { return true }

func (base) postDone(systemDoc) (done, known bool) { return false, false }

func (base) bootMode() bool { return false }

// serialIn is the first serial that of finds in a chassis.
func serialIn(chassis []*chassisDoc, of func(*chassisDoc) string) string {
	for _, ch := range chassis {
		if ch == nil { // not read
			continue
		}
		if serial := of(ch); serial != "" {
			return serial
		}
	}
	return ""
}

func (base) showsEarly() bool { return false }

func (base) uriInBIOS() bool { return false }

func (base) bootBIOS(context.Context, *Client, Boot) (map[string]any, string, error) {
	return nil, "", nil
}

// commit has nothing to do: values in a settings object wait for the reset.
func (base) commit(_ context.Context, _ *Client, _ link, staged string) (string, error) {
	return staged, nil
}

func (base) socket(context.Context, *Client, link, link) (socketMode, error) {
	return socketMode{}, nil
}

func (base) acReset(context.Context, *Client) (acReset, error) { return acReset{}, nil }

// updating: nothing tells but the version.
func (base) updating(context.Context, *Client) (updateState, error) { return updateEnded, nil }

func (base) offerMedia(context.Context, *Client) (bool, error) { return false, nil }

// discard sets what waits to what is in force.
func (base) discard(ctx context.Context, c *Client, place biosPlace) error {
	back := map[string]any{}
	for name := range place.bios.Pending {
		if now, ok := place.bios.Attributes[name]; ok {
			back[name] = now
		}
	}
	_, err := c.patchAnswer(ctx, place.settings, place.etag, map[string]any{"Attributes": back})
	return err
}

func (base) led() (lit, off string) { return "Lit", "Off" }

func (base) intents() []intentTable { return nil }

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
