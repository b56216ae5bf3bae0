package burnin

import (
	"slices"
	"sync"

	"github.com/rackproof/rackproof/profiles"
)

// partLists keeps the parts of one kind that a record shows, by the profile that names
// them: nearly every check asks for them. Its zero value is empty. Safe for concurrent use.
type partLists[T any] struct {
	mu    sync.Mutex
	known map[*profiles.Profile][]T
}

// of returns the list for a profile, made by list when it is asked for first. The slice
// is the caller's own.
func (l *partLists[T]) of(p *profiles.Profile, list func() []T) []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	parts, ok := l.known[p]
	if !ok {
		parts = list()
		if l.known == nil {
			l.known = map[*profiles.Profile][]T{}
		}
		l.known[p] = parts
	}
	return slices.Clone(parts)
}
