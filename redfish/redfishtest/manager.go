package redfishtest

import (
	"net/http"
	"slices"
)

// discoverManagers lets managers restart.
func (b *BMC) discoverManagers(root map[string]any) {
	for _, uri := range b.membersOf(link(root, "Managers")) {
		object, err := b.store.object(uri)
		if err != nil {
			continue
		}
		if target := canonical(text(object, "Actions", "#Manager.Reset", "target")); target != "" {
			b.routes[target] = route{http.MethodPost: b.resetManager}
		}
	}
}

// resetManager is POST …/Actions/Manager.Reset. Some BMCs take it without a type.
func (b *BMC) resetManager(req *request) reply {
	kind := text(req.body, "ResetType")
	if kind != "" && !slices.Contains([]string{"GracefulRestart", "ForceRestart"}, kind) {
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterValueNotInList",
			"ResetType "+kind+" is not allowed.", kind, "ResetType", "Manager.Reset")
	}
	b.effect(req, "bmc.reset", kind, func() { b.spawn(b.restart) })
	return noContent()
}

// restart takes the BMC away for its time; sessions and event streams are gone
// then, its own new firmware runs.
func (b *BMC) restart() {
	b.mu.Lock()
	b.away = true
	for token := range b.sessions.open {
		b.expire(token)
	}
	for stream := range b.events.streams {
		close(stream)
		delete(b.events.streams, stream)
	}
	b.mu.Unlock()
	back := wait(b.ctx, b.opts.ManagerDelay)
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, dead := b.faults["sick-for-good"]; dead {
		return
	}
	delete(b.faults, "sick")
	if back {
		b.activate(ActivateBMC)
		b.away = false
	}
}
