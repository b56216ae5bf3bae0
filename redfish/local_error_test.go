package redfish_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

var errDisk = errors.New("no space left on device")

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errDisk }

// TestLocalFailureIsNotTheBMCs: a file that cannot be read or kept here says nothing of
// the BMC, and no act is in doubt for it.
func TestLocalFailureIsNotTheBMCs(t *testing.T) {
	for name, open := range map[string]func() (io.ReadCloser, error){
		"open": func() (io.ReadCloser, error) { return nil, errDisk },
		"read": func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("ffff"), iotest.ErrReader(errDisk))), nil
		},
	} {
		bmc, c := updateBMC(t, "supermicro", "BMC", "")
		image := pushed("fw.bin", 1<<20)
		image.Open = open
		_, err := c.Update(within(t, time.Minute), image)
		if !errors.Is(err, errDisk) || errors.Is(err, redfish.ErrUnreachable) {
			t.Errorf("%s: %v, want the error of the file alone", name, err)
		}
		if n := bmc.Acts()["firmware.update"]; n != 0 {
			t.Errorf("%s: %d updates were started", name, n)
		}
	}
	c, _ := start(t, "supermicro")
	list, err := c.Diagnostics(within(t, time.Minute))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	_, err = c.CollectDiagnostic(within(t, time.Minute), list[0].Name, fullDisk{}, redfish.CollectOptions{})
	if !errors.Is(err, errDisk) || errors.Is(err, redfish.ErrUnreachable) {
		t.Errorf("a disk that is full: %v, want its error alone", err)
	}
}
