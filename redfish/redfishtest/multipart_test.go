package redfishtest

import (
	"strings"
	"testing"
)

func FuzzReadMultipart(f *testing.F) {
	form := "--b\r\nContent-Disposition: form-data; name=\"UpdateParameters\"\r\n\r\n{\"Targets\":[]}\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"UpdateFile\"; filename=\"x.bin\"\r\n\r\nimage\r\n--b--\r\n"
	f.Add(form, "multipart/form-data; boundary=b")
	f.Add(form[:40], "multipart/form-data; boundary=b")
	f.Add("{}", "application/json")
	f.Fuzz(func(t *testing.T, body, contentType string) {
		parameters, file, err := readMultipart(strings.NewReader(body), contentType)
		if err != nil && (parameters != nil || file != "") {
			t.Errorf("an error and %q, %q", parameters, file)
		}
		if len(parameters) > len(body) || len(file) > len(body) {
			t.Error("more came out than went in")
		}
	})
}

func TestReadMultipart(t *testing.T) {
	body := "--b\r\nContent-Disposition: form-data; name=\"UpdateParameters\"\r\n\r\n{\"Targets\":[]}\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"UpdateFile\"; filename=\"x.bin\"\r\n\r\nimage\r\n--b--\r\n"
	parameters, file, err := readMultipart(strings.NewReader(body), "multipart/form-data; boundary=b")
	if err != nil || string(parameters) != `{"Targets":[]}` || file != "x.bin" {
		t.Errorf("%q, %q, %v", parameters, file, err)
	}
	if _, _, err := readMultipart(strings.NewReader(body[:len(body)-12]), "multipart/form-data; boundary=b"); err == nil {
		t.Error("a cut body was taken")
	}
}
