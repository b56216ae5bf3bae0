package provision

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
)

var (
	// "BootOrder: 0004,0001" of efibootmgr
	efiOrder = regexp.MustCompile(`(?m)^BootOrder: ([0-9A-Fa-f,]+)\r?$`)
	// an entry as Redfish names it after the firmware's variable: "Boot001A"
	efiEntry = regexp.MustCompile(`^Boot[0-9A-F]{4}$`)
)

// tellBootOrder compares the boot order that the BMC shows with the one that the firmware
// has. BMCs go on showing an old one under lockdown (ARS-121L-DNR, NVIDIA infra-controller
// #503), and firmware has lost its disk from it (SYS-221H, libredfish #13): a machine handed
// over so does not start. It decides no verdict and delays nobody.
func (e *Env) tellBootOrder(ctx context.Context, node burnin.Shell) {
	ctx, cancel := context.WithTimeout(ctx, watchLogin)
	defer cancel()
	c, err := e.Client(ctx)
	if err != nil {
		e.Log.Debug("the boot order is not compared", "err", err)
		return
	}
	b, err := c.Boot(ctx)
	shown := slices.Clone(b.Order)
	for i := range shown {
		shown[i] = strings.Replace(strings.ToUpper(shown[i]), "BOOT", "Boot", 1)
	}
	if err != nil || len(shown) == 0 || slices.ContainsFunc(shown, func(s string) bool { return !efiEntry.MatchString(s) }) {
		return
	}
	out, err := node.Run(ctx, burnin.Command{Line: "efibootmgr", Deadline: hostDeadline})
	m := efiOrder.FindSubmatch(out.Out)
	if err != nil || out.Exit == nil || *out.Exit != 0 || m == nil {
		return // no UEFI, or no efibootmgr
	}
	var has []string
	for number := range strings.SplitSeq(strings.Trim(string(m[1]), ","), ",") {
		has = append(has, "Boot"+strings.ToUpper(number))
	}
	if slices.Equal(shown, has) {
		return
	}
	note := fmt.Sprintf("the BMC shows the boot order %s, and the firmware has %s: look whether the BMC is locked down, and for the disk among the latter before the machine goes out",
		strings.Join(shown, ", "), strings.Join(has, ", "))
	e.Log.Warn(note)
	if was := e.Facts[FactNote]; was != "" {
		note = was + "; " + note
	}
	e.Facts[FactNote] = note
}
