package burnin

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// sameXML reports whether the plain reader takes a log, and fails where it then makes
// another tree of it than the XML parser.
func sameXML(t *testing.T, log string) bool {
	t.Helper()
	plain, full := newNvidiaTree(), newNvidiaTree()
	if !plain.readPlain(log) {
		return false
	}
	if err := full.readXML([]byte(log)); err != nil {
		t.Fatalf("the plain reader takes what the XML parser refuses: %v\n%s", err, log)
	}
	if got, want := plain.done(), full.done(); !reflect.DeepEqual(got, want) {
		t.Fatalf("the plain reader and the XML parser differ on\n%s", log)
	}
	return true
}

func TestPlainXML(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(filepath.Join("testdata", "gpu-two-h100", "before", "nvidia-smi.out"))
	if err != nil {
		t.Fatal(err)
	}
	log := string(whole[:strings.Index(string(whole), "</nvidia_smi_log>")])
	if !sameXML(t, log) {
		t.Error("a log as nvidia-smi prints it is not read plainly")
	}
	for at := 0; at < len(log); at += 97 {
		sameXML(t, log[:at])
	}
	for _, c := range []struct {
		log   string
		plain bool
	}{
		{"<a><b>1 </b> x <b/></a>tail", true},
		{"<gpu id=\"00:1\"><gpu></gpu></nvidia_smi_log></x>", true},
		{"<!-- a - b --><nvidia_smi_log>x<a>y</nvidia_smi_log>", true},
		{"<!-- a -- b --><a></a>", false},
		{"<!-- a ---><a></a>", false},
		{"<a>x &lt; y</a>", false},
		{"<a>x ]]> y</a>", false},
		{"<a>x\ry</a>", false},
		{"<a id='1'></a>", false},
		{"<a id=\"1&amp;\"></a>", false},
		{"<a id=\"1\" b=\"2\"></a>", false},
		{"<a:b></a:b>", false},
		{"<1a></1a>", false},
		{"<![CDATA[x]]>", false},
		{"<!DOCTYPE a [<!ENTITY b \"c\">]><a></a>", false},
		{"<?xml version=\"1.1\" ?><a></a>", false},
		{"<a></a ></a>", false},
		{"<a", false},
		{strings.Repeat("<a>", nvidiaDepth+1), false},
	} {
		if got := sameXML(t, c.log); got != c.plain {
			t.Errorf("%s: read plainly: %v, want %v", c.log, got, c.plain)
		}
	}
}

func FuzzPlainXML(f *testing.F) {
	f.Add(nvidiaXMLLog("<serial>1</serial><remapped_rows>N/A</remapped_rows>"))
	f.Add("<!-- a --><gpu id=\"1\">x<b/></gpu>")
	f.Fuzz(func(t *testing.T, log string) { sameXML(t, string(cleanXML([]byte(log)))) })
}

func TestLinkStateWithAndWithoutMarks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]PCILink{
		" Speed 32GT/s, Width x16":                                   {32, 16},
		"\tSpeed 16GT/s (downgraded), Width x8 (downgraded)":         {16, 8},
		"\tSpeed 16GT/s (ok), Width x4 (ok) TrErr- Train- SlotClk+":  {16, 4},
		"\tPort #0, Speed 32GT/s, Width x16, ASPM not supported":     {32, 16},
		"\tSpeed unknown, Width x0 TrErr-":                           {0, 0},
		"\tSpeed , Width x8":                                         {},
		"\tSpeed 8GT/s, Width xx":                                    {},
		"\tSpeed 8GT/s":                                              {},
		"\tSpeed , Width x8, then Speed 2.5GT/s (ok), Width x1 (ok)": {2.5, 1},
	} {
		if got := lspciLinkState(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestLowerIs(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "n", "N/A", "n/a", "n/ax", "UNKNOWN", "un\u212anown", "Unknown\u212a", "\xff", "N/\u0130"} {
		for _, word := range append([]string{"n/", "unknownk"}, notMeasured...) {
			if got, want := lowerIs(s, word), strings.ToLower(s) == word; got != want {
				t.Errorf("%q is %q: %v, want %v", s, word, got, want)
			}
		}
	}
}
