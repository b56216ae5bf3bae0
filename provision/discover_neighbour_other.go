//go:build !linux

package provision

import (
	"errors"
	"fmt"
)

// neighbours needs netlink.
func neighbours([]string) ([]Sighting, error) {
	return nil, fmt.Errorf("neighbour table: %w on this system", errors.ErrUnsupported)
}
