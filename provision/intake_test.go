package provision

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rackproof/rackproof/redfish"
)

func utf16Bytes(order binary.ByteOrder, mark bool, text string) []byte {
	if mark {
		text = "\ufeff" + text
	}
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, 0, 0)
		order.PutUint16(b[len(b)-2:], u)
	}
	return b
}

// One order in the ways in which tables are written.
func TestParseOrder(t *testing.T) {
	const comma = "Serial Number,Name,Rack,U,GPU count,GPU model,DIMMs,Drives,PSU (W),PSU qty,Price\r\n" +
		"S1,r12u07,R12,U7,8,H100 SXM5,32 x 64 GB,\"8 x 3.84 TB + 2 x 960GB\",3000,6,1\r\n\r\n"
	semicolon := strings.NewReplacer(",", ";", "3.84", "3,84").Replace(comma)
	for name, raw := range map[string][]byte{
		"plain": []byte(comma), "mark": []byte("\ufeff" + comma), "semicolons": []byte("sep=;\r\n" + semicolon),
		"UTF-16": utf16Bytes(binary.LittleEndian, true, semicolon), "UTF-16BE": utf16Bytes(binary.BigEndian, true, comma),
		"UTF-16 without a mark": utf16Bytes(binary.LittleEndian, false, comma), "tabs": []byte(strings.ReplaceAll(comma, ",", "\t")),
	} {
		order, err := ParseOrder("po.csv", raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		l := order.Lines[0]
		var parts []string
		for _, p := range l.Parts {
			parts = append(parts, fmt.Sprintf("%s %d %q %g", p.Kind, p.Count, p.Model, p.Size))
		}
		want := []string{`GPU 8 "H100 SXM5" 0`, `DIMM 32 "" 64`, `drive 8 "" 3.84e+12`, `drive 2 "" 9.6e+11`, `PSU 6 "" 3000`}
		if len(order.Lines) != 1 || l.Serial != "S1" || l.Where() != "R12 U07" || !slices.Equal(parts, want) || !slices.Equal(order.Ignored, []string{"Price"}) {
			t.Errorf("%s: %+v, parts %q, ignored %q", name, l, parts, order.Ignored)
		}
	}
}

// Every mistake is told, with file and line.
func TestParseOrderMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "po.csv:1:1: no machine in it",
		"name,gpus\na,8\n":                 "po.csv:1:1: no column serial",
		"serial,gpus\nS1,8\n,8\ns1,8\n":    "po.csv:3:1: no serial: nothing says which machine this is\npo.csv:4:1: serial s1 stands in line 2 already",
		"serial,gpus\nS1,8.5\n":            `po.csv:2:1: column gpus says "8.5": want how many`,
		"serial,u\nS1,top\n":               `po.csv:2:1: u "top"`,
		"serial,gpus\nS1,8,9\n":            "po.csv:2:1: 3 cells, and the headings name 2 columns",
		"serial,gpus,gpu qty\nS1,8,4\n":    `po.csv:2:1: column gpu qty says "4", and another column says "8" of the same parts`,
		"serial,gpus\nS1,\"8\n":            "po.csv:2:7: extraneous or missing",
		"serial,name\nS1,a\nS2,Gr\xf6\xdf": "po.csv:3:1: the text is neither UTF-8 nor UTF-16",
	} {
		if _, err := ParseOrder("po.csv", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSameName(t *testing.T) {
	for _, test := range []struct {
		kind       PartKind
		want, here string
		says       Delivered
	}{
		{KindGPU, "H100", "NVIDIA H100 80GB HBM3", AsExpected},
		{KindGPU, "NVIDIA H100 80GB", "H100 80GB HBM3 NVIDIA", AsExpected},
		{KindGPU, "NVIDIA H100", "H100 80GB HBM3", AsExpected},
		{KindGPU, "NVIDIA", "", NotTold},
		{KindGPU, "NVIDIA H100 PCIe", "H100 80GB HBM3", NotTold},
		{KindCPU, "Xeon 8480C", "Intel(R) Xeon(R) Platinum 8480CL", NotTold},
		{KindGPU, "H100 SXM5", "NVIDIA H100 80GB HBM3", NotTold},
		{KindGPU, "A10", "NVIDIA A100 80GB", Differs},
		{KindGPU, "L40", "NVIDIA L40S", Differs},
		{KindGPU, "H100", "NVIDIA H200 141GB", Differs},
		{KindGPU, "H100", "", NotTold},
		{KindGPU, "H100", "GPU 1", NotTold},
		{KindCPU, "Xeon 8480C", "Intel(R) Xeon(R) Platinum 8480C", AsExpected},
		{KindCPU, "Xeon 8480C", "Intel(R) Xeon(R) Platinum 8470", Differs},
		{KindDrive, "Samsung PM9A3", "Samsung MZQL23T8HCLS-00A07", NotTold},
		{"", "SYS-821GE-TNHR", "Supermicro SYS-821GE-TNHR", AsExpected},
		{"", "DGX H100", "NVIDIA DGXH100", AsExpected},
		{"", "PowerEdge XE9680", "Dell Inc. PowerEdge XE8640", Differs},
	} {
		if got := sameName(test.kind, test.want, wordsOf(test.here)); got != test.says {
			t.Errorf("%s %q, here %q: %s, want %s", test.kind, test.want, test.here, got, test.says)
		}
	}
}

func orderedParts(t *testing.T, columns, cells string) OrderLine {
	t.Helper()
	order, err := ParseOrder("po.csv", []byte("serial;"+columns+"\nS1;"+cells+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return order.Lines[0]
}

func dimms(n int, mib int64) (list []redfish.DIMM) {
	for i := range n {
		d := redfish.DIMM{Part: redfish.Part{Label: fmt.Sprintf("P1-DIMM%c1", 'A'+i), Model: "M321R8GA0BB0"}}
		if mib > 0 {
			d.SizeMiB = new(mib)
		}
		list = append(list, d)
	}
	return list
}

func drives(n int, bytes int64) (list []redfish.Drive) {
	for i := range n {
		list = append(list, redfish.Drive{Part: redfish.Part{Label: fmt.Sprintf("Bay %d", i), Model: "MZQL2"}, Bytes: new(bytes)})
	}
	return list
}

// What a BMC lists, beside what was ordered: nothing that it cannot tell is fine.
func TestCompareOrder(t *testing.T) {
	gpus := make([]redfish.GPU, 8)
	for i := range gpus {
		gpus[i].Part = redfish.Part{Label: fmt.Sprintf("SXM%d", i+1), Manufacturer: "NVIDIA", Model: "H100 80GB HBM3"}
	}
	const tb384 = 3840755982336
	nics := []redfish.NIC{{Part: redfish.Part{Model: "ConnectX-7"}}, {Part: redfish.Part{Model: "ConnectX-7"}}, {Part: redfish.Part{Model: "X550"}}}
	for _, test := range []struct {
		columns, cells string
		inv            redfish.Inventory
		off            bool
		verdict        Delivered
		text           string
	}{
		{"gpus", "8 x H100", redfish.Inventory{GPUs: gpus}, false, AsExpected, ""},
		{"gpus", "8 x H200", redfish.Inventory{GPUs: gpus}, false, Differs, "0 of 8 GPUs are H200; the rest: 8 x H100 80GB HBM3"},
		{"gpus", "8", redfish.Inventory{GPUs: gpus[:7]}, false, Differs, "7 of 8 GPUs: 1 missing; listed are SXM1, SXM2, SXM3, SXM4, SXM5, SXM6, SXM7"},
		{"gpus", "8", redfish.Inventory{GPUs: gpus[:7]}, true, NotTold, "7 of 8 GPUs listed (the host is off"},
		{"gpus", "8", redfish.Inventory{GPUs: gpus[:7], Partial: []string{"/redfish/v1/Systems/1/Processors/GPU8: status 500"}}, false, NotTold, "7 of 8 GPUs listed (not all could be read: /redfish/v1/Systems/1/Processors/GPU8"},
		{"gpus", "8", redfish.Inventory{GPUs: gpus[:7], Partial: []string{"/redfish/v1/Systems/1/Memory/3: status 500"}}, false, Differs, "7 of 8 GPUs: 1 missing"},
		{"gpus", "8", redfish.Inventory{GPUs: gpus[:7], Partial: []string{"/redfish/v1/Chassis/2: status 500"}}, false, NotTold, "7 of 8 GPUs listed"},
		{"gpus", "4", redfish.Inventory{GPUs: gpus}, false, Differs, "8 of 4 GPUs: more than ordered"},
		{"gpus", "8", redfish.Inventory{}, false, NotTold, "the BMC lists no GPU at all"},
		{"gpus", "0", redfish.Inventory{}, false, AsExpected, ""},
		{"gpu model", "H100", redfish.Inventory{GPUs: gpus[:3]}, false, AsExpected, ""},
		{"dimms", "12 x 64 GB", redfish.Inventory{DIMMs: dimms(11, 65536), EmptyDIMMs: []string{"P1-DIMMH1"}}, false, Differs, "11 of 12 DIMMs: P1-DIMMH1 missing"},
		{"dimms", "12", redfish.Inventory{DIMMs: dimms(11, 65536), EmptyDIMMs: []string{"H1"}}, true, Differs, "11 of 12 DIMMs: H1 missing"},
		{"dimms", "12", redfish.Inventory{DIMMs: dimms(11, 65536), EmptyDIMMs: []string{"H1", "H2"}}, false, Differs, "11 of 12 DIMMs: 1 missing; empty are H1, H2"},
		{"dimms", "12 x 64 GB", redfish.Inventory{DIMMs: dimms(12, 0)}, false, NotTold, "0 proven to be 64 GB, of 12 others it is not told: the BMC says 12 x M321R8GA0BB0"},
		{"dimms", "12 x 64 GB", redfish.Inventory{DIMMs: slices.Concat(dimms(11, 65536), dimms(1, 32768))}, false, Differs, "11 of 12 DIMMs are 64 GB; the rest: 1 x M321R8GA0BB0 32 GiB"},
		{"dimms", "11 x 64 GB", redfish.Inventory{DIMMs: slices.Concat(dimms(11, 65536), dimms(1, 32768))}, false, Differs, "1 DIMM more than ordered: P1-DIMMA1"},
		{"memory GB", "768", redfish.Inventory{DIMMs: dimms(12, 65536)}, false, AsExpected, ""},
		{"memory", "1 TB", redfish.Inventory{DIMMs: dimms(12, 65536)}, false, Differs, "768 GiB of memory, ordered were 1024 GiB"},
		{"memory", "768 GB", redfish.Inventory{DIMMs: dimms(12, 0)}, false, NotTold, "the BMC tells the size of 0 modules"},
		{"drives", "8 x 3,84 TB + 2 x 960 GB", redfish.Inventory{Drives: slices.Concat(drives(2, 960197124096), drives(8, tb384))}, false, AsExpected, ""},
		{"drives", "8 x 3.84 TB", redfish.Inventory{Drives: drives(8, 7681501126656)}, false, Differs, "0 of 8 drives are 3.84 TB; the rest: 8 x MZQL2 7.68 TB"},
		{"drives", "8", redfish.Inventory{Drives: drives(10, tb384)}, false, NotTold, "10 listed, ordered were 8"},
		{"nics", "2 x ConnectX-7", redfish.Inventory{NICs: nics}, false, AsExpected, ""},
		{"nics", "3 x ConnectX-7", redfish.Inventory{NICs: nics}, false, Differs, "2 of 3 NICs are ConnectX-7; the rest: 1 x X550"},
		{"gpu cnt", "8", redfish.Inventory{GPUs: gpus}, false, NotTold, "column gpu cnt: 8 is not understood"},
		{"price", "8", redfish.Inventory{GPUs: gpus}, false, AsExpected, ""},
		{"psus", "2", redfish.Inventory{PSUs: []redfish.PSU{{Part: redfish.Part{Label: "PSU1"}}}}, true, Differs, "1 of 2 PSUs: 1 missing; listed are PSU1"},
		{"psus", "1", redfish.Inventory{PSUs: []redfish.PSU{{Part: redfish.Part{Label: "PSU1", Health: "Critical"}}}}, false, Differs, "PSU PSU1: the BMC calls it Critical; is its cord in?"},
	} {
		power := redfish.On
		if test.off {
			power = redfish.Off
		}
		all := compareOrder(orderedParts(t, test.columns, test.cells), test.inv, power)
		got, text := worstOf(all), ""
		for _, c := range all {
			if c.Verdict == got {
				text = c.Text
			}
		}
		if got != test.verdict || !strings.HasPrefix(text, test.text) {
			t.Errorf("%s %q, off %v: %s %q, want %s %q", test.columns, test.cells, test.off, got, text, test.verdict, test.text)
		}
	}
}

func FuzzParseOrder(f *testing.F) {
	f.Add([]byte("serial;gpus;drives\nS1;8 x H100;8 x 3,84 TB + 2 x 960 GB\n"))
	f.Add(utf16Bytes(binary.LittleEndian, true, "serial\tu\nS1\tU7\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		order, err := ParseOrder("po.csv", raw)
		if err == nil && len(order.Lines) == 0 {
			t.Error("neither a machine nor a mistake")
		}
	})
}
