package redfish_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestDiagnosticsOfCapturedTrees: what each captured machine offers, and that each usual
// one comes as a file, once asked for.
func TestDiagnosticsOfCapturedTrees(t *testing.T) {
	for _, c := range []struct {
		tree  string
		usual []string
		other []string
		content,
		of string // of one of them
	}{
		{"dell", []string{"support-assist"}, nil, "collected: SupportAssist", "support-assist"},
		{"hpe", []string{"ahs"}, []string{"ahs-all"}, "ahs /ahsdata/HPE_MXQ302099S_20240815.ahs?days=7", "ahs"},
		{"lenovo", []string{"ffdc"}, []string{"manager-1"}, "collected: FFDC", "ffdc"},
		{
			"nvidia_viking",
			[]string{"board-erot", "board-fpga", "board-selftest", "manager-BMC", "manager-HGX_BMC_0"},
			nil,
			"collected: OEM DiagnosticType=FPGA", "board-fpga",
		},
		{"supermicro", []string{"hgxdumps"}, nil, "dump of /redfish/v1/Oem/Supermicro/DumpService/Dumps/HGXDumps/Actions/HGXDumps.Download", "hgxdumps"},
	} {
		t.Run(c.tree, func(t *testing.T) {
			client, bmc := start(t, c.tree)
			ctx := within(t, time.Minute)
			list, err := client.Diagnostics(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var usual, other []string
			for _, d := range list {
				if d.Usual {
					usual = append(usual, d.Name)
				} else {
					other = append(other, d.Name)
				}
				if d.What == "" || d.Source == "" || d.Known != "seen" && d.Known != "documented" {
					t.Errorf("%+v does not say what it is and where that is from", d)
				}
			}
			slices.Sort(usual)
			if !slices.Equal(usual, c.usual) || !slices.Equal(other, c.other) {
				t.Errorf("usual %q and %q, want %q and %q", usual, other, c.usual, c.other)
			}
			if n := bmc.Acts()["diagnostics.collect"]; n != 0 {
				t.Errorf("listing collected %d times", n)
			}
			collects := 0
			for _, name := range usual {
				var out bytes.Buffer
				f, err := client.CollectDiagnostic(ctx, name, &out, redfish.CollectOptions{})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				sum := sha256.Sum256(out.Bytes())
				if f.Bytes != int64(out.Len()) || f.SHA256 != hex.EncodeToString(sum[:]) || f.File == "" {
					t.Errorf("%s: %+v of %d bytes", name, f, out.Len())
				}
				if name == c.of && out.String() != c.content {
					t.Errorf("%s: %q, want %q", name, out.String(), c.content)
				}
				if c.tree != "hpe" {
					collects++
				}
			}
			if n := bmc.Acts()["diagnostics.collect"]; n != collects {
				t.Errorf("%d collections, want %d", n, collects)
			}
		})
	}
}

func TestCollectDiagnosticUnderFaults(t *testing.T) {
	big := func(context.Context, string, map[string]any) []byte { return bytes.Repeat([]byte("x"), 100<<10) }
	for _, c := range []struct {
		name, fault string
		limit       int64
		wait        time.Duration // 0: a minute
		is          error
		says        string
		bytes       int64
	}{
		{name: "as it is", bytes: 100 << 10},
		{name: "task vanishes", fault: "task-vanishes", bytes: 100 << 10},
		{name: "too big", limit: 50 << 10, is: redfish.ErrTooLarge, says: "51200 bytes"},
		{name: "never ends", fault: "diagnostics-endless", wait: 300 * time.Millisecond, is: context.DeadlineExceeded, says: "goes on at the BMC"},
		{name: "licence missing", fault: "diagnostics-licence=DCMS", is: redfish.ErrLicence, says: "DCMS"},
		{name: "no file", fault: "diagnostics-no-file", is: redfish.ErrJobFailed, says: "names no file"},
		{name: "lost answer", fault: "lost-response=diagnostics", is: redfish.ErrUnreachable},
		{name: "location in body", fault: "location-in-body", bytes: 100 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: machineTree(), TaskDelay: 20 * time.Millisecond, Hooks: redfishtest.Hooks{OnDiagnostics: big}})
			client := open(t, bmc)
			if c.fault != "" {
				if err := bmc.SetFault(c.fault, true); err != nil {
					t.Fatal(err)
				}
			}
			wait := c.wait
			if wait == 0 {
				wait = time.Minute
			}
			var told []string
			f, err := client.CollectDiagnostic(within(t, wait), "manager-a", io.Discard, redfish.CollectOptions{MaxBytes: c.limit, Progress: func(s string) { told = append(told, s) }})
			if !errors.Is(err, c.is) || c.says != "" && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v that says %q", err, c.is, c.says)
			}
			if f.Bytes != c.bytes {
				t.Errorf("%d bytes, want %d", f.Bytes, c.bytes)
			}
			if len(told) == 0 {
				t.Error("it tells nothing while it works")
			}
			if n := bmc.Acts()["diagnostics.collect"]; n > 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestCollectDiagnosticRefuses(t *testing.T) {
	client := open(t, serve(t, redfishtest.Options{Tree: machineTree()}))
	if _, err := client.CollectDiagnostic(t.Context(), "tsr", io.Discard, redfish.CollectOptions{}); !errors.Is(err, redfish.ErrBadValue) || !strings.Contains(err.Error(), "manager-a") {
		t.Errorf("%v, want that it names what there is", err)
	}
	none := open(t, serve(t, redfishtest.Options{Tree: small()}))
	if _, err := none.CollectDiagnostic(t.Context(), "manager-a", io.Discard, redfish.CollectOptions{}); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("%v, want that there is none", err)
	}
}

// TestOldFilesAreNotTaken: a log that has files from before gives the new one.
func TestOldFilesAreNotTaken(t *testing.T) {
	tree := machineTree()
	const entries = "/redfish/v1/Managers/a/LogServices/Dump/Entries"
	tree[entries] = []byte(`{"Members":[{"@odata.id":"` + entries + `/1","Id":"1","AdditionalDataURI":"/old","AdditionalDataSizeBytes":999999}]}`)
	tree[entries+"/1"] = []byte(`{"@odata.id":"` + entries + `/1","Id":"1","AdditionalDataURI":"/old","AdditionalDataSizeBytes":999999}`)
	client := open(t, serve(t, redfishtest.Options{Tree: tree}))
	var out bytes.Buffer
	if _, err := client.CollectDiagnostic(within(t, time.Minute), "manager-a", &out, redfish.CollectOptions{}); err != nil || out.String() != "collected: Manager" {
		t.Errorf("%v, %q; want the new file", err, out.String())
	}
}

func TestScreen(t *testing.T) {
	client, _ := start(t, "dell")
	png, err := client.Screen(within(t, time.Minute))
	if err != nil || !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Errorf("%v, %d bytes; want a PNG", err, len(png))
	}
	other, _ := start(t, "supermicro")
	if _, err := other.Screen(within(t, time.Minute)); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("%v, want that no way is documented", err)
	}
}
