package redfish

import (
	"strings"
	"testing"
	"time"
)

func TestReadSSE(t *testing.T) {
	const text = ": hello\r\nid: 7\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nretry: 1500\n\ndata\ndata: x\n\nid\ndata: y\n\ndata: cut"
	var got []string
	retry, err := readSSE(strings.NewReader(text), func(m sseMessage) bool {
		got = append(got, m.id+"|"+string(m.data))
		return true
	})
	want := []string{"7|{\"a\":\n1}\n", "7|\nx\n", "|y\n"}
	if err != nil || retry != 1500*time.Millisecond || strings.Join(got, "#") != strings.Join(want, "#") {
		t.Errorf("%q, retry %s, %v; want %q", got, retry, err, want)
	}
	if _, err := readSSE(strings.NewReader("data: "+strings.Repeat("x", maxEvent)), func(sseMessage) bool { return true }); err == nil {
		t.Error("a line without an end was taken")
	}
	if _, err := readSSE(strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000)), func(sseMessage) bool { return true }); err == nil {
		t.Error("an event without an end was taken")
	}
}

func FuzzReadSSE(f *testing.F) {
	f.Add("id: 1\ndata: {\"Events\":[{\"MessageId\":\"A.1.0.B\",\"OriginOfCondition\":{\"@odata.id\":\"/x\"}}]}\n\n")
	f.Add("data:\r\n\r\n:x\nretry: 99999999999\n\nid:\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := &Client{record: newRecorder("secret")}
		retry, _ := readSSE(strings.NewReader(text), func(m sseMessage) bool {
			if len(m.data) == 0 || len(m.data) > 2*maxEvent {
				t.Errorf("%d bytes", len(m.data))
			}
			for _, e := range c.events(m.data) {
				if strings.Contains(e.Message, "secret") {
					t.Error("a secret")
				}
			}
			return true
		})
		if retry < 0 || retry > time.Hour {
			t.Errorf("retry %s", retry)
		}
	})
}
