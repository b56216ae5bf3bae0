package burnin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// stretchReadings are what a GPU load said, of every time that it was started: see stretch.
func stretchReadings[T any](r *Readings, p Probe[T]) []Reading[T] {
	out := []Reading[T]{Read(r, p, PhaseLoad)}
	for n := 2; out[0].Evidence != nil; n++ {
		next := readInstance(r, p, PhaseLoad, strconv.Itoa(n))
		if next.Evidence == nil {
			break
		}
		out = append(out, next)
	}
	return out
}

// inStretches reports whether a load was not run for all GPUs from its begin to its end.
func inStretches[T any](readings []Reading[T]) bool {
	return len(readings) > 1 || readings[0].Evidence != nil && len(visibleGPUs(readings[0].Evidence.Command)) > 0
}

// dropOf is when and why a GPU was dropped; nil where it was not.
func dropOf(r *Readings, part Part, uuid string) *Drop {
	drops := r.rec.Meta.Dropped
	i := slices.IndexFunc(drops, func(d Drop) bool { return d.is(part.Address, uuid) })
	if i < 0 {
		return nil
	}
	return &drops[i]
}

// burnedGPU is one GPU over all stretches of gpu_burn.
type burnedGPU struct {
	part Part
	uuid string
	gpu  BurnGPU
	log  *BurnLog // the last one that is of it
	refs []string
	err  error // why the last one cannot be read
}

// take takes in the next stretch. It stands alone, but for what was wrong before it.
func (b *burnedGPU) take(log *BurnLog, g *BurnGPU, ref string) {
	was := b.gpu
	b.gpu, b.log, b.err = *g, log, nil
	b.gpu.Errors, b.gpu.Died = max(g.Errors, was.Errors), g.Died || was.Died
	if was.Word == "FAULTY" {
		b.gpu.Word = was.Word
	}
	if was.Errors == 0 && !was.Died && was.Word != "FAULTY" {
		b.refs = nil
	}
	b.refs = append(b.refs, ref)
}

// burnedOn judges gpu_burn that was begun again without GPUs that were lost. What ended
// with them is held against nobody else: a GPU is judged by the last stretch that it was
// in, and by every wrong result.
func burnedOn(r *Readings, p *profiles.Profile, readings []Reading[BurnLog]) []Finding {
	const check = "gpu.compute"
	parts := gpuParts(r, p)
	var all []*burnedGPU
	of := func(part Part, uuid string) *burnedGPU {
		i := slices.IndexFunc(all, func(b *burnedGPU) bool { return b.part.Name == part.Name })
		if i < 0 {
			all, i = append(all, &burnedGPU{part: part}), len(all)
		}
		all[i].uuid = firstWord(uuid, all[i].uuid)
		return all[i]
	}
	for _, part := range parts {
		of(part.Part, part.UUID)
	}
	for i := range readings {
		reading := &readings[i]
		if !reading.OK() {
			for n, uuid := range visibleGPUs(reading.Evidence.Command) {
				b := of(toolGPU(parts, GPUBurn.Spec.Name, "", uuid, n), uuid)
				b.err, b.refs = reading.Err, append(b.refs, reading.Ref)
			}
			continue
		}
		for n := range reading.Value.GPUs {
			g := &reading.Value.GPUs[n]
			of(toolGPU(parts, GPUBurn.Spec.Name, "", g.UUID, n), g.UUID).take(&reading.Value, g, reading.Ref)
		}
	}
	var out, rates []Finding
	for _, b := range all {
		about := func(quantity string) Finding { return About(check, quantity, b.part, b.refs...) }
		errs := about("errors")
		switch drop := dropOf(r, b.part, b.uuid); {
		case b.gpu.Errors > 0 && b.log != nil:
			errs = b.log.errors(errs, &b.gpu, p)
		case drop != nil:
			errs = errs.Judged(Fail, "gave up under load: "+drop.Why)
		case b.err != nil:
			errs = errs.Missing(b.err)
		case b.log == nil:
			errs = errs.Missing(cmp.Or(readings[0].Err, errors.New("gpu_burn did not test this GPU")))
		default:
			errs = b.log.errors(errs, &b.gpu, p)
		}
		out = append(out, errs)
		if errs.Verdict != Pass {
			continue
		}
		out = append(out, b.log.reports(about("reports"), &b.gpu, p))
		rate := about("rate").number(b.gpu.Rate(), profiles.GFLOPS, p.GPU.Compute.Rate)
		rate.Samples = statsOf(b.gpu.Rates)
		rates = append(rates, rate)
	}
	return append(out, withSiblings(rates, p.GPU.Siblings)...)
}

// loadedOn tells how long each GPU was under load where one was dropped: the record says
// who was loaded on, and nothing of a dropped GPU counts.
func loadedOn(r *Readings, p *profiles.Profile) []Finding {
	if len(r.rec.Meta.Dropped) == 0 {
		return nil
	}
	var out []Finding
	parts := gpuParts(r, p)
	for _, d := range r.rec.Meta.Dropped {
		if !slices.ContainsFunc(parts, func(g gpuPart) bool { return d.is(g.Address, g.UUID) }) { // it is told all the same
			parts = append(slices.Clip(parts), gpuPart{Part: Part{Class: gpuClass(p), Name: "GPU " + firstWord(d.Address, d.UUID), Address: d.Address, Serial: d.Serial}, UUID: d.UUID})
		}
	}
	for _, part := range parts {
		drop := dropOf(r, part.Part, part.UUID)
		secs, refs := loadedFor(r.rec, part.UUID, drop)
		f := About("gpu.compute", "loaded", part.Part, refs...)
		f.Measured, f.Unit = tenths(secs/360)/10, string(profiles.Hours)
		if drop != nil {
			f.Measured = 0.0
			out = append(out, f.Judged(Fail, fmt.Sprintf("was dropped at %s UTC after %.2f h under load: %s; none of it counts", clock(drop.At), secs/3600, drop.Why)))
			continue
		}
		f.Why = fmt.Sprintf("under load for %.2f h in %s; %s", secs/3600, plural(len(refs), "piece"), droppedWords(r.rec))
		out = append(out, f.recorded())
	}
	return out
}

// loadedFor is for how many seconds loads kept a GPU busy, and the evidence of it. What a
// GPU did after it was dropped is not asked.
func loadedFor(rec *Record, uuid string, drop *Drop) (secs float64, refs []string) {
	for _, l := range Loads() {
		for _, e := range rec.all() {
			if e.Phase != PhaseLoad || e.Probe != l.Name || !isGPU(l.Busy[0]) || l.Alone > 0 || e.Ended == EndedNoTool {
				continue
			}
			if gpus := visibleGPUs(e.Command); len(gpus) > 0 && !slices.Contains(gpus, uuid) {
				continue
			}
			ran := e.Seconds
			if drop != nil && e.BootID == drop.BootID {
				ran = min(ran, drop.At.Sub(e.Started).Seconds())
			}
			if ran > 0 {
				secs, refs = secs+ran, append(refs, e.Ref())
			}
		}
	}
	return secs, refs
}

// droppedWords tell what was dropped.
func droppedWords(rec *Record) string {
	var words []string
	for _, d := range rec.Meta.Dropped {
		words = append(words, fmt.Sprintf("GPU %s was lost under load at %s UTC (%s)", firstWord(d.Address, d.UUID), clock(d.At), d.Why))
	}
	return strings.Join(words, "; ")
}
