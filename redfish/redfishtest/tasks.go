package redfishtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxTasks bounds the task list; the oldest go, as on a BMC whose policy is "Oldest".
const maxTasks = 200

// tasks are those that the BMC made since it was started.
type tasks struct {
	collection string // /redfish/v1/TaskService/Tasks
	jobs       string // iDRAC job queue, or ""
	list       []*task
	next       int
}

type task struct {
	id, uri, name string
	job           string // the same as an entry of the iDRAC job queue, or ""
	waits         bool   // for a reset
	state, status string // Redfish TaskState and TaskStatus
	percent       int
	message       message
	started       time.Time
	ended         time.Time
	location      string         // header of its last answer, where it names what came of it
	extra         map[string]any // laid over it when it ended
	read          bool           // it was served once; then task-vanishes may hide it
}

func (b *BMC) discoverTasks(root map[string]any) {
	t := &tasks{collection: "/redfish/v1/TaskService/Tasks", next: 1}
	if service, err := b.store.object(link(root, "Tasks")); err == nil {
		t.collection = cmp.Or(canonical(link(service, "Tasks")), t.collection)
	}
	for uri := range b.store.base {
		if strings.HasSuffix(uri, "/Oem/Dell/Jobs") {
			t.jobs = uri
			b.routes[uri] = route{http.MethodPost: b.createJob}
		}
		// Numbers of captured tasks are taken.
		if id, ok := strings.CutPrefix(uri, t.collection+"/"); ok {
			if n, err := strconv.Atoi(id); err == nil {
				t.next = max(t.next, n+1)
			}
		}
	}
	b.tasks = t
}

// What a task waits for.
const (
	waitsForReset   = true
	waitsForNothing = false
)

// add makes a task as an act of the request.
func (ts *tasks) add(b *BMC, req *request, name string, waits bool) *task {
	id := strconv.Itoa(ts.next)
	if b.vendor == dell {
		id = fmt.Sprintf("JID_%012d", 500000000000+ts.next)
	}
	ts.next++
	t := &task{id: id, uri: ts.collection + "/" + id, name: name, waits: waits, status: "OK", started: time.Now()}
	t.state = "Running"
	t.message = newMessage("OK", "TaskEvent.1.0.TaskStarted", "The task has started.", id)
	if waits {
		t.state = "Pending"
		t.message = newMessage("OK", "IDRAC.2.5.JCP001", "The task is scheduled.", id)
	}
	if ts.jobs != "" {
		t.job = ts.jobs + "/" + id
	}
	b.effect(req, "task.create", id, func() {
		ts.list = append(ts.list, t)
		if t.job != "" {
			b.routes[t.job] = route{http.MethodDelete: func(req *request) reply { return b.deleteJob(req, t) }}
		}
		if len(ts.list) > maxTasks {
			ts.list = slices.Delete(ts.list, 0, len(ts.list)-maxTasks)
		}
	})
	return t
}

// remove forgets a task.
func (ts *tasks) remove(t *task) {
	ts.list = slices.DeleteFunc(ts.list, func(other *task) bool { return other == t })
}

// accepted answers 202 with the task, in header and body or the body alone.
func (b *BMC) accepted(t *task) reply {
	answer := jsonReply(http.StatusAccepted, t.body(t.uri))
	if _, ok := b.faults.fire("location-in-body"); ok {
		return answer
	}
	return answer.with("Location", t.uri)
}

// carryOut moves a task that waits for nothing to its end.
func (b *BMC) carryOut(ctx context.Context, t *task) {
	if b.run(ctx, t) {
		b.mu.Lock()
		t.complete(false)
		b.mu.Unlock()
	}
}

// run moves a task to Running and waits out its time, once before and once
// after; overtaken, it goes back to waiting.
func (b *BMC) run(ctx context.Context, t *task) bool {
	set := func(state string, percent int) {
		b.mu.Lock()
		t.state, t.percent = state, percent
		b.mu.Unlock()
	}
	waiting := "Running"
	if t.waits {
		waiting = "Pending"
	}
	if !wait(ctx, b.opts.TaskDelay) {
		return false
	}
	set("Running", 50)
	if !wait(ctx, b.opts.TaskDelay) {
		set(waiting, 0)
		return false
	}
	return true
}

// complete ends a task. A failed one says Completed and 100 % all the same:
// only status and messages tell (FIELD-QUIRKS 70).
func (t *task) complete(failed bool) {
	if failed {
		t.end("Completed", "Critical", newMessage("Critical", "IDRAC.2.8.JCP052", "The task is complete with errors: the values could not be set."))
		return
	}
	t.end("Completed", "OK", newMessage("OK", "TaskEvent.1.0.TaskCompletedOK", "The task is complete.", t.id))
}

func (t *task) end(state, status string, m message) {
	t.state, t.status, t.message, t.percent, t.ended = state, status, m, 100, time.Now()
}

// resource serves a task under its URI or as a job, and the collections.
func (ts *tasks) resource(b *BMC, key string) (map[string]any, bool) {
	if key == ts.collection {
		return ts.index(b, key, "#TaskCollection.TaskCollection", func(t *task) string { return t.uri }), true
	}
	if ts.jobs != "" && key == ts.jobs {
		return ts.index(b, key, "#DellJobCollection.DellJobCollection", func(t *task) string { return t.job }), true
	}
	for _, t := range ts.list {
		if key != t.uri && (t.job == "" || key != t.job) {
			continue
		}
		if _, vanishes := b.faults["task-vanishes"]; vanishes && t.read && key == t.uri {
			return nil, false
		}
		t.read = true
		if key == t.job {
			return t.jobBody(), true
		}
		return t.body(key), true
	}
	return nil, false
}

// named is the Location of a task's answer, "" while it has none.
func (ts *tasks) named(key string) string {
	for _, t := range ts.list {
		if (key == t.uri || key == t.job) && !t.ended.IsZero() {
			return t.location
		}
	}
	return ""
}

// index lists the captured members and ours.
func (ts *tasks) index(b *BMC, key, kind string, uri func(*task) string) map[string]any {
	members := map[string]bool{}
	if captured, err := b.store.object(key); err == nil {
		list, _ := captured["Members"].([]any)
		for _, m := range list {
			members[link(m)] = true
		}
	}
	for _, t := range ts.list {
		members[uri(t)] = true
	}
	return collectionOf(key, kind, "Tasks", slices.Collect(maps.Keys(members)))
}

func (t *task) body(uri string) map[string]any {
	body := map[string]any{
		"@odata.id": uri, "@odata.type": "#Task.v1_4_2.Task", "Id": t.id, "Name": t.name,
		"TaskState": t.state, "TaskStatus": t.status, "PercentComplete": t.percent,
		"StartTime": t.started.UTC().Format(time.RFC3339), "Messages": []message{t.message},
	}
	if !t.ended.IsZero() {
		body["EndTime"] = t.ended.UTC().Format(time.RFC3339)
		maps.Copy(body, t.extra)
	}
	return body
}

// jobBody is the task as iDRAC's job queue shows it.
func (t *task) jobBody() map[string]any {
	state := t.state
	switch {
	case t.state == "Pending":
		state = "Scheduled"
	case t.state == "Exception":
		state = "Failed"
	case t.status == "Critical":
		state = "CompletedWithErrors"
	}
	kind := "FirmwareUpdate"
	if t.waits {
		kind = "BIOSConfiguration"
	}
	return map[string]any{
		"@odata.id": t.job, "@odata.type": "#DellJob.v1_2_0.DellJob", "Id": t.id, "Name": t.name,
		"JobType": kind, "JobState": state, "PercentComplete": t.percent,
		"MessageId": t.message.ID, "Message": t.message.Text, "MessageArgs": []string{},
		"StartTime": t.started.UTC().Format("2006-01-02T15:04:05"), "EndTime": "TIME_NA",
	}
}
