package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"time"
)

// Update starts the installation of an image, after [Client.CheckUpdate]. It returns
// the job that the BMC made of it, "" where it makes none; follow it with WaitUpdate,
// then read the version. It is never sent twice: after a lost answer (the error wraps
// ErrUnreachable) the BMC may be flashing, and only its jobs and versions tell.
func (c *Client) Update(ctx context.Context, image Image) (job string, err error) {
	place, err := c.updatePlace(ctx)
	if err != nil {
		return "", err
	}
	if err := c.checkImage(ctx, place, image); err != nil {
		return "", err
	}
	var a *answer
	if image.URL != "" {
		a, err = c.pullImage(ctx, place, image)
	} else {
		a, err = c.pushImage(ctx, place, image)
	}
	if err != nil {
		return "", fmt.Errorf("BMC %s: start the update: %w", c.cfg.Addr, err)
	}
	return jobOf(a), nil
}

// pullImage is SimpleUpdate. The protocol is in the URL already; it is named again only
// where the BMC asks for it.
func (c *Client) pullImage(ctx context.Context, place updatePlace, image Image) (*answer, error) {
	body := map[string]any{"ImageURI": image.URL}
	if len(image.Targets) > 0 {
		body["Targets"] = image.Targets
	}
	name := func() {
		protocol, _, _ := strings.Cut(image.URL, ":")
		body["TransferProtocol"] = strings.ToUpper(protocol)
	}
	if place.protocol {
		name()
	}
	send := func() (*answer, error) {
		return c.actAfterPOST(ctx, call{method: http.MethodPost, uri: place.simple, body: body})
	}
	a, err := send()
	if !place.protocol && said(err, notTaken) {
		name()
		a, err = send()
	}
	return a, err
}

// pushImage is the multipart push of DSP0266: the parameters, then the file.
func (c *Client) pushImage(ctx context.Context, place updatePlace, image Image) (*answer, error) {
	parameters := map[string]any{}
	if len(image.Targets) > 0 {
		parameters["Targets"] = image.Targets
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	var around bytes.Buffer
	form := multipart.NewWriter(&around)
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="UpdateParameters"`}, "Content-Type": {"application/json"},
	})
	if err == nil {
		_, err = part.Write(text)
	}
	if err == nil {
		_, err = form.CreateFormFile("UpdateFile", image.Name)
	}
	before := bytes.Clone(around.Bytes())
	around.Reset()
	if err := errors.Join(err, form.Close()); err != nil {
		return nil, err
	}
	after := bytes.Clone(around.Bytes())
	return c.actAfterPOST(ctx, call{
		method: http.MethodPost, uri: place.push,
		upload: &upload{
			kind: form.FormDataContentType(), size: int64(len(before)) + image.Size + int64(len(after)),
			open: func() (io.ReadCloser, error) {
				f, err := image.Open()
				if err != nil {
					return nil, err
				}
				return struct {
					io.Reader
					io.Closer
				}{io.MultiReader(bytes.NewReader(before), io.LimitReader(f, image.Size), bytes.NewReader(after)), f}, nil
			},
		},
	})
}

// upload is a body that is too large to hold. Its length goes with it: many a BMC takes
// no body in chunks.
type upload struct {
	kind string
	size int64
	open func() (io.ReadCloser, error)
}

// slowestUpload is the rate that an upload must have, in bytes a second, beyond the time
// of any request. Old BMCs take a few hundred kilobytes a second while they write.
const slowestUpload = 100 << 10

// patience is the time of a request with its answer.
func (c call) patience(timeout time.Duration) time.Duration {
	if c.upload != nil {
		timeout += time.Duration(c.upload.size/slowestUpload) * time.Second
	}
	return timeout
}
