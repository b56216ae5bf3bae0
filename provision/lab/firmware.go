package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// prepareFirmware gives a UEFI machine its variables and tells them what to boot.
// Devices are chosen by QEMU's boot index, which OVMF follows as SeaBIOS does; a URI
// can only be told by a variable. What the machine itself has kept stays.
func prepareFirmware(s Spec, choice BootChoice) error {
	if s.Firmware != UEFI {
		return nil
	}
	fresh, err := os.ReadFile(ovmfVars)
	if err != nil {
		return fmt.Errorf("UEFI variables: %w", err)
	}
	path := s.Path("vars.fd")
	kept, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		kept, err = fresh, nil
	}
	if err != nil {
		return fmt.Errorf("UEFI variables: %w", err)
	}
	all, err := readVariables(kept)
	if err != nil {
		return fmt.Errorf("UEFI variables of %s: %w", s.Name, err)
	}
	var option []byte
	if choice.Device == BootHTTP {
		mac, err := net.ParseMAC(s.HostMAC())
		if err != nil {
			return fmt.Errorf("UEFI variables of %s: %w", s.Name, err)
		}
		option = httpOption(choice.URI, slotNIC, mac)
	}
	b, err := writeVariables(fresh, withBoot(all, option))
	if err != nil {
		return fmt.Errorf("UEFI variables of %s: %w", s.Name, err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("UEFI variables: %w", err)
	}
	return nil
}
