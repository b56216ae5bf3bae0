package redfish

import "sync"

// registryCache keeps a registry for the life of a client: it is large, and it
// changes only with the BIOS version.
type registryCache struct {
	mu     sync.Mutex
	byName map[string]registry
}

func (r *registryCache) find(name string) (registry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reg, ok := r.byName[name]
	return reg, ok
}

func (r *registryCache) add(name string, reg registry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName == nil {
		r.byName = map[string]registry{}
	}
	r.byName[name] = reg
}
