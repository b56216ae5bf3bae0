package redfishtest

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Fault documents one fault. Every fault imitates something reported or
// captured; Quirk is its number in the project's list of field quirks, 0 where
// the fault is a failure of the network or of a power loss.
type Fault struct {
	Name    string
	Doc     string // one line: what the BMC does
	Value   string // what VALUE means; "" when it takes none
	Default string // VALUE when none is given
	Quirk   int
	Seen    string // model or firmware it was seen on
}

// Faults is the catalogue, in the order of the field list: transport, session,
// JSON, power, boot, BIOS, jobs, preconditions, virtual media, logs and events.
func Faults() []Fault {
	return slices.Concat(catalogue, mediaCatalogue, logCatalogue, networkCatalogue)
}

// FaultNames lists the names of [Faults].
func FaultNames() []string {
	var names []string
	for _, f := range Faults() {
		names = append(names, f.Name)
	}
	return names
}

func findFault(name string) (Fault, bool) {
	for _, f := range Faults() {
		if f.Name == name {
			return f, true
		}
	}
	return Fault{}, false
}

// check refuses a value that the fault could not act on.
func (f Fault) check(on *fault) error {
	switch f.Value {
	case "":
		if on.value != "" {
			return fmt.Errorf("takes no value")
		}
	case everyNth, everyNumber:
		if n, err := strconv.Atoi(on.value); err != nil || n < 1 {
			return fmt.Errorf("value %q must be a number above 0", on.value)
		}
	case seconds:
		if _, err := strconv.Atoi(on.value); err != nil {
			return fmt.Errorf("value %q must be a number of seconds", on.value)
		}
	case duration:
		if d, err := time.ParseDuration(on.value); err != nil || d < 0 {
			return fmt.Errorf("value %q must be a duration such as 200ms", on.value)
		}
	}
	return nil
}

// Kinds of value.
const (
	everyNth    = "N: every Nth"
	everyNumber = "N"
	seconds     = "seconds, negative for late"
	duration    = "how long, as 200ms"
	actName     = "act or beginning of its name, as power.on; none: any act but those of sessions"
	uriStart    = "beginning of the URI; none: every URI"
	bootTarget  = "target of the boot override"
	oneURI      = "URI of the resource; none: the first DIMM"
)

var catalogue = []Fault{
	{
		Name: "reset-connection", Value: everyNth, Default: "5", Quirk: 80, Seen: "web server restarts; dead keep-alive",
		Doc: "the TCP connection is reset before the request is looked at",
	},
	{
		Name: "lost-response", Value: actName, Seen: "network lost, BMC restarts",
		Doc: "the act takes effect, the connection closes without an answer",
	},
	{
		Name: "hang-after", Value: actName, Seen: "BMC that stalls while it acts",
		Doc: "the act takes effect, the answer never comes",
	},
	{
		Name: "lost-effect", Value: actName, Quirk: 48, Seen: "iLO on Gen9",
		Doc: "answered as done, nothing happens",
	},
	{
		Name: "slow", Value: duration, Default: "500ms", Quirk: 82, Seen: "viking log entries take 21 s",
		Doc: "every answer takes longer",
	},
	{
		Name: "hang", Value: uriStart, Seen: "BMC whose web server is stuck",
		Doc: "no answer and no effect until the client gives up",
	},
	{
		Name: "sick", Value: uriStart, Default: "/redfish/v1/Systems/", Seen: "services of a BMC that die while its web server lives",
		Doc: "500 for what lies there, until the BMC is reset",
	},
	{
		Name: "sick-for-good", Value: uriStart, Default: "/redfish/v1/Systems/", Seen: "BMC whose flash is worn",
		Doc: "500 for what lies there, and when the BMC is reset it does not come back",
	},
	{
		Name: "not-ready", Quirk: 81, Seen: "iDRAC 400 SWC0700, others 503",
		Doc: "the service is starting; give it *TIMES",
	},
	{
		Name: "expand-ignored", Value: uriStart, Seen: "sailfish 19",
		Doc: "$expand is declared, and a collection answers with links all the same",
	},
	{
		Name: "expand-refused", Value: uriStart, Seen: "IBM bmcweb 962, Fujitsu iRMC (check_redfish 20)",
		Doc: "$expand is declared and refused on a resource: 400 QueryNotSupportedOnResource",
	},
	{
		Name: "html-error", Quirk: 81, Seen: "504 with a page of HTML",
		Doc: "the reverse proxy answers instead of the service",
	},
	{
		Name: "gzip-always", Quirk: 77, Seen: "iLO 5 from 2.30",
		Doc: "bodies are gzipped whether asked for or not",
	},
	{
		Name: "gzip-required", Quirk: 77, Seen: "iLO 5 from 2.30",
		Doc: "a request that does not take gzip is refused: 406",
	},

	{
		Name: "session-limit", Quirk: 72, Seen: "iDRAC RAC0218",
		Doc: "no session can be opened: 503",
	},
	{
		Name: "session-expires", Quirk: 73, Seen: "Supermicro after 300 s",
		Doc: "the session of the next request that shows a token is gone: 401 with HTML",
	},
	{
		Name: "session-expires-cut", Quirk: 73, Seen: "check_redfish 90",
		Doc: "as session-expires, and the connection ends in the middle of the chunked page",
	},
	{
		Name: "login-forbidden", Quirk: 74, Seen: "libredfish: 403 with a page of HTML",
		Doc: "a login is refused with 403 and HTML that gives no reason",
	},
	{
		Name: "auth-fails", Seen: "wrong tag password",
		Doc: "every credential is refused: 401",
	},
	{
		Name: "lockout", Value: everyNth, Default: "3", Seen: "SYS-821GE-TNHR locks after 3",
		Doc: "after N refused logins the right password is refused too, as long as the AccountService says",
	},
	{
		Name: "basic-refused", Quirk: 76, Seen: "POST to Sessions with a Basic header",
		Doc: "opening a session with a Basic header beside the body is refused: 401",
	},
	{
		Name: "password-change-required", Quirk: 74, Seen: "OpenBMC, Supermicro on delivery",
		Doc: "403 PasswordChangeRequired until the account's password is set",
	},

	{
		Name: "na-numbers", Quirk: 1, Seen: "Cisco CIMC, Dell on AMI",
		Doc: "numbers are \"N/A\" or \"\", MemberId is a number",
	},
	{
		Name: "string-numbers", Quirk: 8, Seen: "DGX H100",
		Doc: "numbers are strings",
	},
	{
		Name: "empty-arrays-for-objects", Quirk: 4, Seen: "NVIDIA HGX, ASRockRack B650D4U",
		Doc: "optional objects are [], PartLocation is a list",
	},
	{
		Name: "missing-status", Quirk: 9, Seen: "Gigabyte, ASUS power supplies",
		Doc: "resources below systems and chassis have no Status",
	},
	{
		Name: "null-attributes", Quirk: 17, Seen: "IBM on bmcweb",
		Doc: "Bios.Attributes is null",
	},
	{
		Name: "invalid-json", Value: oneURI, Quirk: 7, Seen: "Lenovo XCC metric report",
		Doc: "one resource has a trailing comma",
	},

	{
		Name: "power-stuck", Quirk: 68, Seen: "DGX H100: IPMI says done, chassis did not change",
		Doc: "a reset is accepted and the power state stays",
	},
	{
		Name: "graceful-stuck", Quirk: 67, Seen: "host in PXE, no operating system listens",
		Doc: "graceful resets are accepted and never happen; forced ones do",
	},
	{
		Name: "stale-power", Quirk: 68, Seen: "bmcweb, HPE",
		Doc: "the old power state is shown until the new one is reached",
	},

	{
		Name: "patch-ignored", Quirk: 20, Seen: "AS-1015CS-TNR-EU on AMI",
		Doc: "a PATCH is answered 200 and not applied",
	},
	{
		Name: "boot-ignored", Quirk: 20, Seen: "AS-1015CS-TNR-EU on AMI",
		Doc: "a PATCH of Boot is answered 200 and not applied",
	},
	{
		Name: "boot-once-ignored", Quirk: 37, Seen: "Supermicro with virtual CD",
		Doc: "the override is shown but the machine boots its own order; it is used up",
	},
	{
		Name: "boot-sticky", Quirk: 37, Seen: "Supermicro with virtual CD",
		Doc: "Once is not used up: every boot takes it again",
	},
	{
		Name: "mode-required", Quirk: 23, Seen: "boot override without Mode: 400",
		Doc: "a PATCH of Boot without BootSourceOverrideMode is refused",
	},
	{
		Name: "mode-dropped", Quirk: 21, Seen: "Supermicro",
		Doc: "a PATCH of Boot without BootSourceOverrideMode sets Legacy",
	},
	{
		Name: "mode-refused", Quirk: 22, Seen: "HPE Gen10 iLO5 2.30",
		Doc: "a PATCH of Boot with BootSourceOverrideMode is refused as read-only",
	},
	{
		Name: "boot-future-state", Quirk: 31, Seen: "ASRock on AMI",
		Doc: "Boot can be set on the system's settings object only",
	},
	{
		Name: "post-locked", Quirk: 33, Seen: "iLO 2.37",
		Doc: "nothing can be patched during POST: 400",
	},
	{
		Name: "uri-refused", Quirk: 27, Seen: "DL380a Gen11, iLO6 1.58 and 1.72",
		Doc: "HttpBootUri is shown, and refused as not writable or unknown",
	},
	{
		Name: "target-refused", Value: bootTarget, Default: "Pxe", Quirk: 27, Seen: "DL380a Gen11, iLO6 1.58 and 1.72",
		Doc: "a target of the override is listed, and refused as an unsupported operation",
	},
	{
		Name: "lockdown", Quirk: 38, Seen: "ARS-121L-DNR, iDRAC System Lockdown, iLO server configuration lock",
		Doc: "the BMC shows that it is locked down, and refuses every PATCH and every job",
	},
	{
		Name: "error-but-applied", Quirk: 35, Seen: "Dell 13G",
		Doc: "a PATCH of Boot is applied and answered 400",
	},

	{
		Name: "bios-ignored", Quirk: 48, Seen: "iLO",
		Doc: "a PATCH of BIOS attributes is answered as done and not staged",
	},
	{
		Name: "bios-rounds", Seen: "iDRAC SYS410: read-only and depends on other attributes",
		Doc: "a value is judged by those in force: what another of the same PATCH unlocks is refused",
	},
	{
		Name: "bios-drops", Quirk: 48, Seen: "iLO: settings of a workload profile",
		Doc: "a value that one in force locks is taken, and dropped in POST",
	},
	{
		Name: "bios-early", Quirk: 42, Seen: "iDRAC",
		Doc: "staged values are shown as current at once, before they are",
	},
	{
		Name: "apply-time-refused", Quirk: 39, Seen: "AS-1114S-WN10RT-EU",
		Doc: "SettingsApplyTime is an unknown property even where it is declared",
	},
	{
		Name: "bios-task", Quirk: 71, Seen: "several; location in header or body",
		Doc: "a PATCH of BIOS attributes makes a task (202), as Dell always does",
	},
	{
		Name: "location-in-body", Quirk: 71, Seen: "gofish 494, 495",
		Doc: "a 202 names its task in the body only",
	},
	{
		Name: "task-vanishes", Quirk: 69, Seen: "iLO TaskMonitors",
		Doc: "a task is 404 after it was read once; its work is done all the same",
	},
	{
		Name: "task-completed-critical", Quirk: 70, Seen: "iDRAC JCP052",
		Doc: "a task of BIOS or firmware ends Completed, 100 %, Critical, and nothing was applied",
	},

	{
		Name: "etag-required", Quirk: 51, Seen: "Lenovo SR655 on AMI, Gigabyte",
		Doc: "a PATCH without If-Match is refused: 428",
	},
	{
		Name: "etag-refused", Quirk: 52, Seen: "Lenovo XCC",
		Doc: "a PATCH with If-Match other than * is refused: 412",
	},
	{
		Name: "etag-weak-refused", Quirk: 43, Seen: "Gigabyte",
		Doc: "a PATCH whose If-Match begins with W/ is refused: 412",
	},
	{
		Name: "etag-gzip", Quirk: 30, Seen: "iDRAC10 R470",
		Doc: "ETags end in -gzip, and are refused in that form",
	},
	{
		Name: "etag-refused-on-post", Quirk: 52, Seen: "iDRAC10 R470",
		Doc: "an action with If-Match is refused: 412",
	},
}
