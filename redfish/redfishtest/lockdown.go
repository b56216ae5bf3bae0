package redfishtest

import (
	"net/http"
	"strings"
)

// discoverLockdown finds where the tree shows a lockdown: Supermicro's SysLockdown,
// iDRAC's attributes, iLO's server configuration lock.
func (b *BMC) discoverLockdown() {
	shows := map[string]func(object map[string]any){
		"/SysLockdown": func(object map[string]any) { object["SysLockdownEnabled"] = true },
		"/DellAttributes/iDRAC.Embedded.1": func(object map[string]any) {
			if attributes, ok := object["Attributes"].(map[string]any); ok {
				attributes["Lockdown.1.SystemLockdown"] = "Enabled"
			}
		},
		"/serverconfiglock": func(object map[string]any) { object["ServerConfigLockState"] = "Enabled" },
	}
	for uri := range b.store.base {
		for end, show := range shows {
			if !strings.HasSuffix(uri, end) || strings.Contains(uri, "/JsonSchemas/") {
				continue
			}
			b.overlays[uri] = func(object map[string]any) {
				if _, locked := b.faults["lockdown"]; locked {
					show(object)
				}
			}
		}
	}
}

// lockedDown refuses what changes the configuration; power and sessions stay free.
func (b *BMC) lockedDown(req *request) (reply, bool) {
	change := req.method == http.MethodPatch || req.method == http.MethodPost && strings.HasSuffix(req.key, "/Jobs")
	if !change || !b.faults.fireOn("lockdown", "") {
		return reply{}, false
	}
	if b.vendor == dell {
		return failure(http.StatusForbidden, "IDRAC.2.5.SYS406", "Unable to start the configuration operation because the System Lockdown mode is enabled."), true
	}
	if b.vendor == hpe {
		return failure(http.StatusBadRequest, "iLO.2.15.ServerConfigurationLockEnabled", "Server Configuration Lock is enabled."), true
	}
	return failure(http.StatusForbidden, "SMC.1.0.OemSystemLockdownEnabled", "System is in lockdown mode. This action is forbidden."), true
}
