package redfishtest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const applyTimeKey = "@Redfish.SettingsApplyTime"

// bios holds the attributes of one system, current and staged.
type bios struct {
	uri, settings string // as linked; settings "" where the tree has none
	current       map[string]any
	pending       map[string]any
	full          bool     // the settings object shows all attributes (AMI, iLO, XCC), not only the staged
	applyTimes    []string // declared in the tree; empty: none may be sent
	registry      *registry
	job           *task // what will apply the staged values, where the vendor makes jobs
}

func (s *system) discoverBIOS(object map[string]any) error {
	uri := canonical(link(object, "Bios"))
	if uri == "" {
		return nil
	}
	if _, ok := s.bmc.store.find(uri); !ok {
		return nil // some BMCs link to nothing; then there is no BIOS to set
	}
	body, err := s.bmc.store.object(uri)
	if err != nil {
		return err
	}
	bi := &bios{
		uri: uri, current: map[string]any{}, pending: map[string]any{},
		settings:   canonical(link(body, "@Redfish.Settings", "SettingsObject")),
		applyTimes: stringsOf(at(body, "@Redfish.Settings", "SupportedApplyTimes")),
	}
	if _, there := s.bmc.store.find(uri + "/SD"); bi.settings == "" && there {
		bi.settings = uri + "/SD" // Gigabyte links to none and serves it
	}
	if attributes, ok := body["Attributes"].(map[string]any); ok {
		bi.current = attributes
	}
	bi.registry = s.bmc.findRegistry(text(body, "AttributeRegistry"))
	s.bios = bi
	s.bmc.overlays[uri] = s.overlayBIOS
	if _, ok := s.bmc.store.find(bi.settings); !ok || bi.settings == "" {
		return nil
	}
	settings, err := s.bmc.store.object(bi.settings)
	if err != nil {
		return err
	}
	attributes, _ := settings["Attributes"].(map[string]any)
	bi.full = len(attributes) > 0
	s.bmc.overlays[bi.settings] = s.overlayPending
	s.bmc.routes[bi.settings] = route{http.MethodPatch: s.stageBIOS}
	s.discoverBIOSActions(body, settings)
	return nil
}

func (s *system) overlayBIOS(object map[string]any) {
	if _, null := s.bmc.faults["null-attributes"]; null {
		object["Attributes"] = nil
		return
	}
	shown := maps.Clone(s.bios.current)
	if _, early := s.bmc.faults["bios-early"]; early {
		maps.Copy(shown, s.bios.pending)
	}
	object["Attributes"] = shown
}

func (s *system) overlayPending(object map[string]any) {
	shown := map[string]any{}
	if s.bios.full {
		maps.Copy(shown, s.bios.current)
	}
	maps.Copy(shown, s.bios.pending)
	object["Attributes"] = shown
}

// stageBIOS is PATCH on the BIOS settings object. Either all attributes are
// taken or none.
func (s *system) stageBIOS(req *request) reply {
	attributes, problems := s.checkBIOS(req.body)
	if len(problems) > 0 {
		return failures(http.StatusBadRequest, problems...)
	}
	makesJob := s.makesJob(req.body)
	if s.bios.job != nil {
		if sameValues(attributes, s.bios.pending) {
			return s.bmc.vendor.staged() // newer iDRAC: no second job for what is pending (FIELD-QUIRKS 41)
		}
		return alreadyCommitted()
	}
	names := strings.Join(slices.Sorted(maps.Keys(attributes)), ",")
	s.bmc.effect(req, "bios.stage", names, func() { maps.Copy(s.bios.pending, attributes) })
	if !makesJob {
		return s.bmc.vendor.staged()
	}
	return s.bmc.accepted(s.newJob(req))
}

// makesJob: iDRAC makes one when an apply time is sent, and applies nothing
// without (FIELD-QUIRKS 40).
func (s *system) makesJob(body map[string]any) bool {
	if s.bmc.vendor == dell {
		return body[applyTimeKey] != nil
	}
	_, on := s.bmc.faults.fire("bios-task")
	return on
}

func (s *system) newJob(req *request) *task {
	t := s.bmc.tasks.add(s.bmc, req, "Configure: BIOS.Setup.1-1", waitsForReset)
	if slices.Contains(req.acts, "task.create") {
		s.bios.job = t
	}
	return t
}

func alreadyCommitted() reply { // FIELD-QUIRKS 41
	return failure(http.StatusBadRequest, "IDRAC.2.5.SYS011",
		"Pending configuration values are already committed; wait for the job.")
}

// checkBIOS returns the attributes to stage, or what is wrong with them.
func (s *system) checkBIOS(body map[string]any) (map[string]any, []message) {
	var problems []message
	add := func(kind, name string, value any) { problems = append(problems, propertyProblem(kind, name, value)) }
	for _, name := range slices.Sorted(maps.Keys(body)) {
		switch name {
		case "Attributes":
		case applyTimeKey:
			if m := s.checkApplyTime(body[name]); m != nil {
				problems = append(problems, *m)
			}
		default:
			add("PropertyUnknown", name, nil)
		}
	}
	attributes, ok := body["Attributes"].(map[string]any)
	if !ok || len(attributes) == 0 {
		add("PropertyMissing", "Attributes", nil)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if kind := s.bios.registry.check(name, attributes[name], s.bios.current, s.judged(attributes)); kind != "" {
			value := attributes[name]
			if kind == "PropertyUnknown" || kind == "PropertyNotWritable" {
				value = nil
			}
			add(kind, "Attributes/"+name, value)
		}
	}
	return attributes, problems
}

// checkApplyTime: not declared means not known (FIELD-QUIRKS 39).
func (s *system) checkApplyTime(value any) *message {
	kind := ""
	when := text(value, "ApplyTime")
	switch {
	case len(s.bios.applyTimes) == 0 || s.bmc.faults.fireOn("apply-time-refused", ""):
		kind, value = "PropertyUnknown", nil
	case when == "":
		kind = "PropertyValueTypeError"
	case !slices.Contains(s.bios.applyTimes, when):
		kind, value = "PropertyValueNotInList", when
	default:
		return nil
	}
	m := propertyProblem(kind, applyTimeKey, value)
	return &m
}

// createJob is POST on the iDRAC job queue: it schedules what was staged
// without an apply time.
func (b *BMC) createJob(req *request) reply {
	target := canonical(text(req.body, "TargetSettingsURI"))
	for _, s := range b.systems {
		if s.bios == nil || target == "" || s.bios.settings != target {
			continue
		}
		switch {
		case s.bios.job != nil:
			return alreadyCommitted()
		case len(s.bios.pending) == 0:
			return failure(http.StatusBadRequest, "IDRAC.2.5.RAC044", "There are no pending values to make a job of.")
		}
		return jsonReply(http.StatusOK, map[string]any{}).with("Location", s.newJob(req).uri)
	}
	return failures(http.StatusBadRequest, propertyProblem("PropertyMissing", "TargetSettingsURI", nil))
}

// applyBIOS lets staged values take effect in POST, through their job where
// there is one. It reports false when it was overtaken: then they stay staged.
func (s *system) applyBIOS(ctx context.Context) bool {
	b := s.bmc
	b.mu.Lock()
	due := s.biosDue()
	var job *task
	if due {
		job = s.bios.job
	}
	b.mu.Unlock()
	if !due {
		return ctx.Err() == nil
	}
	if job != nil && !b.run(ctx, job) {
		return false
	}
	b.mu.Lock()
	if ctx.Err() != nil {
		b.mu.Unlock()
		return false
	}
	applied := s.takeEffect(job)
	b.mu.Unlock()
	if hook := b.opts.Hooks.OnBIOS; hook != nil && len(applied) > 0 {
		b.call(func() { hook(ctx, applied) })
	}
	return true
}

// biosDue reports whether staged values wait for a start; on an iDRAC they need a
// job. The lock is held.
func (s *system) biosDue() bool {
	return s.bios != nil && len(s.bios.pending) > 0 && (s.bmc.vendor != dell || s.bios.job != nil)
}

// takeEffect returns what was applied: nothing when the job fails.
func (s *system) takeEffect(job *task) map[string]any {
	applied := s.bios.pending
	s.bios.pending, s.bios.job = map[string]any{}, nil
	failed := false
	if job != nil {
		_, failed = s.bmc.faults.fire("task-completed-critical")
		job.complete(failed)
	}
	if failed {
		return nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(applied)), ",")
	s.bmc.ledger.act(Act{Name: "bios.apply", URI: s.bios.uri, Detail: names})
	before := s.bios.current
	if s.bmc.faults.fireOn("bios-drops", "") && s.bios.registry != nil {
		maps.DeleteFunc(applied, func(name string, _ any) bool { return s.bios.registry.locked(name, before) })
	}
	s.bios.current = maps.Clone(before)
	maps.Copy(s.bios.current, applied)
	maps.Copy(s.bios.current, s.bios.registry.follow(before, s.bios.current, applied))
	return applied
}

// sameValues reports whether all of want is in have.
func sameValues(want, have map[string]any) bool {
	for name, value := range want {
		a, _ := json.Marshal(value)
		b, _ := json.Marshal(have[name])
		if string(a) != string(b) {
			return false
		}
	}
	return true
}
