package burnin

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// serviceEndpoint asks whether the inference service of the order answers on the node.
// The status alone is not believed: any server gives one. Known are lists of models
// (/v1/models, as OpenAI has them) and the KServe protocol (/v2/health/ready).
var serviceEndpoint = Check{
	Name:   "service.endpoint",
	Title:  "The inference service answers as itself",
	Probes: []string{ServiceAnswers.Spec.Name},
	Judge:  judgeServiceEndpoint,
}

func judgeServiceEndpoint(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "service.endpoint"
	want := &p.Service
	part := Part{Class: ClassImage, Name: "service " + want.URL}
	if want.URL == "" {
		part.Name = "service"
		return []Finding{About(check, "ready", part).NotHere("the profile names no service")}
	}
	answers := ReadAny(r, ServiceAnswers, PhaseAfter, PhaseBefore)
	ready, model := About(check, "ready", part, answers.Ref), About(check, "model", part, answers.Ref)
	if len(serviceURLs(want)) == 0 {
		return []Finding{ready.Missing(fmt.Errorf("service.url %q of the profile is no http address", want.URL))}
	}
	if !answers.OK() {
		return []Finding{ready.Missing(answers.Err)}
	}
	answer, ok := answers.Value[want.URL]
	if !ok {
		return []Finding{ready.Missing(fmt.Errorf("the evidence holds no whole answer of %s", want.URL))}
	}
	ready.Measured = answer.Status
	if answer.Status != 200 {
		return []Finding{ready.Judged(Fail, "the service does not answer: "+answer.words())}
	}
	if base, ok := strings.CutSuffix(want.URL, "/v2/health/ready"); ok {
		return inferenceService(ready, model, base, answers.Value, want.Model)
	}
	if !strings.HasSuffix(strings.TrimSuffix(want.URL, "/"), "/v1/models") {
		return []Finding{ready.Missing(fmt.Errorf("what a good answer of %s is, is not known: name …/v1/models or …/v2/health/ready", want.URL))}
	}
	return listedModels(ready, model, answer, want.Model)
}

// words are the status and the first words of an answer.
func (a HTTPAnswer) words() string {
	if a.Status == 0 {
		return "no answer" + firstLine([]byte(a.Body))
	}
	return fmt.Sprintf("status %d%s", a.Status, firstLine([]byte(a.Body)))
}

// listedModels judges a list of models.
func listedModels(ready, model Finding, answer HTTPAnswer, want *profiles.Limit) []Finding {
	var list struct {
		Object string `json:"object"`
		Data   []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal([]byte(answer.Body), &list) != nil || list.Object != "list" {
		return []Finding{ready.Judged(Fail, "what answers is no list of models: "+answer.words())}
	}
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	if len(ids) == 0 {
		return []Finding{ready.Judged(Fail, "the service answers, and serves no model")}
	}
	return append([]Finding{ready.Judged(Pass, plural(len(ids), "model")+" served: "+strings.Join(ids, ", "))}, servedModel(model, ids, want)...)
}

// servedModel judges whether one of the wanted models is served.
func servedModel(f Finding, ids []string, want *profiles.Limit) []Finding {
	if !want.Set() {
		return nil
	}
	f = f.against(want)
	f.Measured, f.Limit = strings.Join(ids, ", "), want.String()
	return []Finding{f.decide(slices.ContainsFunc(want.Text, func(name string) bool { return slices.Contains(ids, name) }))}
}

// inferenceService judges a server of the KServe protocol: its readiness has no body,
// so it must say what it is, and of each model its name.
func inferenceService(ready, model Finding, base string, answers map[string]HTTPAnswer, want *profiles.Limit) []Finding {
	about, ok := answers[base+"/v2"]
	if !ok {
		return []Finding{ready.Missing(fmt.Errorf("the evidence holds no whole answer of %s/v2", base))}
	}
	if about.Status != 200 || jsonName(about.Body) == "" {
		return []Finding{ready.Judged(Fail, "what says that it is ready does not say what it is: "+about.words())}
	}
	out := []Finding{ready.Judged(Pass, jsonName(about.Body)+" is ready")}
	if !want.Set() {
		return out
	}
	var ids []string
	for _, name := range want.Text {
		answer, ok := answers[base+"/v2/models/"+url.PathEscape(name)]
		if !ok {
			return append(out, model.Missing(fmt.Errorf("the evidence holds no whole answer about the model %s", name)))
		}
		if answer.Status == 200 && jsonName(answer.Body) == name {
			ids = append(ids, name)
		}
	}
	return append(out, servedModel(model, ids, want)...)
}

// jsonName is the name that a server gives itself or a model, "" when it gives none.
func jsonName(body string) string {
	var doc struct {
		Name string `json:"name"`
	}
	if json.Unmarshal([]byte(body), &doc) != nil {
		return ""
	}
	return doc.Name
}
