package burnin

import (
	"maps"
	"strings"
	"testing"
)

func TestParseNVLink(t *testing.T) {
	t.Parallel()
	const out = "GPU 0: NVIDIA H100 NVL (UUID: GPU-00000001-aaaa-bbbb-cccc-000000000000)\n" +
		"\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n\t Link 2: 26562 MB/s\n" +
		"GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-00000002-aaaa-bbbb-cccc-000000000000)\n" +
		"NVML: Unable to retrieve NVLink information as all links are inActive\n" +
		"GPU 2: NVIDIA L40S (UUID: GPU-00000003-aaaa-bbbb-cccc-000000000000)\nDevice does not have or support Nvlink\n" +
		"GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-00000004-aaaa-bbbb-cccc-000000000000)\nNvlink queries are not supported for Devices in MIG mode\n" +
		"GPU 4: NVIDIA H100 80GB HBM3\n" +
		"GPU 5: NVIDIA H100 80GB HBM3\n\t Link 0: 26.562 GB/s\n\t Link 1: \n" +
		"GPU 6: NVIDIA H100 80GB HBM3\n\t Link 0: 26.562 GB/s\n\t Link 1:\n"
	s, err := parseNVLink(&Evidence{Out: []byte(out)})
	if err != nil || len(s.GPUs) != 7 {
		t.Fatalf("%d GPUs: %v", len(s.GPUs), err)
	}
	for i, want := range []struct {
		active int
		err    string
	}{
		{2, ""}, {0, ""}, {0, ""}, {0, "MIG mode"}, {0, "prints no link"}, {0, "link 1"}, {0, "link 1"},
	} {
		active, err := s.GPUs[i].Active()
		switch {
		case want.err == "" && (err != nil || active != want.active):
			t.Errorf("GPU %d: %d links active, %v; want %d", i, active, err, want.active)
		case want.err != "" && (err == nil || !strings.Contains(err.Error(), want.err)):
			t.Errorf("GPU %d: error %v, want %q", i, err, want.err)
		}
	}
	if r := s.GPUs[0].Links[2].Rate; !r.Set || r.V != 26.562 {
		t.Errorf("a rate in MB/s reads %+v", r)
	}
}

// What is right for a card with twelve of eighteen links, or none, the profile says.
func TestNVLinkByProfile(t *testing.T) {
	t.Parallel()
	head := "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000001-aaaa-bbbb-cccc-000000000000)\n"
	twelve := head
	for range 12 {
		twelve += "\t Link 0: 26.562 GB/s\n"
	}
	rows := []struct {
		name, profile, out string
		want               map[string]string
	}{
		{"12 of 18", "one-h100", twelve + endMark + "0\n", map[string]string{"gpu.nvlink/links/GPU (nvidia-smi 0)": "fail"}},
		{"12 of 18, then one that is down", "one-h100", twelve + "\t Link 12: <inactive>\n", map[string]string{"gpu.nvlink/links/GPU (nvidia-smi 0)": "fail"}},
		{"cut behind 12 of 18", "one-h100", twelve, map[string]string{"gpu.nvlink/links/GPU (nvidia-smi 0)": "not_run"}},
		{"the driver knows no NVLink", "one-h100", head + "Device does not have or support Nvlink\n", map[string]string{
			"gpu.nvlink/links/GPU (nvidia-smi 0)": "fail", "gpu.nvlink/rate/GPU (nvidia-smi 0)": "not_run",
		}},
		{"no NVLink wanted", "one-l40s", head + "Device does not have or support Nvlink\n", map[string]string{}},
		{"failure in place of links", "one-h100", "Failed to initialize NVML: Driver/library version mismatch\n", map[string]string{"gpu.nvlink/all/GPU 1 of 1": "not_run"}},
	}
	for _, row := range rows {
		found := gpuAnswers(looseGPU(map[string][]byte{"nvlink": []byte(row.out)}), gpuProfile(t, row.profile), gpuNVLink)
		if got := notGoodAnswers(found); !maps.Equal(got, row.want) {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

func TestParseNVLinkErrors(t *testing.T) {
	t.Parallel()
	const out = "GPU 0: NVIDIA B200 (UUID: GPU-00000001-aaaa-bbbb-cccc-000000000000)\n" +
		"\t Link 0: Tx packets: 12345\n\t Link 0: Malformed packet Errors: 0\n\t Link 0: Link recovery failed events: 3\n" +
		"\t Link 0: Effective Errors: 0\n\t Link 0: Effective BER: 15e-255\n\t Link 0: FEC Errors - 0: 17941761\n\t Link 1: CRC Errors: N/A\n"
	c, err := parseNVLinkErrors(&Evidence{Out: []byte(out)})
	if err != nil || len(c.GPUs) != 1 {
		t.Fatalf("%+v: %v", c, err)
	}
	links := c.GPUs[0].Links
	for _, row := range []struct {
		name string
		want Opt[float64]
	}{
		{"link_recovery_failed_events", Opt[float64]{V: 3, Set: true, Text: "3"}},
		{"effective_errors", Opt[float64]{Set: true, Text: "0"}},
		{"effective_ber", Opt[float64]{Text: "15e-255"}},
		{"fec_errors_0", Opt[float64]{V: 17941761, Set: true, Text: "17941761"}},
	} {
		if got := links[0][row.name]; got != row.want {
			t.Errorf("%s = %+v, want %+v", row.name, got, row.want)
		}
	}
	if got := links[1]["crc_errors"]; got.Set {
		t.Errorf("a counter that reads N/A is %+v", got)
	}
}

// With one reading, a counter that is not zero is left open.
func TestNVLinkErrorsOneReading(t *testing.T) {
	t.Parallel()
	const out = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000001-aaaa-bbbb-cccc-000000000000)\n" +
		"\t Link 0: Replay Errors: 0\n\t Link 0: Recovery Errors: 0\n\t Link 0: CRC Errors: 7\n"
	found := gpuAnswers(looseGPU(map[string][]byte{"nvlink-errors": []byte(out)}), gpuProfile(t, "one-h100"), gpuNVLinkErrors)
	want := map[string]string{"gpu.nvlink_errors/crc_errors/GPU (nvidia-smi 0)": "not_run"}
	if got := notGoodAnswers(found); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// NVLinks of the fifth generation count no CRC errors, but those that their error correction left.
func TestNVLink5Errors(t *testing.T) {
	t.Parallel()
	for counters, want := range map[string]string{
		"Effective Errors: 0\n\t Link 0: FEC Errors - 3: 1794": "pass",
		"Effective Errors: 1":                             "fail",
		"Effective Errors: N/A":                           "not_run",
		"Symbol Errors: 0":                                "not_run",
		"CRC Errors: N/A\n\t Link 0: Effective Errors: 1": "fail",
	} {
		files := map[string][]byte{}
		for ref, text := range map[string]string{"before/nvlink-errors": "Effective Errors: 0", "after/nvlink-errors": counters} {
			files[ref] = []byte("GPU 0: NVIDIA B200 (UUID: GPU-00000001-aaaa-bbbb-cccc-000000000000)\n\t Link 0: Link recovery failed events: 0\n\t Link 0: " + text + "\n")
		}
		f := gpuAnswers(looseGPU(files), gpuProfile(t, "hgx-b200-8"), gpuNVLinkErrors)["gpu.nvlink_errors/crc_errors/GPU (nvidia-smi 0)"]
		if got := gpuAnswer(f); got != want {
			t.Errorf("%q: %s (%s%s), want %s", counters, got, f.Why, f.NotRun, want)
		}
	}
}

func FuzzParseNVLink(f *testing.F) {
	f.Add([]byte("GPU 0: NVIDIA H100 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"))
	f.Add([]byte("GPU 0: NVIDIA H100 (UUID: GPU-1)\nNVML: all links are inActive\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		s, err := parseNVLink(&Evidence{Out: out})
		if err == nil && len(s.GPUs) == 0 {
			t.Error("read, but no GPU")
		}
		for i := range s.GPUs {
			if n, err := s.GPUs[i].Active(); err == nil && n > len(s.GPUs[i].Links) {
				t.Errorf("%d of %d links active", n, len(s.GPUs[i].Links))
			}
		}
	})
}

func FuzzParseNVLinkErrors(f *testing.F) {
	f.Add([]byte("GPU 0: NVIDIA H100 (UUID: GPU-1)\n\t Link 0: Replay Errors: 0\n\t Link 0: FEC Errors - 0: 3\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		c, err := parseNVLinkErrors(&Evidence{Out: out})
		if err == nil && len(c.GPUs) == 0 {
			t.Error("read, but no GPU")
		}
		for _, g := range c.GPUs {
			for link, counters := range g.Links {
				if link < 0 || len(counters) == 0 {
					t.Errorf("link %d has %d counters", link, len(counters))
				}
			}
		}
	})
}
