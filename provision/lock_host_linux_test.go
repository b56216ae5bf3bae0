package provision

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// An address in another network is another BMC.
func TestLeaseInAnotherNetwork(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes a network namespace")
	}
	host := filepath.Join(t.TempDir(), "host")
	cmd, stdin := holds(t, t.TempDir(), host, func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	})
	lease, err := LeaseBMC(t.TempDir(), host, "ours", Machine{Name: "m1", BMC: "192.0.2.7"})
	if err != nil {
		t.Errorf("a BMC that has the same address in another network: %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the other process: %v", err)
	}
	if files, err := os.ReadDir(host); err != nil || len(files) != 2 {
		t.Errorf("%d locks, %v; want one of each network", len(files), err)
	}
}
