package burnin

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// Profiles are read once for all tests: the catalogue that each carries is long.
var (
	shippedLibrary = sync.OnceValue(func() *profiles.Library { return profiles.Open() })
	readProfiles   sync.Map // by name, func() (*profiles.Profile, error)
)

// gpuProfile loads a profile that ships, or one of testdata/profiles. The caller may set
// fields of it, and must not write into its maps.
func gpuProfile(tb testing.TB, name string) *profiles.Profile {
	tb.Helper()
	read, _ := readProfiles.LoadOrStore(name, sync.OnceValues(func() (*profiles.Profile, error) { return readProfile(name) }))
	p, err := read.(func() (*profiles.Profile, error))()
	if err != nil {
		tb.Fatal(err)
	}
	own := *p
	return &own
}

func readProfile(name string) (*profiles.Profile, error) {
	file := filepath.Join("testdata", "profiles", name+".yaml")
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return shippedLibrary().Profile(name)
	}
	if err != nil {
		return nil, err
	}
	return profiles.ParseProfile(file, b, shippedLibrary())
}
