package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// nvmeThroughput asks how fast each drive is read under load, and whether every read
// came back. The rate has a limit only where the order states one.
var nvmeThroughput = Check{
	Name:   "nvme.throughput",
	Title:  "Each NVMe drive reads without an error, and as fast as ordered; what is written comes back",
	Probes: []string{Fio.Spec.Name, nvmeWriteName},
	Judge: func(r *Readings, p *profiles.Profile, s *profiles.Spec) []Finding {
		return append(judgeNVMeThroughput(r, p, s), judgeNVMeWrite(r, p, s)...)
	},
}

// driveErrors are the errno values of Linux by which a read fails because of the
// drive or the way to it: EIO, ENXIO, ENODEV, ENODATA (a medium error), ETIMEDOUT,
// EREMOTEIO. With any other the program was not able to try.
var driveErrors = []int{5, 6, 19, 61, 110, 121}

func judgeNVMeThroughput(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "nvme.throughput"
	fio := Read(r, Fio, PhaseLoad)
	if !fio.OK() {
		f := About(check, "read", drivesPart, fio.Ref)
		if r.find(PhaseLoad, "nvme-read", "") != nil {
			return []Finding{f.absent(errors.New(notThere(Fio.Spec.Tool)+"; another load read the drives, and measures nothing"), p.NVMe.ReadRate)}
		}
		return []Finding{f.absent(fio.Err, p.NVMe.ReadRate)}
	}
	var out []Finding
	parts := nvmeParts(r, p)
	read := map[string]bool{} // drives that have a job
	for _, job := range fio.Value.Jobs {
		part := job.part(parts)
		read[part.Name] = true
		about := func(quantity string) Finding { return About(check, quantity, part, fio.Ref) }
		errs := job.judge(about("errors"), fio.Value.Messages)
		out = append(out, errs)
		if errs.Verdict != Pass {
			continue
		}
		out = append(out,
			about("read").number(scaled(job.Read, 1e-6), profiles.MBPerSecond, p.NVMe.ReadRate),
			about("iops").number(job.IOPS, profiles.IOPS, p.NVMe.ReadIOPS),
			about("slowest_1_percent").number(job.Slow, profiles.Seconds, nil))
	}
	if len(fio.Value.Jobs) == 0 {
		out = append(out, noJobs(About(check, "errors", drivesPart, fio.Ref), fio.Value.Messages))
	}
	for _, d := range parts {
		if !read[d.Name] && p.NVMe.ReadRate.Set() {
			out = append(out, About(check, "read", d.Part, fio.Ref).Missing(errors.New("fio did not read this drive")))
		}
	}
	return withNamespaces(out)
}

// withNamespaces tells findings of several namespaces of one drive apart.
func withNamespaces(fs []Finding) []Finding {
	seen := map[string]int{}
	for i := range fs {
		seen[fs[i].ID]++
		if n := seen[fs[i].ID]; n > 1 {
			fs[i].ID += "/" + strconv.Itoa(n)
		}
	}
	return fs
}

var namespaceName = regexp.MustCompile(`nvme\d+`)

// part is the drive that a job read.
func (j FioJob) part(parts []nvmePart) Part {
	device := namespaceName.FindString(firstWord(j.File, j.Name))
	i := slices.IndexFunc(parts, func(d nvmePart) bool { return device != "" && d.Device == device })
	if i < 0 {
		return Part{Class: ClassNVMe, Name: "NVMe " + firstWord(j.File, j.Name)}
	}
	return parts[i].Part
}

// judge judges whether a job ended well. Nothing read is no good end.
func (j FioJob) judge(f Finding, messages []string) Finding {
	f.Measured = float64(j.Error)
	switch {
	case slices.Contains(driveErrors, j.Error):
		return f.Judged(Fail, fmt.Sprintf("reading failed with error %d%s", j.Error, messageAbout(messages, firstWord(j.File, j.Name))))
	case j.Error != 0:
		return f.Missing(fmt.Errorf("fio could not read it, error %d%s", j.Error, messageAbout(messages, firstWord(j.File, j.Name))))
	case !j.Total.Set || j.Total.V == 0:
		return f.Missing(errors.New("fio read nothing"))
	}
	return f.Judged(Pass, fmt.Sprintf("%.0f reads came back", j.Total.V))
}

// messageAbout is the message about a file, with a colon before it; "" when there is none.
func messageAbout(messages []string, file string) string {
	for _, m := range messages {
		if file != "" && strings.Contains(m, file) {
			return ": " + m
		}
	}
	return ""
}

// "fio: pid=4896, err=5/file:ioengines.c:351, func=td_io_queue, error=Input/output error"
var fioError = regexp.MustCompile(`\berr=(\d+)/`)

// noJobs judges an answer without any job by the messages beside it.
func noJobs(f Finding, messages []string) Finding {
	for _, m := range messages {
		if e := fioError.FindStringSubmatch(m); e != nil && slices.Contains(driveErrors, atoi(e[1])) {
			f.Measured = m
			return f.Judged(Fail, "reading failed, and fio does not say of which drive: "+m)
		}
	}
	return f.Missing(fmt.Errorf("fio ran no job: %s", firstWord(strings.Join(messages, "; "), "it does not say why")))
}
