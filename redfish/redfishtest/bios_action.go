package redfishtest

import (
	"net/http"
	"strings"
)

// discoverBIOSActions serves ResetBios, and what takes staged values back on iDRAC.
func (s *system) discoverBIOSActions(bios, settings map[string]any) {
	if target := text(bios, "Actions", "#Bios.ResetBios", "target"); target != "" {
		s.bmc.routes[canonical(target)] = route{http.MethodPost: s.resetBIOS}
	}
	oem, _ := at(settings, "Actions", "Oem").(map[string]any)
	for name, action := range oem {
		if strings.HasSuffix(name, "ClearPending") {
			s.bmc.routes[canonical(text(action, "target"))] = route{http.MethodPost: s.clearPending}
		}
	}
}

// resetBIOS stages the registry's default of every attribute that can be set.
func (s *system) resetBIOS(req *request) reply {
	defaults := map[string]any{}
	if s.bios.registry != nil {
		for name, a := range s.bios.registry.attributes {
			now, shown := s.bios.current[name]
			if shown && a.Default != nil && a.Default != now && !a.ReadOnly {
				defaults[name] = a.Default
			}
		}
	}
	s.bmc.effect(req, "bios.reset", "", func() { s.bios.pending = defaults })
	return s.bmc.vendor.staged()
}

// clearPending refuses while a job holds the values (its registry: BIOS011), and
// where there are none (BIOS012).
func (s *system) clearPending(req *request) reply {
	switch {
	case s.bios.job != nil:
		return failure(http.StatusBadRequest, "IDRAC.2.5.BIOS011", "Configuration job already created, pending data cannot be deleted.")
	case len(s.bios.pending) == 0:
		return failure(http.StatusBadRequest, "IDRAC.2.5.BIOS012", "No pending data to delete.")
	}
	s.bmc.effect(req, "bios.discard", "", func() { s.bios.pending = map[string]any{} })
	return s.bmc.vendor.changed()
}

// deleteJob is DELETE on a job that waits; one that runs or has ended stays.
func (b *BMC) deleteJob(req *request, t *task) reply {
	if t.state != "Pending" {
		return failure(http.StatusBadRequest, "IDRAC.2.5.JCP027", "The job cannot be deleted in its state.")
	}
	b.effect(req, "task.delete", t.id, func() {
		b.tasks.remove(t)
		for _, s := range b.systems {
			if s.bios != nil && s.bios.job == t {
				s.bios.job = nil
			}
		}
	})
	return noContent()
}
