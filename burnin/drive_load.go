package burnin

import (
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// driveUnderLoad judges the highest temperature of a drive while it was read. Kernels
// before 5.5 do not show it: then the drive's own log, before and after, is all there is.
func driveUnderLoad(r *Readings, d nvmePart, limit *profiles.Limit) []Finding {
	samples, err := Samples(r, PCISysfs)
	if err != nil {
		return nil
	}
	var values []float64
	worst := 0
	for _, s := range samples {
		if s.Err != nil || s.Value == nil {
			continue
		}
		device := s.Value.At(d.Address)
		if device == nil {
			continue
		}
		for _, drive := range device.Drives {
			if drive.Temperature.Set && (d.Device == "" || drive.Name == d.Device) {
				values = append(values, drive.Temperature.V)
			}
		}
	}
	if len(values) == 0 {
		return nil
	}
	worst = slices.Index(values, slices.Max(values))
	f := About("nvme.health", "temperature_under_load", d.Part, loadRef(PCISysfs))
	f.Samples = stats(values)
	f = f.Number(values[worst], profiles.Celsius, limit)
	if f.Verdict == Fail {
		f = f.Because("the drive was %.0f °C hot under load", values[worst])
	}
	return []Finding{f}
}

// hotMinutes judges how long a drive was above its own warning temperature in the run,
// of drives that count it.
func hotMinutes(d nvmePart, logs []Reading[SMARTLog], limit *profiles.Limit) []Finding {
	if !d.Shown || len(logs) < 2 || anyAbsent(logs) != nil {
		return nil
	}
	first, last := logs[0].Value.HotMinutes, logs[len(logs)-1].Value.HotMinutes
	if !first.Set || !last.Set {
		return nil
	}
	f := About("nvme.health", "hot_minutes", d.Part, refsOf(logs)...).change(first, last, true, limit)
	if f.Verdict == Fail {
		f = f.Because("for %v minutes of the run it was above its own warning temperature", f.Measured)
	}
	return []Finding{f}
}
