package burnin

import (
	"math"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

const perftestPage = `                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             0.00               392.10		   0.747875
---------------------------------------------------------------------------------------
`

const (
	perftestJSON = "{\n" + `"test_info": {"test": "RDMA_Write BW Test", "Device": "mlx5_0"}, "results": {"MsgSize": 65536, "n_iterations": 5000, "BW_peak": 0.0, "BW_average": 392.1, "MsgRate": 0.74}}` + "\n"
	iperfJSON    = "{\n" + `"start": {"version": "iperf 3.16"}, "end": {"sum_sent": {"bits_per_second": 99.9e9}, "sum_received": {"bits_per_second": 98.7e9}}}` + "\n"
)

func TestIBBandwidth(t *testing.T) {
	const port = "ib.bandwidth/bandwidth/InfiniBand port mlx5_0"
	floor := ratedLimit(profiles.Min, 360, profiles.GbPerSecond)
	for _, c := range []struct {
		name, command, out string
		limit              *profiles.Limit
		want               string
	}{
		{"fast", "", perftestPage, floor, "pass"},
		{"recorded", "", perftestPage, nil, "not_applicable"},
		{"slow", "", strings.Replace(perftestPage, "392.10", "190.30", 1), floor, "fail"},
		{"MiB", "", strings.NewReplacer("Gb/sec", "MB/sec", "392.10", "46740.53").Replace(perftestPage), floor, "pass"},
		{"MiB that look like enough Gb", "", strings.NewReplacer("Gb/sec", "MiB/sec", "392.10", "392.10").Replace(perftestPage), floor, "fail"},
		{"an unknown unit", "", strings.ReplaceAll(perftestPage, "Gb/sec", "Tb/sec"), floor, "not_run"},
		{"both ways", "", strings.Replace(perftestPage, "Write BW", "Write Bidirectional BW", 1), floor, "not_run"},
		{"a sweep, the largest message counts", "", strings.Replace(perftestPage, " 65536 ", " 2      5000             0.00               0.10		   0.747875\n 65536 ", 1), floor, "pass"},
		{"cut before the table", "", strings.Split(perftestPage, " 65536")[0], floor, "not_run"},
		{"no memory region", "", "Couldn't allocate MR\nfailed to create mr\n", floor, "not_run"},
		{"nothing moved", "", strings.Replace(perftestPage, "392.10", "0.00", 1), floor, "not_run"},
		{"JSON", "ib_write_bw --report_gbits --out_json", perftestJSON, floor, "pass"},
		{"JSON without its unit", "ib_write_bw --out_json", perftestJSON, floor, "not_run"},
		{"JSON, cut", "ib_write_bw --report_gbits --out_json", perftestJSON[:120], floor, "not_run"},
		{"iperf3", "", iperfJSON, ratedLimit(profiles.Min, 98, profiles.GbPerSecond), "pass"},
		{"iperf3, what was sent does not count", "", iperfJSON, ratedLimit(profiles.Min, 99, profiles.GbPerSecond), "fail"},
		{"iperf3 without the other end", "", "{\n" + `"start": {"version": "x"}, "end": {}, "error": "unable to connect to server: Connection refused"}`, floor, "not_run"},
		{"something else", "", "hello\n", floor, "not_run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := loadPage("ib-bandwidth", c.out, "", 0)
			rec.Evidence[0].Instance, rec.Evidence[0].Command = "mlx5_0", c.command
			got := judged(t, rec, &profiles.Profile{IB: profiles.IB{Bandwidth: c.limit}}, newGPUParts, ibBandwidth)
			wantAnswers(t, got, map[string]string{port: c.want}, true)
		})
	}
	none := phases("ib-status", "", "")
	wantAnswers(t, judged(t, none, &profiles.Profile{}, newGPUParts, ibBandwidth), map[string]string{"ib.bandwidth/bandwidth/InfiniBand ports": "not_applicable"}, true)
	wantAnswers(t, judged(t, none, &profiles.Profile{IB: profiles.IB{Bandwidth: floor}}, newGPUParts, ibBandwidth), map[string]string{"ib.bandwidth/bandwidth/InfiniBand ports": "not_run"}, true)
}

func TestIBBandwidthCorpus(t *testing.T) {
	l, err := parsePairRate(loose(string(corpus(t, "ib/superbench-ib_loopback_8M_size.log"))))
	if err != nil || l.Device != "ib0" || l.Bytes != 8388608 || math.Abs(l.Rate.V-201.8) > 0.1 {
		t.Errorf("%+v, %v", l, err)
	}
}

func FuzzIBBandwidth(f *testing.F) {
	fuzzParser(f, "ib-bandwidth", perftestPage, perftestJSON, iperfJSON)
}
