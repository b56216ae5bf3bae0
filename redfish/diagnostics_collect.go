package redfish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// diagnosticBytes bounds a file where CollectOptions state nothing.
const diagnosticBytes = 512 << 20

// CollectOptions bound a collection. Its time is that of the context.
type CollectOptions struct {
	MaxBytes int64             // 0 means 512 MiB
	Progress func(text string) // told now and then, never at once from several goroutines; may be nil
}

// DiagnosticFile is what was collected.
type DiagnosticFile struct {
	Diagnostic
	File   string `json:"file"` // as the BMC calls it
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// CollectDiagnostic collects what [Client.Diagnostics] lists under name and writes it to
// out: the action is sent once, its job followed as long as ctx allows, and the file
// downloaded. After an error what out holds is not whole. A job that vanished has ended:
// then the file that is new counts. It wraps ErrLicence, ErrTooLarge, ErrJobFailed,
// ErrBadValue or ErrUnsupported. Where ctx ends the job goes on at the BMC.
func (c *Client) CollectDiagnostic(ctx context.Context, name string, out io.Writer, opts CollectOptions) (DiagnosticFile, error) {
	way, err := c.findWay(ctx, name)
	if err != nil {
		return DiagnosticFile{}, err
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = diagnosticBytes
	}
	if opts.Progress == nil {
		opts.Progress = func(string) {}
	}
	hash := sha256.New()
	f, err := c.collect(ctx, way, io.MultiWriter(out, hash), opts)
	if err != nil {
		return DiagnosticFile{}, fmt.Errorf("collect %s: %w", name, err)
	}
	if f.bytes == 0 {
		return DiagnosticFile{}, fmt.Errorf("BMC %s: collect %s: the file is empty", c.cfg.Addr, name)
	}
	return DiagnosticFile{Diagnostic: way.Diagnostic, File: firstOf(f.name, name), Bytes: f.bytes, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

func (c *Client) collect(ctx context.Context, way diagnosticWay, out io.Writer, opts CollectOptions) (fetched, error) {
	tell := func(n int64) { opts.Progress(fmt.Sprintf("downloads, %d MiB so far", n>>20)) }
	at := string(way.file)
	if at == "" {
		before, err := c.attachments(ctx, way.entries)
		if err != nil { // then none could be told for new
			c.cfg.Log.WarnContext(ctx, "the files of a log are not known", "bmc", c.cfg.Addr, "err", err)
			way.entries = ""
		}
		opts.Progress("asks for it")
		f, err := c.t.download(ctx, call{method: http.MethodPost, uri: way.action, body: way.body}, out, opts.MaxBytes, tell)
		if err != nil || f.bytes > 0 {
			return f, err
		}
		if at, err = c.collected(ctx, way, f.answer, before, opts.Progress); err != nil {
			return fetched{}, err
		}
	}
	return c.t.download(ctx, call{method: http.MethodGet, uri: at}, out, opts.MaxBytes, tell)
}

// For how many looks a file may be missing behind a job that ended, and behind one that
// vanished, which some do before they end. Where there was no job, only the context ends it.
const (
	looksEnded    = 3
	looksVanished = 40
)

// collected follows the job that an action made to its end, and finds the file.
func (c *Client) collected(ctx context.Context, way diagnosticWay, a *answer, before map[link]attachment, tell func(string)) (string, error) {
	looks := 0
	if job := jobOf(a); job != "" {
		end, err := c.jobEnd(ctx, job, tell)
		if err != nil {
			return "", err
		}
		looks, a = looksEnded, end
		if end == nil {
			looks = looksVanished
		}
	}
	if a != nil {
		if at := c.named(ctx, way, a); at != "" {
			return at, nil
		}
	}
	var unread error
	for look := 1; way.entries != ""; look++ {
		after, err := c.attachments(ctx, way.entries)
		if unread = err; err != nil {
			c.cfg.Log.WarnContext(ctx, "the files of a log are not read", "bmc", c.cfg.Addr, "err", err)
		}
		if at := newest(before, after); at != "" {
			return at, nil
		}
		if look == looks {
			break
		}
		tell("waits for the file")
		if err := pause(ctx, c.cfg.Poll); err != nil {
			return "", fmt.Errorf("BMC %s: no file came: %w", c.cfg.Addr, err)
		}
	}
	if unread != nil {
		return "", unread
	}
	return "", fmt.Errorf("BMC %s: %w: its collection is over, and names no file", c.cfg.Addr, ErrJobFailed)
}

// jobEnd follows a job and gives its last answer: nil where it vanished.
func (c *Client) jobEnd(ctx context.Context, job string, tell func(string)) (*answer, error) {
	for {
		a, err := c.t.read(ctx, job)
		switch status := statusOf(err); {
		case status == http.StatusNotFound || status == http.StatusGone:
			c.cfg.Log.InfoContext(ctx, "collection's job vanished, its file decides", "bmc", c.cfg.Addr, "job", job)
			return nil, nil
		case err != nil && ctx.Err() == nil && !away(err):
			return nil, err
		case err == nil:
			c.record.keep(job, a.body)
			done, percent, err := c.jobState(a, job)
			if err != nil || done {
				return a, err
			}
			tell("collects" + percent)
		}
		if err := pause(ctx, c.cfg.Poll); err != nil {
			return nil, fmt.Errorf("BMC %s: job %s has not ended: %w; it goes on at the BMC", c.cfg.Addr, link(job).id(), err)
		}
	}
}

func (c *Client) jobState(a *answer, job string) (done bool, percent string, err error) {
	var doc struct {
		jobDoc
		Percent number `json:"PercentComplete"`
	}
	_ = json.Unmarshal(a.body, &doc)
	if n := doc.Percent.whole(); n != nil {
		percent = fmt.Sprintf(", %d %% done", *n)
	}
	state := firstOf(string(doc.TaskState), string(doc.State))
	if state == "" { // a task monitor: 202 while it runs, then the operation's own answer
		return a.status != http.StatusAccepted, percent, nil
	}
	done, err = c.verdict(doc.jobDoc, state, job)
	return done, percent, err
}

// named finds the file where an answer names it: as the vendor's jobs do, in Location,
// in the entry that Location or the task's own headers lead to.
func (c *Client) named(ctx context.Context, way diagnosticWay, a *answer) string {
	if way.place != nil {
		if at := way.place(a.body); strings.HasPrefix(at, "/") {
			return at
		}
	}
	var doc struct {
		Data    text `json:"AdditionalDataURI"`
		Payload maybe[struct {
			Headers words `json:"HttpHeaders"`
		}] `json:"Payload"`
	}
	_ = json.Unmarshal(a.body, &doc)
	if doc.Data != "" {
		return string(doc.Data)
	}
	places := []string{a.header.Get("Location")}
	for _, h := range doc.Payload.value.Headers { // OpenBMC tells the entry there
		if name, value, ok := strings.Cut(h, ":"); ok && strings.EqualFold(strings.TrimSpace(name), "Location") {
			places = append(places, strings.TrimSpace(value))
		}
	}
	for _, at := range places {
		if file := c.fileAt(ctx, at); file != "" {
			return file
		}
	}
	return ""
}

// fileAt is the file that a Location leads to; "" for one that names a job.
func (c *Client) fileAt(ctx context.Context, at string) string {
	switch {
	case at == "" || jobOf(&answer{header: http.Header{"Location": {at}}}) != "":
		return ""
	case strings.Contains(at, "/LogServices/"):
		var entry attachment
		_, _ = c.get(ctx, link(at), &entry) // an entry that is gone names no file
		return string(entry.Data)
	}
	return at
}

// attachment is a log entry with a file.
type attachment struct {
	Data    text   `json:"AdditionalDataURI"`
	Size    number `json:"AdditionalDataSizeBytes"`
	Created text   `json:"Created"`
	ETag    text   `json:"@odata.etag"`
}

// attachments reads the entries of a log that have a file.
func (c *Client) attachments(ctx context.Context, entries link) (map[link]attachment, error) {
	var unread gaps
	docs, uris := resources[attachment](ctx, c, entries, &unread)
	found := map[link]attachment{}
	for i, d := range docs {
		if d != nil && d.Data != "" {
			found[uris[i]] = *d
		}
	}
	return found, unread.partial(c)
}

// newest is the file that was not there before, or is another now (XCC has one entry
// for all); of several the largest.
func newest(before, after map[link]attachment) string {
	at, most := "", -1.0
	for uri, entry := range after {
		if before[uri] != entry && entry.Size.value > most {
			at, most = string(entry.Data), entry.Size.value
		}
	}
	return at
}
