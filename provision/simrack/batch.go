package simrack

import (
	"bytes"
	_ "embed"
	"text/template"
)

//go:embed batch.yaml.tmpl
var batchText string

var batchTemplate = template.Must(template.New("batch").Parse(batchText))

// Image is the image that a simulated machine boots: netboot serves its script and
// seed, and nothing else.
const Image = "simulated"

// BatchYAML is a batch file for the whole rack. Its credentials are references to
// the variables of Credentials, so it can be stored and shown.
func (r *Rack) BatchYAML(name string) []byte {
	machines := r.Machines()
	if name == "" {
		name = "simulated"
	}
	racks := map[string]bool{}
	for _, m := range machines {
		racks[m.Rack] = true
	}
	var b bytes.Buffer
	err := batchTemplate.Execute(&b, map[string]any{
		"Name": name, "Profile": machines[0].Profile, "Machines": machines, "Racks": racks, "Image": Image,
		"User": EnvUser, "Password": EnvPassword, "Key": EnvKey, "KW": 11 * perRack, "Load": r.load, "Boots": r.boots.addr,
	})
	if err != nil { // the template is ours and has no other input
		panic(err)
	}
	return b.Bytes()
}
