package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// dcgmDiag runs NVIDIA's diagnostic at the profile's level; the shortest one where it
// states none. dcgmi only asks the host engine: where none answers, one is started for as
// long as the diagnostic takes. It listens at a socket in the unit's folder, so that it is
// nobody else's, and one that runs already is used as it is.
func dcgmDiag(p *profiles.Profile, d time.Duration) string {
	level := 1
	if l := p.GPU.DCGM.Level; l.Set() {
		level = int(l.Number(profiles.Count))
	}
	return dcgmEngineScript + fmt.Sprintf(`timeout -k 10 %d dcgmi diag "$@" -r %d -j`, seconds(d), level)
}

// dcgmEngineScript leaves in "$@" how the host engine is reached: nothing for the node's
// own. Options as in the reference of nv-hostengine and dcgmi (docs.nvidia.com, DCGM); in
// the foreground it stays in the unit's session, which ends with the unit.
const dcgmEngineScript = `none() { # why
	echo "` + noHostEngine + `: $1" >&2
	cat engine.out >&2 2>/dev/null
	exit 1
}
set --
if timeout -k 5 30 dcgmi discovery -l 2>&1 | grep -qi 'unable to .*connect'; then
	command -v nv-hostengine >/dev/null 2>&1 || none "nv-hostengine is not on the node"
	set -- --host "unix://$PWD/engine.sock"
	nv-hostengine --no-daemon --domain-socket "$PWD/engine.sock" --pid "$PWD/engine.pid" --log-filename "$PWD/engine.log" >engine.out 2>&1 &
	engine=$!
	trap 'kill "$engine" 2>/dev/null && { sleep 2; kill -9 "$engine" 2>/dev/null; }' EXIT
	trap 'exit 143' TERM INT
	n=0
	until timeout -k 5 30 dcgmi discovery "$@" -l >/dev/null 2>&1; do
		n=$((n + 1))
		kill -0 "$engine" 2>/dev/null || none "one that was started ended at once"
		[ "$n" -lt 30 ] || none "one that was started does not answer"
		sleep 1
	done
fi
`

// noHostEngine is what the load dcgm prints where it has no host engine.
const noHostEngine = "#dcgm no host engine"

// engineUnreached is what dcgmi says, in the output or in its JSON, where no host engine
// answers (DCGM's dcgmi, Command.cpp).
var engineUnreached = regexp.MustCompile(`(?i)unable to (?:establish a connection|connect to host engine)[^"\n]*`)

// engineMissing says that no host engine answered, and what to start; nil where the
// output does not tell that.
func engineMissing(said string) error {
	why := engineUnreached.FindString(said)
	if _, ours, ok := strings.Cut(said, noHostEngine+": "); ok {
		why, _, _ = strings.Cut(ours, "\n")
	}
	if why == "" {
		return nil
	}
	return errors.New("dcgm: no host engine answers (" + strings.TrimSpace(why) + "): start it on the node with `systemctl start nvidia-dcgm`, which " + packages["dcgmi"] + " brings, then run again")
}
