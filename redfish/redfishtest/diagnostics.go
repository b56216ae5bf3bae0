package redfishtest

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// diagnostics are what the BMC collects for its vendor's support, each by the way that
// the tree shows.
type diagnostics struct {
	files map[string][]byte // to download, by URI
	next  int
}

// discoverDiagnostics finds the actions that collect: the standard one of log services,
// iDRAC's SupportAssist and screenshot, XCC's FFDC, the dumps of a SYS-821GE, and the
// log of an iLO, which lies ready.
func (b *BMC) discoverDiagnostics() {
	b.diagnostics = &diagnostics{files: map[string][]byte{}, next: 1}
	for _, l := range b.logs {
		object, err := b.store.object(l.uri)
		if target := canonical(text(object, "Actions", "#LogService.CollectDiagnosticData", "target")); err == nil && target != "" {
			b.routes[target] = route{http.MethodPost: l.collect}
		}
	}
	for uri := range b.store.base {
		switch {
		case strings.HasSuffix(uri, "/DellLCService"):
			b.route(uri, "#DellLCService.SupportAssistCollection", b.supportAssist)
			b.route(uri, "#DellLCService.ExportServerScreenShot", b.screenshot)
		case strings.HasSuffix(uri, "/ServiceData"):
			b.route(uri, "#LenovoServiceData.ExportFFDCData", b.exportFFDC)
		case strings.Contains(uri, "/DumpService/Dumps/"):
			_, id := cutLast(uri)
			b.route(uri, "#"+id+".Download", b.downloadDump)
		case strings.HasSuffix(uri, "/ActiveHealthSystem"):
			object, _ := b.store.object(uri)
			places, _ := object["Links"].(map[string]any)
			for _, place := range places {
				if at := text(place, "extref"); at != "" {
					b.diagnostics.files[canonical(at)] = []byte("ahs " + at)
				}
			}
		}
	}
}

// route lets an action of a resource do something.
func (b *BMC) route(uri, action string, do func(*request) reply) {
	object, err := b.store.object(uri)
	if target := canonical(text(object, "Actions", action, "target")); err == nil && target != "" {
		b.routes[target] = route{http.MethodPost: do}
	}
}

// file serves a collected file.
func (b *BMC) file(req *request) (reply, bool) {
	raw, ok := b.diagnostics.files[req.key]
	return reply{status: http.StatusOK, raw: raw, contentType: "application/octet-stream"}, ok
}

// refuseCollection is the refusal of a collection, if any.
func (b *BMC) refuseCollection() (reply, bool) {
	licence, missing := b.faults.fire("diagnostics-licence")
	if !missing {
		return reply{}, false
	}
	id := "SMC.1.0.OemLicenseNotPassed"
	if b.vendor == dell {
		id = "IDRAC.2.8.LIC501"
	}
	return failure(http.StatusForbidden, id, "A licence is needed: "+licence, licence), true
}

// gather makes a task that ends with a file. place tells where the file is: it runs with
// the lock held, and names the task's last answer.
func (b *BMC) gather(req *request, name string, place func(t *task, uri string, size int)) reply {
	if refusal, refused := b.refuseCollection(); refused {
		return refusal
	}
	parameters := maps.Clone(req.body)
	took := false
	b.effect(req, "diagnostics.collect", name, func() { took = true })
	t := b.tasks.add(b, req, "Collect "+name, waitsForNothing)
	b.spawn(func() {
		if !b.run(b.ctx, t) {
			return
		}
		content := b.content(name, parameters)
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, endless := b.faults["diagnostics-endless"]; endless {
			return
		}
		if _, nothing := b.faults["diagnostics-no-file"]; took && !nothing {
			uri := fmt.Sprintf("/redfish/v1/dumps/%d.bin", b.diagnostics.next)
			b.diagnostics.next++
			b.diagnostics.files[uri] = content
			place(t, uri, len(content))
		}
		t.complete(false)
	})
	return b.accepted(t)
}

// content is what is collected, by the hook where there is one.
func (b *BMC) content(name string, parameters map[string]any) (content []byte) {
	hook := b.opts.Hooks.OnDiagnostics
	if hook == nil {
		return []byte("collected: " + name)
	}
	b.call(func() { content = hook(b.ctx, name, parameters) })
	return content
}

// collect is POST …/Actions/LogService.CollectDiagnosticData: the file hangs on a new
// entry of the log.
func (l *logService) collect(req *request) reply {
	kind := text(req.body, "DiagnosticDataType")
	if kind == "" {
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterMissing", "DiagnosticDataType is required.",
			"LogService.CollectDiagnosticData", "DiagnosticDataType")
	}
	name := kind
	if own := text(req.body, "OEMDiagnosticDataType"); own != "" {
		name += " " + own
	}
	return l.bmc.gather(req, name, func(_ *task, uri string, size int) {
		entry := l.body(LogEntry{Message: name, Extra: map[string]any{"DiagnosticDataType": kind, "AdditionalDataURI": uri, "AdditionalDataSizeBytes": size}})
		at := text(entry, "@odata.id")
		if err := l.bmc.store.put(at, entry); err == nil {
			l.save(append(l.members(), entry))
		}
	})
}

// supportAssist: the finished job names the file in its Location.
func (b *BMC) supportAssist(req *request) reply {
	if text(req.body, "ShareType") != "Local" {
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterValueNotInList", "Only Local is simulated.", "ShareType")
	}
	return b.gather(req, "SupportAssist", func(t *task, uri string, _ int) { t.location = uri })
}

// exportFFDC: the finished task names the file in its vendor's part.
func (b *BMC) exportFFDC(req *request) reply {
	if _, ok := req.body["InitializationNeeded"]; !ok || text(req.body, "DataCollectionType") == "" {
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterMissing", "InitializationNeeded and DataCollectionType are required.")
	}
	return b.gather(req, "FFDC", func(t *task, uri string, _ int) {
		t.extra = map[string]any{"Oem": map[string]any{"Lenovo": map[string]any{"FFDCForDownloading": map[string]any{"Path": uri}}}}
	})
}

// downloadDump answers with the file itself.
func (b *BMC) downloadDump(req *request) reply {
	if refusal, refused := b.refuseCollection(); refused {
		return refusal
	}
	b.effect(req, "diagnostics.collect", "dump", func() {})
	return reply{status: http.StatusOK, raw: []byte("dump of " + req.key), contentType: "application/octet-stream"}
}

// blankScreen is a PNG of one pixel in base64.
const blankScreen = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="

// screenshot is POST …/Actions/DellLCService.ExportServerScreenShot.
func (b *BMC) screenshot(req *request) reply {
	if text(req.body, "FileType") == "" {
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterMissing", "FileType is required.")
	}
	return jsonReply(http.StatusOK, map[string]any{"ServerScreenShotFile": blankScreen})
}
