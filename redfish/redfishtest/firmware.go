package redfishtest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Image is a firmware file that the BMC knows by its name; see [Options.Images].
type Image struct {
	Component string // URI of the member of the firmware inventory that it updates
	Version   string // what the member tells once the image runs
	Activate  Activation
}

// Activation is when a new image runs.
type Activation string

// The moments. ActivateByTree follows RelatedItem of the inventory: the BMC's
// own image restarts it, one of a system waits for that system's reset, any
// other runs at once. Where the tree relates nothing (DGX H100, iDRAC, iLO),
// the image must say.
const (
	ActivateByTree Activation = ""
	ActivateNow    Activation = "now"
	ActivateBMC    Activation = "bmc"
	ActivateHost   Activation = "host"
)

// maxImage bounds an image that is sent or fetched; the DGX H100 takes 400 MB.
const maxImage = 1 << 30

// updates are the firmware images under way.
type updates struct {
	inventory string // URI of the collection
	running   *task
	staged    []Image // installed, wait for their moment
}

func (b *BMC) discoverUpdates(root map[string]any) {
	b.updates = &updates{}
	service, err := b.store.object(link(root, "UpdateService"))
	if err != nil {
		return
	}
	b.updates.inventory = canonical(link(service, "FirmwareInventory"))
	if target := canonical(text(service, "Actions", "#UpdateService.SimpleUpdate", "target")); target != "" {
		b.routes[target] = route{http.MethodPost: b.simpleUpdate}
	}
	if push := canonical(text(service, "MultipartHttpPushUri")); push != "" {
		b.routes[push] = route{http.MethodPost: b.pushUpdate}
	}
}

// simpleUpdate is POST …/Actions/UpdateService.SimpleUpdate: the BMC fetches
// the image.
func (b *BMC) simpleUpdate(req *request) reply {
	const action = "UpdateService.SimpleUpdate"
	source := text(req.body, "ImageURI")
	if source == "" {
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterMissing", "ImageURI is required.", action, "ImageURI")
	}
	for name := range req.body {
		if !slices.Contains([]string{"ImageURI", "TransferProtocol", "Targets", "Username", "User", "Password", "@Redfish.OperationApplyTime"}, name) {
			return failure(http.StatusBadRequest, baseRegistry+"ActionParameterUnknown", "The parameter "+name+" is not known.", action, name)
		}
	}
	where, err := url.Parse(source)
	if err == nil && where.Host == "" && text(req.body, "TransferProtocol") != "" { // XCC, iDRAC: host/path and the protocol beside it
		where, err = url.Parse(strings.ToLower(text(req.body, "TransferProtocol")) + "://" + source)
	}
	if err != nil || (where.Scheme != "http" && where.Scheme != "https") || where.Host == "" {
		return failures(http.StatusBadRequest, propertyProblem("PropertyValueFormatError", "ImageURI", source))
	}
	return b.update(req, path.Base(where.Path), func(ctx context.Context) error { return fetchImage(ctx, where) })
}

// pushUpdate is POST on MultipartHttpPushUri with the parts UpdateParameters
// and UpdateFile.
func (b *BMC) pushUpdate(req *request) reply {
	if req.file == "" {
		return failures(http.StatusBadRequest, propertyProblem("PropertyMissing", "UpdateFile", nil))
	}
	return b.update(req, req.file, func(context.Context) error { return nil })
}

// update makes the task of an image, once at a time.
func (b *BMC) update(req *request, name string, transfer func(context.Context) error) reply {
	targets := stringsOf(req.body["Targets"])
	for _, t := range targets {
		if _, known := b.store.find(t); !known {
			return failures(http.StatusBadRequest, propertyProblem("PropertyValueNotInList", "Targets", t))
		}
	}
	if b.updates.running != nil {
		return failure(http.StatusServiceUnavailable, baseRegistry+"ResourceInUse", "An update is under way.").with("Retry-After", "30")
	}
	image, known := b.opts.Images[name]
	if known && len(targets) > 0 && !slices.ContainsFunc(targets, func(t string) bool { return b.covers(t, image.Component) }) {
		known = false // made for something else
	}
	took := false
	b.effect(req, "firmware.update", strings.TrimSpace(path.Base(image.Component)+" "+image.Version), func() { took = true })
	t := b.tasks.add(b, req, "Firmware Update", waitsForNothing)
	b.updates.running = t
	b.spawn(func() { b.install(t, name, image, known, took, transfer) })
	return b.accepted(t)
}

// covers: a target is the component, or what the inventory relates it to.
func (b *BMC) covers(target, component string) bool {
	return canonical(target) == canonical(component) || slices.Contains(b.related(component), canonical(target))
}

// related is what the inventory says that a component belongs to.
func (b *BMC) related(component string) []string {
	object, err := b.store.object(component)
	if err != nil {
		return nil
	}
	list, _ := object["RelatedItem"].([]any)
	var uris []string
	for _, item := range list {
		uris = append(uris, canonical(link(item)))
	}
	return uris
}

// install carries a task to its end. An image that the BMC does not know fails
// its check there.
func (b *BMC) install(t *task, name string, image Image, known, took bool, transfer func(context.Context) error) {
	err := transfer(b.ctx)
	if !b.run(b.ctx, t) {
		return
	}
	b.mu.Lock()
	b.updates.running = nil
	_, critical := b.faults["task-completed-critical"]
	restart := false
	switch {
	case err != nil:
		t.end("Exception", "Critical", newMessage("Critical", "Update.1.0.TransferFailed", "The image could not be fetched.", name))
	case !known:
		t.end("Exception", "Critical", newMessage("Critical", "Update.1.0.VerificationFailed", "The image does not fit.", name))
	case critical:
		b.faults.fire("task-completed-critical")
		t.end("Completed", "Critical", newMessage("Critical", "Update.1.0.ApplyFailed", "The image could not be applied.", name))
	default:
		restart = b.installed(t, image, took)
	}
	b.mu.Unlock()
	if restart && wait(b.ctx, b.opts.TaskDelay) {
		b.restart()
	}
}

// installed reports whether the BMC must restart for the image. The lock is held.
func (b *BMC) installed(t *task, image Image, took bool) (restart bool) {
	moment := image.Activate
	if moment == ActivateByTree {
		moment = b.momentOf(image.Component)
	}
	id := "Update.1.0.UpdateSuccessful"
	if moment == ActivateHost {
		id = "Update.1.0.AwaitToActivate"
	}
	t.end("Completed", "OK", newMessage("OK", id, "The image was installed.", path.Base(image.Component)))
	if !took {
		return false
	}
	image.Activate = moment
	b.updates.staged = append(b.updates.staged, image)
	if moment == ActivateNow {
		b.activate(ActivateNow)
	}
	return moment == ActivateBMC
}

func (b *BMC) momentOf(component string) Activation {
	for _, uri := range b.related(component) {
		switch {
		case strings.HasPrefix(uri, "/redfish/v1/Managers/"):
			return ActivateBMC
		case strings.HasPrefix(uri, b.systemsURI+"/"):
			return ActivateHost
		}
	}
	return ActivateNow
}

// activate lets the images that waited for this moment run. The lock is held.
func (b *BMC) activate(moment Activation) {
	var waiting []Image
	for _, image := range b.updates.staged {
		if image.Activate != moment {
			waiting = append(waiting, image)
			continue
		}
		b.ledger.act(Act{Name: "firmware.activate", URI: image.Component, Detail: image.Version})
		if err := b.setVersion(image); err != nil {
			b.log.Error("cannot show new firmware", "error", err)
		}
	}
	b.updates.staged = waiting
}

// setVersion changes the version in the inventory, and in the manager or system
// where it stood as a part or whole of what they told.
func (b *BMC) setVersion(image Image) error {
	member, err := b.store.object(image.Component)
	if err != nil {
		return err
	}
	old := text(member, "Version")
	member["Version"] = image.Version
	if err := b.store.put(canonical(image.Component), member); err != nil {
		return err
	}
	property, owners := "BiosVersion", []string{b.systems[0].uri}
	if image.Activate == ActivateBMC {
		root, _ := b.store.object("/redfish/v1")
		property, owners = "FirmwareVersion", b.membersOf(link(root, "Managers"))
	}
	for _, owner := range owners {
		object, err := b.store.object(owner)
		told := text(object, property)
		if err != nil || told == "" || old == "" || (!strings.Contains(old, told) && !strings.Contains(told, old)) {
			continue
		}
		object[property] = image.Version
		if err := b.store.put(canonical(owner), object); err != nil {
			return err
		}
	}
	return nil
}

// fetchImage reads an image as a BMC does, and keeps nothing of it.
func fetchImage(ctx context.Context, where *url.URL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), http.NoBody)
	if err != nil {
		return err
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // BMCs do not check an image server either
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // read only
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", where, res.Status)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(res.Body, maxImage+1))
	if err == nil && (n == 0 || n > maxImage) {
		err = fmt.Errorf("%s: %d bytes", where, n)
	}
	return err
}
