package burnin

// ReportSchema names the JSON form shared by judge, burnin, run and report.
const ReportSchema = "rackproof/report/1"

// Result is that of a machine. Acceptance is the customer's word and no result.
type Result string

// Results of a machine.
const (
	Passed               Result = "passed"
	PassedWithDeviations Result = "passed_with_deviations"
	Failed               Result = "failed"
	Incomplete           Result = "incomplete"
)

// Judgement is all findings of one machine and what they add up to.
type Judgement struct {
	Schema    string       `json:"schema"`
	Profile   Named        `json:"profile"`
	Spec      Named        `json:"spec"`
	Coverage  Coverage     `json:"coverage"`
	Result    Result       `json:"result"`
	Line      string       `json:"line"`          // first line for people, at most 100 characters
	Run       string       `json:"run,omitempty"` // in which it can be retested; "" for burnin, capture and loose files
	Machine   MachineLine  `json:"machine"`
	Findings  []Finding    `json:"findings"`
	NotRun    []NotRun     `json:"not_run"`
	Compare   *Compare     `json:"compare,omitempty"` // by what rule parts were compared with their siblings
	Loads     []LoadTime   `json:"loads"`             // what kept the machine busy
	Boots     []Boot       `json:"boots,omitempty"`   // reboot cycles
	Erasures  *Erasures    `json:"erasures,omitempty"`
	NotTested []string     `json:"not_tested"` // what the spec leaves out of scope, and checks that do not exist yet
	Evidence  []EvidenceID `json:"evidence"`
	Simulated bool         `json:"simulated,omitempty"`
	StandIn   bool         `json:"stand_in,omitempty"`
}

// LoadTime is a load that ran, and for how long. Whole is false when it was cut or
// ended with an error.
type LoadTime struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Whole   bool    `json:"whole"`
}

// Named is a profile or spec by name and hash of its resolved bytes.
type Named struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// MachineLine names the machine judged.
type MachineLine struct {
	Name     string   `json:"name"`
	Rack     string   `json:"rack,omitempty"`
	U        int      `json:"u,omitempty"`
	Attempt  int      `json:"attempt,omitempty"`
	Identity Identity `json:"identity"`
}

// Identity is a set: only like is compared with like. Blank where not known.
type Identity struct {
	Manufacturer  string   `json:"manufacturer,omitempty"`
	Model         string   `json:"model,omitempty"`
	UUID          string   `json:"uuid,omitempty"`
	SystemSerial  string   `json:"system_serial,omitempty"`
	ChassisSerial string   `json:"chassis_serial,omitempty"`
	BoardSerial   string   `json:"board_serial,omitempty"`
	ServiceTag    string   `json:"service_tag,omitempty"`
	SKU           string   `json:"sku,omitempty"`
	BMCMAC        string   `json:"bmc_mac,omitempty"`
	NICMACs       []string `json:"nic_macs,omitempty"`
}

// EvidenceID is one evidence file of the record by its hash.
type EvidenceID struct {
	Ref     string  `json:"ref"`
	Command string  `json:"command"`
	Ended   Ended   `json:"ended"`
	Exit    *int    `json:"exit"`
	Seconds float64 `json:"seconds"`
	Started string  `json:"started,omitempty"`
	SHA256  string  `json:"sha256"`
	StandIn bool    `json:"stand_in,omitempty"` // printed by a stand-in for the real tool
}

// ExitCode is the process exit status for a result: 0 passed, 3 failed, 4
// incomplete.
func (r Result) ExitCode() int {
	switch r {
	case Passed, PassedWithDeviations:
		return 0
	case Failed:
		return 3
	default:
		return 4
	}
}
