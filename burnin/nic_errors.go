package burnin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// brokenFrames are words in the names that drivers give to counters of frames which came
// broken: mlx5 rx_crc_errors_phy, bnxt rx_fcs_err_frames, ice rx_crc_errors.nic, and of
// code words that the line's error correction could not mend.
var brokenFrames = []string{"crc_err", "fcs_err", "symbol_err", "uncorr"}

// portErrors judges how many frames came broken over the run.
func portErrors(f Finding, before, after Reading[EthtoolReport], name string, limit *profiles.Limit) Finding {
	switch {
	case !before.OK():
		return f.absent(before.Err, limit)
	case !after.OK():
		return f.absent(after.Err, limit)
	}
	was, is := before.Value.At(name), after.Value.At(name)
	if was == nil || is == nil {
		return f.absent(errors.New("ethtool does not show the port before and after the load"), limit)
	}
	total, counters, worst := 0.0, 0, ""
	for _, counter := range sortedKeys(is.Counters) {
		if !containsAny(strings.ToLower(counter), brokenFrames) {
			continue
		}
		a, b := was.Counters[counter], is.Counters[counter]
		if !a.Set || !b.Set {
			return f.absent(fmt.Errorf("the counter %s was not read before and after the load", counter), limit)
		}
		if b.V < a.V {
			return f.absent(fmt.Errorf("the counter %s went back from %.0f to %.0f", counter, a.V, b.V), limit)
		}
		counters++
		if b.V > a.V {
			total += b.V - a.V
			worst = fmt.Sprintf(", %s grew by %.0f", counter, b.V-a.V)
		}
	}
	if counters == 0 {
		return f.absent(errors.New("the driver counts no broken frames"), limit)
	}
	f = f.Number(total, profiles.Count, limit)
	if f.Verdict == Fail {
		return f.Because("%.0f frames came broken%s", total, worst)
	}
	return f
}

// portModule tells alarms that the module in a port raised by its own limits since it was
// read before the load. Flags are kept until they are read, so the first reading may show
// what was when it was plugged in.
func portModule(f Finding, before, after Reading[EthtoolReport], name string) []Finding {
	if !before.OK() || !after.OK() {
		return nil
	}
	is := after.Value.At(name)
	if was := before.Value.At(name); was == nil || is == nil || is.Link != "yes" || is.Module.Model == "" {
		return nil
	}
	f.Serial = is.Module.Serial
	f.Measured = strings.TrimSpace(is.Module.Vendor + " " + is.Module.Model)
	if len(is.Module.Alarms) > 0 {
		return []Finding{f.Judged(Warn, "the module raised during the test: "+strings.Join(is.Module.Alarms, ", "))}
	}
	return []Finding{f.recorded()}
}
