package redfishtest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
)

// readMultipart reads the parts of a firmware push (DSP0266: UpdateParameters
// is JSON, UpdateFile the image) and keeps the image's name only.
func readMultipart(body io.Reader, contentType string) (parameters []byte, file string, err error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return nil, "", fmt.Errorf("content type %q is not multipart", contentType)
	}
	parts := multipart.NewReader(io.LimitReader(body, maxImage), params["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return parameters, file, nil
		}
		if err != nil {
			return nil, "", err
		}
		switch part.FormName() {
		case "UpdateParameters":
			parameters, err = io.ReadAll(io.LimitReader(part, maxRequest))
		case "UpdateFile":
			file = part.FileName()
			_, err = io.Copy(io.Discard, part)
		}
		if err != nil {
			return nil, "", err
		}
	}
}
