package burnin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// writeErrors are the errno values by which a write or its reading back fails because of
// the drive or the way to it; 84 (EILSEQ) is fio's for data that came back otherwise.
var writeErrors = append([]int{84}, driveErrors...)

// judgeNVMeWrite judges what was written and read back. A spec that asks for writes is
// open until somebody has named the disks.
func judgeNVMeWrite(r *Readings, p *profiles.Profile, s *profiles.Spec) []Finding {
	log := Read(r, NVMeWrite, PhaseLoad)
	about := func(quantity string, part Part) Finding { return About("nvme.throughput", quantity, part, log.Ref) }
	if log.Evidence == nil {
		if s.Loads.NVMe != profiles.NVMeWrite {
			return nil
		}
		return []Finding{about("written", drivesPart).Missing(errors.New("nothing was written: no disk was named (--write-disks, write_disks), or the node shows no NVMe drive"))}
	}
	switch {
	case !log.OK():
		return []Finding{about("written", drivesPart).Missing(log.Err)}
	case log.Value.Refused != "":
		return []Finding{about("written", drivesPart).Missing(errors.New(log.Value.Refused))}
	case len(log.Value.Fio.Jobs) == 0:
		return []Finding{noJobs(about("written", drivesPart), log.Value.Fio.Messages)}
	}
	parts := nvmeParts(r, p)
	var out []Finding
	written := map[string]bool{}
	for _, job := range log.Value.Fio.Jobs {
		part := job.part(parts)
		written[firstWord(job.Name)] = true
		f := job.judgeWrite(about("written", part), log.Value.Fio.Messages)
		out = append(out, f)
		if f.Verdict == Pass {
			out = append(out, about("write", part).number(scaled(job.Write, 1e-6), profiles.MBPerSecond, p.NVMe.WriteRate))
		}
	}
	for _, serial := range sortedKeys(log.Value.Disks) {
		if name := log.Value.Disks[serial]; !written[name] {
			out = append(out, about("written", FioJob{Name: name}.part(parts)).Missing(errors.New("fio did not write to this drive")))
		}
	}
	return out
}

// judgeWrite judges whether all that was written came back as it was.
func (j FioJob) judgeWrite(f Finding, messages []string) Finding {
	f.Measured = float64(j.Error)
	about := messageAbout(messages, firstWord(j.File, j.Name))
	switch {
	case j.Error == 84:
		return f.Judged(Fail, "other data came back than was written"+about)
	case slices.Contains(writeErrors, j.Error):
		return f.Judged(Fail, fmt.Sprintf("writing or reading back failed with error %d%s", j.Error, about))
	case j.Error != 0:
		return f.Missing(fmt.Errorf("fio could not write it, error %d%s", j.Error, about))
	case !j.Writes.Set || j.Writes.V == 0:
		return f.Missing(errors.New("fio wrote nothing"))
	case !j.Total.Set || j.Total.V < j.Writes.V:
		return f.Missing(fmt.Errorf("of %.0f writes %.0f were read back and compared", j.Writes.V, j.Total.V))
	}
	return f.Judged(Pass, fmt.Sprintf("%.1f GiB written, read back and compared, no difference; the disk is left as written", j.Written.V/(1<<30)))
}
