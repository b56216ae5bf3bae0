package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// fakeQEMU answers each command by what answers holds for it, and reports the
// commands that came.
func fakeQEMU(t *testing.T, answers map[string]string) (net.Conn, <-chan string) {
	t.Helper()
	near, far := net.Pipe()
	commands := make(chan string, 16)
	go func() {
		defer func() { _ = far.Close() }()
		_, _ = fmt.Fprintln(far, `{"QMP": {"version": {"qemu": {"major": 7}}, "capabilities": []}}`)
		lines := bufio.NewScanner(far)
		for lines.Scan() {
			commands <- lines.Text()
			for command, answer := range answers {
				if strings.Contains(lines.Text(), `"execute":"`+command+`"`) {
					_, id, _ := strings.Cut(lines.Text(), `"id":`)
					_, _ = fmt.Fprintln(far, strings.ReplaceAll(answer, "$ID", strings.TrimRight(id, "}")))
				}
			}
		}
	}()
	t.Cleanup(func() { _ = near.Close() })
	return near, commands
}

const qmpOK = `{"return": {}, "id": $ID}`

func TestQMP(t *testing.T) {
	conn, commands := fakeQEMU(t, map[string]string{
		"qmp_capabilities":      qmpOK,
		"query-status":          `{"event": "RESUME"}` + "\n" + `{"return": {"running": true}, "id": $ID}`,
		"qom-set":               `{"error": {"class": "GenericError", "desc": "no such property"}, "id": $ID}`,
		"human-monitor-command": `{"return": "unknown command\r\n", "id": $ID}`,
	})
	events := make(chan string, 1)
	q, err := openQMP(t.Context(), conn, func(e qmpEvent) { events <- e.Event })
	if err != nil {
		t.Fatal(err)
	}
	<-commands
	var status struct{ Running bool }
	if err := q.do(t.Context(), "query-status", nil, &status); err != nil || !status.Running {
		t.Errorf("status %+v, %v", status, err)
	}
	if e := <-events; e != "RESUME" {
		t.Errorf("event %q", e)
	}
	if err := q.set(t.Context(), "/machine", "nothing", 1); err == nil || !strings.Contains(err.Error(), "no such property") {
		t.Errorf("qom-set: %v", err)
	}
	if err := q.hmp(t.Context(), "mce 9"); err == nil || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("monitor: %v", err)
	}
}

// A command that waits must not wait for a QEMU that has ended.
func TestQMPEnds(t *testing.T) {
	conn, commands := fakeQEMU(t, map[string]string{"qmp_capabilities": qmpOK})
	q, err := openQMP(t.Context(), conn, func(qmpEvent) {})
	if err != nil {
		t.Fatal(err)
	}
	<-commands
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := q.do(ctx, "query-status", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer: %v", err)
	}
	go func() {
		<-commands
		<-commands
		q.close()
	}()
	if err := q.do(t.Context(), "query-status", nil, nil); !errors.Is(err, errQMPEnded) {
		t.Errorf("ended while it waits: %v", err)
	}
	<-q.gone
	if err := q.do(t.Context(), "query-status", nil, nil); !errors.Is(err, errQMPEnded) {
		t.Errorf("ended before: %v", err)
	}
}

func TestQMPGreeting(t *testing.T) {
	for name, greeting := range map[string]string{"other program": "SSH-2.0-OpenSSH", "other JSON": `{"hello": 1}`, "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			go func() { _, _ = fmt.Fprintln(far, greeting); _ = far.Close() }()
			if _, err := openQMP(t.Context(), near, func(qmpEvent) {}); err == nil {
				t.Error("taken for QEMU")
			}
		})
	}
}
