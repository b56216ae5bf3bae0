package lab

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/rackproof/rackproof/provision"
)

// The hardware profile of the lab's machines, and the acceptance spec that goes
// with it, of rackproof's own library.
const (
	ProfileName = "lab-vm"
	SpecName    = "lab"
)

// Credentials are the environment variables that a batch of the lab refers to.
func Credentials() []string {
	return []string{"LAB_BMC_USER=" + BMCUser, "LAB_BMC_PASSWORD=" + BMCPassword}
}

// BatchOptions say how rackproof is to treat the machines of the lab.
type BatchOptions struct {
	Name     string // of the run
	Protocol provision.Protocol
	Method   provision.BootMethod // "" = BootAuto
	Load     string               // how long the machines are kept busy, "20 s"
	Machines []string             // nil = all
	Console  bool                 // keep what the hosts write to their serial consoles
	Apart    bool                 // each in a rack of its own, so that they are loaded side by side
}

var batchTemplate = template.Must(template.New("batch").Parse(`name: {{.Name}}
profile: {{.Profile}}
spec: {{.Spec}}
defaults:
  bmc: {user: env:LAB_BMC_USER, password: env:LAB_BMC_PASSWORD, {{if not .Protocol.IPMI}}tls: pin, {{end}}protocol: {{.Protocol}}}
  ssh: {user: root, key: "file:{{.Dir}}/{{.Key}}"}
  boot: {image: {{.Image}}, method: {{.Method}}{{if .Console}}, console: true{{end}}}
netboot: {listen: "{{.Listen}}", images: "{{.Images}}"}
limits: {load: {{.Load}}}
machines:
{{- range .Machines}}
  - {name: {{.Name}}, bmc: {{.BMC}}, serial: {{.Serial}}, mac: "{{.MAC}}"{{if $.Apart}}, rack: {{.Name}}{{end}}, host: {{.Host}}, expect: {gpus: {{.GPUs}}}}
{{- end}}
`))

// Batch is a batch file of the lab's machines, to be carried by a rackproof inside
// the lab's network with Credentials in its environment.
func (s Status) Batch(o BatchOptions) ([]byte, error) {
	if s.Netboot {
		return nil, usagef("the lab serves its image itself (up --netboot), so rackproof cannot; end it with `rackproof-lab down` first")
	}
	if o.Method == "" {
		o.Method = provision.BootAuto
	}
	machines := slices.DeleteFunc(slices.Clone(s.Machines), func(m MachineStatus) bool {
		return o.Machines != nil && !slices.Contains(o.Machines, m.Name)
	})
	var b bytes.Buffer
	err := batchTemplate.Execute(&b, map[string]any{
		"Name": o.Name, "Profile": ProfileName, "Spec": SpecName, "Protocol": o.Protocol, "Dir": s.Dir, "Machines": machines, "Key": HostKeyFile, "Load": o.Load,
		"Method": o.Method, "Image": filepath.Base(s.Image), "Images": filepath.Dir(s.Image), "Listen": netbootAddress, "Console": o.Console, "Apart": o.Apart,
	})
	if err != nil {
		return nil, fmt.Errorf("batch of the lab: %w", err)
	}
	return b.Bytes(), nil
}
