package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// prepareFirmware gives a UEFI machine its variables and tells them what to
// boot. BIOS takes that from QEMU's command line.
func prepareFirmware(s Spec, _ BootChoice) error {
	if s.Firmware != UEFI {
		return nil
	}
	vars := s.Path("vars.fd")
	if _, err := os.Stat(vars); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := os.ReadFile(ovmfVars)
	if err != nil {
		return fmt.Errorf("UEFI variables: %w", err)
	}
	if err := os.WriteFile(vars, b, 0o600); err != nil {
		return fmt.Errorf("UEFI variables: %w", err)
	}
	return nil
}
