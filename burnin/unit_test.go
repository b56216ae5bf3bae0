package burnin

import "testing"

func FuzzParseReport(f *testing.F) {
	f.Add([]byte("ended stop\nunit stress load 1764511331 exit 0 12\nfile units/stress/out 0 3\nab\n\nend\n"))
	f.Add([]byte("unit s load 0 starting\nend\n"))
	f.Add([]byte("file x 0 9223372036854775807\nend\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseReport(b)
		if err != nil {
			return
		}
		for _, c := range r.chunks {
			if c.offset < 0 || len(c.data) > len(b) {
				t.Errorf("chunk %+v", c)
			}
		}
	})
}
