package redfish

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// WriteTarGz writes a capture in the layout in which captured trees are exchanged:
// FOLDER/redfish/v1/…/index.json, and error.txt where the BMC refused, with its status
// first ("HTTP 503"), an empty line and the body. FOLDER/capture.json says where it is
// from and what is missing.
func (c *Capture) WriteTarGz(out io.Writer, folder string) error {
	zw := gzip.NewWriter(out)
	tw := tar.NewWriter(zw)
	put := func(name string, body []byte) error {
		err := tw.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: folder + name, Mode: 0o644, Size: int64(len(body)), ModTime: c.Started, Format: tar.FormatPAX,
		})
		if err == nil {
			_, err = tw.Write(body)
		}
		return err
	}
	err := c.writeFiles(put)
	if err := errors.Join(err, tw.Close(), zw.Close()); err != nil {
		return fmt.Errorf("write the capture: %w", err)
	}
	return nil
}

func (c *Capture) writeFiles(put func(name string, body []byte) error) error {
	about, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	if err := put("/capture.json", append(about, '\n')); err != nil {
		return err
	}
	for _, uri := range slices.Sorted(maps.Keys(c.bodies)) {
		if err := put(uri+"/index.json", append(c.bodies[uri], '\n')); err != nil {
			return err
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(c.Refused)) {
		r := c.Refused[uri]
		if err := put(uri+"/error.txt", fmt.Appendf(nil, "HTTP %d\n\n%s", r.Status, r.body)); err != nil {
			return err
		}
	}
	return nil
}
