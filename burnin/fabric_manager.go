package burnin

import (
	"errors"
	"regexp"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// FabricManager is the version of the service that sets up NVSwitches. It must be
// that of the driver, to the last digit. Whether it did its work is told by the
// fabric state of nvidia-smi -q, so a node without it proves that way.
var FabricManager = Probe[FabricService]{
	Spec: ProbeSpec{
		Name: "fabric-manager",
		Command: func(p *profiles.Profile) string {
			if p != nil && !p.NVLink.Fabric.State.Set() {
				return ""
			}
			return "nv-fabricmanager --version"
		},
		Phases:   []Phase{PhaseBefore},
		Tool:     "nv-fabricmanager",
		AnyExit:  true,
		Deadline: 20 * time.Second,
	},
	Parse: parseFabricManager,
}

// FabricService is what nv-fabricmanager said of itself.
type FabricService struct{ Version string }

var fabricVersion = regexp.MustCompile(`(?i)version\s*(?:is)?\s*:?\s*(\d+(?:\.\d+)+)`)

func parseFabricManager(e *Evidence) (FabricService, error) {
	body, whole := e.Body()
	m := fabricVersion.FindSubmatch(body)
	if m == nil || !whole && e.wrapped() {
		return FabricService{}, errors.New("nv-fabricmanager prints no version")
	}
	return FabricService{Version: string(m[1])}, nil
}
