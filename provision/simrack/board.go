package simrack

import (
	"fmt"

	"github.com/rackproof/rackproof/burnin/nodetest"
)

// SwapBoard does what a vendor's technician does: the machine has another system board
// with another BMC on it, at the same address and with the same password, and what was
// wrong is gone. Its parts stay. The host is to be off, or booted anew behind it.
func (r *Rack) SwapBoard(machine string) error {
	m, err := r.find(machine)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.boards++
	m.mu.Unlock()
	if err := m.bmc.ShowNewCertificate(); err != nil {
		return err
	}
	return m.plant("", r.seed)
}

// onNewBoard gives hw the numbers of the board that it has by now.
func (m *machine) onNewBoard(hw *nodetest.Machine, seed uint64) error {
	board, err := nodetest.New(m.spec.Model, fmt.Sprintf("%s, board %d", m.spec.Name, m.boards+1), seed)
	if err != nil {
		return err
	}
	hw.UUID, hw.SystemSerial, hw.BoardSerial, hw.BMCMAC = board.UUID, board.SystemSerial, board.BoardSerial, board.BMCMAC
	return nil
}
