package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// CaptureSchema names the form of capture.json.
const CaptureSchema = "rackproof/capture/1"

// Bounds of a capture where CaptureOptions state none. The largest tree seen, that of a
// DGX H100, has 4700 resources without its schemas in 12 MB.
const (
	captureResources  = 20000
	captureBytes      = 256 << 20
	captureLogEntries = 1000
)

// captureBody bounds one resource: what reads a capture takes no larger one.
const captureBody = 16 << 20

// CaptureOptions bound a capture; every zero value is a sane default.
type CaptureOptions struct {
	Anonymise  bool  // give serials, MACs, UUIDs, IP addresses and host names others, the same ones everywhere
	Schemas    bool  // also the JSON schemas: as many requests again, and nothing that a client needs
	LogEntries int   // of each log; 0 means 1000
	Resources  int   // read at most; 0 means 20000
	Bytes      int64 // of all bodies; 0 means 256 MiB
	// Progress is told how many resources were read and how many are known by now; it
	// may be called from several goroutines, one after the other.
	Progress func(read, known int)
}

// Capture is the Redfish tree of one BMC without its secrets. WriteTarGz writes it.
type Capture struct {
	Schema     string    `json:"schema"`
	Vendor     string    `json:"vendor"`
	Model      string    `json:"model"`
	Firmware   string    `json:"bmc_firmware"`
	Started    time.Time `json:"started"`
	Seconds    float64   `json:"seconds"`
	Resources  int       `json:"resources"`
	Bytes      int64     `json:"bytes"`
	Anonymised bool      `json:"anonymised"`
	Partial    string    `json:"partial,omitempty"` // why it ended early; "" = whole

	Refused map[string]Refusal `json:"refused"` // by URI: what the BMC answered with an error
	Skipped []SkippedResource  `json:"skipped"`

	bodies map[string][]byte // by URI as served, without the slash at its end
}

// Refusal is an answer that was no success.
type Refusal struct {
	Status int `json:"status"`
	body   []byte
}

// SkippedResource is what a capture leaves out, and why.
type SkippedResource struct {
	URI string `json:"uri"`
	Why string `json:"why"`
}

// Capture reads every resource that the BMC links, over all pages, with no more requests
// at once than any reading, and takes the secrets out: passwords, keys, tokens, SNMP
// communities, licence keys, names of users, e-mail addresses. What the BMC refuses is
// kept with its status. Left out, and named in Skipped: open sessions, schemas, log
// entries beyond the bound, event streams, and what is no JSON. Where the BMC stops
// answering, what was read is returned with Partial set; the error is for a capture that
// has nothing, or that ctx ended. It calls no action and changes nothing.
func (c *Client) Capture(ctx context.Context, opts CaptureOptions) (*Capture, error) {
	w := newCaptureWalk(c, opts)
	id, err := c.Identity(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	err = w.run(ctx)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("BMC %s: capture: %w", c.cfg.Addr, context.Cause(ctx))
	}
	if len(w.bodies) == 0 {
		return nil, fmt.Errorf("BMC %s: capture: %w", c.cfg.Addr, err)
	}
	out := &Capture{
		Schema: CaptureSchema, Vendor: c.vendor, Model: id.Model, Firmware: id.BMCFirmware,
		Started: began.UTC().Truncate(time.Second), Seconds: time.Since(began).Seconds(),
		Anonymised: opts.Anonymise, Refused: w.refused, Skipped: w.skipped, bodies: w.bodies,
	}
	if err != nil {
		c.cfg.Log.WarnContext(ctx, "capture ended early", "bmc", c.cfg.Addr, "err", err)
		out.Partial = withoutPlace(err)
	}
	out.redact(c.record, c.cfg.User, opts.Anonymise)
	out.Resources = len(out.bodies)
	for _, b := range out.bodies {
		out.Bytes += int64(len(b))
	}
	slices.SortFunc(out.Skipped, func(a, b SkippedResource) int { return strings.Compare(a.URI, b.URI) })
	return out, nil
}

// withoutPlace words why a capture ended, without addresses.
func withoutPlace(err error) string {
	for _, kind := range []error{ErrUnreachable, ErrAuth, ErrSessionLimit, ErrPinMismatch} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}

// Bodies gives the captured resources by URI.
func (c *Capture) Bodies() map[string][]byte { return c.bodies }

// placeOf is the URI under which a resource is kept: no fragment, no slash at its end.
func placeOf(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	path, query, paged := strings.Cut(uri, "?")
	path = strings.TrimRight(path, "/")
	if paged {
		return path + "?" + query
	}
	return path
}

// refusalOf makes a refusal of an answer.
func refusalOf(a *answer) Refusal {
	r := Refusal{Status: a.status}
	if kind := http.DetectContentType(a.body); len(a.body) > 0 && strings.HasPrefix(kind, "text/") {
		r.body = a.body
	}
	return r
}
