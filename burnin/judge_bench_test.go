package burnin_test

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
)

// hallNodes are the machines of a hall.
const hallNodes = 10_000

// BenchmarkJudge reads nodes from .tar.gz streams and judges them, as many at once as
// there are processors. Run it with -benchtime 10000x for a hall of machines. What a node leaves behind is
// garbage when the next comes, so the collector is given a part of the memory to wait in.
func BenchmarkJudge(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(1200))
	runtime.MemProfileRate = 0 // as in the program
	archive, to := benchArchive(b)
	began, worked := time.Now(), usage(b)
	turns := make(chan int)
	var workers sync.WaitGroup
	b.ResetTimer()
	for range runtime.NumCPU() {
		workers.Go(func() {
			for i := range turns {
				rec, err := burnin.ReadRecord(fmt.Sprintf("node%05d", i), bytes.NewReader(archive))
				if err != nil {
					b.Error(err)
					continue
				}
				if j := to.of(rec); j.Result != burnin.Passed {
					b.Errorf("node %d: %s\n%s", i, j.Result, describe(j))
				}
			}
		})
	}
	for i := range b.N {
		turns <- i
	}
	close(turns)
	workers.Wait()
	took := time.Since(began)
	b.ReportMetric(float64(b.N)/took.Seconds(), "nodes/s")
	b.ReportMetric(float64(len(archive))/1024, "KiB/node")
	use := usage(b)
	work, peak := float64(processor(use)-processor(worked))/1e6/float64(b.N), float64(use.Maxrss)/1024
	b.ReportMetric(work, "cpu-ms/node") // whatever else the machine does
	b.ReportMetric(peak, "peak-MiB")
	if b.N < hallNodes {
		return
	}
	b.Logf("measured: %d nodes in %.0f s (goal: 60 s), %.0f nodes/s, %.1f ms of a processor a node, peak %.0f MiB (goal: 500 MiB)", b.N, took.Seconds(), float64(b.N)/took.Seconds(), work, peak)
}

func usage(b *testing.B) syscall.Rusage {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return use
}

// processor is the time in ns that the process has worked.
func processor(u syscall.Rusage) int64 { return u.Utime.Nano() + u.Stime.Nano() }

// benchArchive is a healthy HGX H100 as a run would hand it over.
func benchArchive(b *testing.B) ([]byte, judged) {
	b.Helper()
	m, err := nodetest.New("hgx-h100-8", "bench", 11)
	if err != nil {
		b.Fatal(err)
	}
	to := judgedAs(b, m)
	dir := storeFolder(b)
	store, err := burnin.OpenStore(dir)
	if err != nil {
		b.Fatal(err)
	}
	if err := burnInto(b.Context(), store, m, to.profile, burnin.Loads()); err != nil {
		b.Fatal(err)
	}
	var archive bytes.Buffer
	if err := burnin.Pack(dir, &archive); err != nil {
		b.Fatal(err)
	}
	return archive.Bytes(), to
}
