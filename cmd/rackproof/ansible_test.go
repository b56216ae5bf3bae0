package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision/simrack"
)

// restartPlay is what people write who restart a rack from its disks with Ansible.
const restartPlay = `- hosts: all
  connection: local
  gather_facts: false
  module_defaults:
    community.general.redfish_info: &bmc
      baseuri: "{{ bmc }}"
      username: "{{ lookup('env', '` + simrack.EnvUser + `') }}"
      password: "{{ lookup('env', '` + simrack.EnvPassword + `') }}"
      timeout: 30
    community.general.redfish_command: *bmc
  tasks:
    - name: read what it is
      community.general.redfish_info: {category: Systems, command: GetSystemInventory}
    - name: boot from disk once
      community.general.redfish_command: {category: Systems, resource_id: "1", command: SetOneTimeBoot, bootdevice: Hdd}
    - name: restart
      community.general.redfish_command: {category: Systems, resource_id: "1", command: PowerForceRestart}
    - name: wait for power
      community.general.redfish_info: {category: Systems, command: GetSystemInventory}
      register: now
      until: now.redfish_facts.system.entries | selectattr("0.system_uri", "match", ".*/1$") | map(attribute="1.PowerState") | list == ["On"]
      retries: 60
      delay: 1
`

// restartWorkflow is the same, as a workflow of rackproof.
const restartWorkflow = "workflow: {name: restart, steps: [preflight, verify-bmc, boot, leave-image, report]}"

// cost is what a program took, with those that it started.
type cost struct{ wall, cpu time.Duration }

// Ansible's Redfish modules and rackproof restart the machines of a rack from their disks,
// side by side: read what each is, set the boot, restart, wait for power. Both do it once on
// each machine; what it takes is printed.
func TestBesideAnsibleRedfish(t *testing.T) {
	if os.Getenv("RACKPROOF_PROVE") == "" {
		t.Skip("measures time: RACKPROOF_PROVE=1 runs it")
	}
	playbook, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Fatal("needs Ansible (Debian's package ansible): ", err)
	}
	const machines = 30
	theirs := newRestartRun(t, machines).byAnsible(playbook)
	ours := newRestartRun(t, machines).byRackproof()
	wall, cpu := theirs.wall.Seconds()/ours.wall.Seconds(), theirs.cpu.Seconds()/ours.cpu.Seconds()
	t.Logf("measured: %d machines in %.1f s with %.1f s of a processor; Ansible %.1f s with %.1f s: %.1f times as fast, with %.0f times less of a processor",
		machines, ours.wall.Seconds(), ours.cpu.Seconds(), theirs.wall.Seconds(), theirs.cpu.Seconds(), wall, cpu)
	if wall < 1 || cpu < 2 {
		t.Errorf("%.1f times as fast, with %.1f times less of a processor; want at least 1 and 2", wall, cpu)
	}
}

// newRestartRun is a rack of machines without a fault; all are on.
func newRestartRun(t *testing.T, machines int) *killRun {
	t.Helper()
	return newRackRun(t, simrack.Options{Seed: 400, Machines: make([]simrack.MachineSpec, machines)})
}

// each wants every machine to have done an act so many times.
func (k *killRun) each(act string, n int) error {
	for name, acts := range k.rack.Acts() {
		if acts[act] != n {
			return fmt.Errorf("%s: %s happened %d times, want %d", name, act, acts[act], n)
		}
	}
	return nil
}

// restarted checks that every machine was restarted once, with its boot set once.
func (k *killRun) restarted(said string) {
	k.t.Helper()
	k.until("every host is up", patience, func() bool { return k.each("host.boot.disk", 1) == nil })
	for _, act := range []string{"boot.set", "boot.used", "power.reset"} {
		if err := k.each(act, 1); err != nil {
			k.t.Errorf("%v\n%s", err, said)
		}
	}
}

// byAnsible restarts the rack with as many workers as there are machines.
func (k *killRun) byAnsible(playbook string) cost {
	k.t.Helper()
	hosts := map[string]map[string]string{}
	for _, m := range k.rack.Machines() {
		_, port, err := net.SplitHostPort(m.BMC)
		if err != nil {
			k.t.Fatal(err)
		}
		hosts[m.Name] = map[string]string{"bmc": "127.0.0.1:" + port}
	}
	inventory, err := json.Marshal(map[string]any{"all": map[string]any{"hosts": hosts}})
	if err != nil {
		k.t.Fatal(err)
	}
	play, list := filepath.Join(k.dir, "play.yaml"), filepath.Join(k.dir, "inventory.json")
	for file, text := range map[string][]byte{play: []byte(restartPlay), list: inventory} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(k.t.Context(), playbook, "-i", list, "-f", fmt.Sprint(len(hosts)), play)
	cmd.Env = append(os.Environ(), "HOME="+k.dir, "ANSIBLE_LOCAL_TEMP="+filepath.Join(k.dir, "tmp"), "ANSIBLE_NOCOLOR=1")
	for name, value := range k.rack.Credentials() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	began := time.Now()
	said, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		k.t.Fatalf("ansible-playbook: %v\n%.4000s", err, said)
	}
	k.restarted(string(said))
	return cost{took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// byRackproof restarts the rack by a run, as many machines at once.
func (k *killRun) byRackproof() cost {
	k.t.Helper()
	batch, err := os.ReadFile(k.batch())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"workflow: qualify", restartWorkflow},
		{"method: uefi-http", "method: disk"},
		{"parallel: 16", fmt.Sprintf("parallel: %d", len(k.rack.Machines()))},
	} {
		if !bytes.Contains(batch, []byte(change[0])) {
			k.t.Fatalf("the batch has no %q", change[0])
		}
		batch = bytes.Replace(batch, []byte(change[0]), []byte(change[1]), 1)
	}
	if err := os.WriteFile(k.batch(), batch, 0o600); err != nil {
		k.t.Fatal(err)
	}
	began := time.Now()
	p := k.start("run", "-f", k.batch())
	code := p.wait()
	took := time.Since(began)
	// Nothing was burned in, so nothing is proven of the hardware.
	if said := p.out.String(); code != exitIncomplete || strings.Contains(said, "STUCK") {
		k.t.Fatalf("exit %d, want %d\n%s", code, exitIncomplete, said)
	}
	k.restarted(p.out.String())
	return cost{took, p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()}
}
