package provision

import "time"

// Workflows lists what rackproof can carry out.
func Workflows() []Workflow { return []Workflow{Qualify()} }

// Qualify takes a machine from its BMC to a test record. Steps before boot speak
// with the BMC alone; handover puts the machine back as it was found.
func Qualify() Workflow {
	return Workflow{Name: "qualify", Steps: []StepInfo{
		{Step: preflight{}, Timeout: 5 * time.Minute, Tries: 2},                   // can it be done at all
		{Step: verifyBMC{}, Timeout: 15 * time.Minute, Tries: 3},                  // is it the machine that the batch means
		{Step: bmcNetwork{}, Timeout: 45 * time.Minute, Tries: 2, Canary: true},   // only where the batch asks for it
		{Step: firmwareUpdate{}, Timeout: 3 * time.Hour, Tries: 1, Canary: true},  // only where the batch asks for it
		{Step: biosSettings{}, Timeout: 45 * time.Minute, Tries: 2, Canary: true}, // settings for the test
		{Step: boot{}, Timeout: 30 * time.Minute, Tries: 2},                       // the live image, or the installed system
		{Step: waitSSH{}, Timeout: 30 * time.Minute, Tries: 2},                    // is the host that answers this machine
		{Step: burnIn{}, Timeout: 14 * 24 * time.Hour, Tries: 3, Loads: true},     // measure
		{Step: rebootCycle{}, Timeout: 3 * 24 * time.Hour, Tries: 3},              // only where spec or batch asks for it
		{Step: handover{}, Timeout: 45 * time.Minute, Tries: 2},                   // as it was found
		{Step: report{}, Timeout: 10 * time.Minute, Tries: 2, Always: true},       // judge
	}}
}
