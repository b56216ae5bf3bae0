package burnin

import "time"

// growthUnderLoad is when a counter first stood higher in a sample under load than in the
// one before it; zero where samples do not show that.
func growthUnderLoad[T any](r *Readings, p Probe[T], of func(T) Opt[float64]) time.Time {
	samples, err := Samples(r, p)
	if err != nil {
		return time.Time{}
	}
	var last Opt[float64]
	for _, s := range samples {
		if s.Err != nil {
			continue
		}
		now := of(s.Value)
		if now.Set && last.Set && now.V > last.V {
			return s.At
		}
		if now.Set {
			last = now
		}
	}
	return time.Time{}
}

// began adds when it began to what was found bad. The samples of a long load are many, so
// they are only looked at for that.
func (f Finding) began(when func() time.Time) Finding {
	if f.Verdict != Fail {
		return f
	}
	at := when()
	if at.IsZero() {
		return f
	}
	if f.Why == "" {
		f.Why = f.comparison()
	}
	f.Why += since(at) + " under load"
	return f
}

// linkErrorsBegan is when the root port above a device was first told of errors of a kind
// under load. All devices below one port share it, so it is a time and blames none.
func linkErrorsBegan(r *Readings, address, kind string) time.Time {
	return growthUnderLoad(r, PCISysfs, func(t *PCITree) Opt[float64] {
		if t == nil || address == "" {
			return Opt[float64]{}
		}
		path := t.Above(address)
		if own := t.At(address); own != nil {
			path = append([]*PCIDevice{own}, path...)
		}
		for _, d := range path {
			if told := d.Told[kind]; told.Set {
				return told
			}
		}
		return Opt[float64]{}
	})
}

func (p EDACPlace) corrected() Opt[float64]   { return p.Corrected }
func (p EDACPlace) uncorrected() Opt[float64] { return p.Uncorrected }

// memoryErrorsBegan is when a place in memory first counted under load.
func memoryErrorsBegan(r *Readings, id string, of func(EDACPlace) Opt[float64]) time.Time {
	return growthUnderLoad(r, EDAC, func(c EDACCounters) Opt[float64] {
		return of(placeIn(counterReading{places: c.Places}, id))
	})
}
