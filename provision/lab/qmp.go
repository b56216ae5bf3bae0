package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
)

// qmpEvent is what QEMU says by itself.
type qmpEvent struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// qmp speaks QEMU's machine protocol over one connection.
type qmp struct {
	conn   net.Conn
	events func(qmpEvent)
	gone   chan struct{} // closed when all that QEMU said has been read

	mu      sync.Mutex
	next    int
	waiting map[int]chan qmpReply
	ended   error // set when the connection has ended
}

type qmpReply struct {
	ID     int             `json:"id"`
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Class string `json:"class"`
		Desc  string `json:"desc"`
	} `json:"error"`
}

var errQMPEnded = errors.New("QEMU has ended")

// openQMP reads QEMU's greeting and makes it take commands. Events are given to
// f, one after the other; f must not call back.
func openQMP(ctx context.Context, conn net.Conn, f func(qmpEvent)) (*qmp, error) {
	q := &qmp{conn: conn, events: f, gone: make(chan struct{}), waiting: map[int]chan qmpReply{}}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	dec := json.NewDecoder(conn)
	var greeting struct {
		QMP json.RawMessage `json:"QMP"`
	}
	if err := dec.Decode(&greeting); err != nil {
		return nil, fmt.Errorf("QEMU's greeting: %w", errors.Join(err, ctx.Err()))
	}
	if greeting.QMP == nil {
		return nil, errors.New("QEMU's greeting: not QMP")
	}
	go q.read(dec)
	if err := q.do(ctx, "qmp_capabilities", nil, nil); err != nil {
		return nil, err
	}
	return q, nil
}

// read hands out replies and events until the connection ends.
func (q *qmp) read(dec *json.Decoder) {
	defer close(q.gone)
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			q.end(err)
			return
		}
		var e qmpEvent
		if err := json.Unmarshal(raw, &e); err == nil && e.Event != "" {
			q.events(e)
			continue
		}
		var r qmpReply
		if err := json.Unmarshal(raw, &r); err != nil {
			q.end(err)
			return
		}
		q.mu.Lock()
		ch := q.waiting[r.ID]
		delete(q.waiting, r.ID)
		q.mu.Unlock()
		if ch != nil {
			ch <- r
		}
	}
}

func (q *qmp) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = errQMPEnded
	if !errors.Is(err, io.EOF) {
		q.ended = fmt.Errorf("%w: %w", errQMPEnded, err)
	}
	for id, ch := range q.waiting {
		delete(q.waiting, id)
		close(ch)
	}
}

// do runs one command. out takes what it returns, unless nil.
func (q *qmp) do(ctx context.Context, command string, arguments, out any) error {
	ch := make(chan qmpReply, 1)
	q.mu.Lock()
	if q.ended != nil {
		defer q.mu.Unlock()
		return fmt.Errorf("QMP %s: %w", command, q.ended)
	}
	q.next++
	id := q.next
	q.waiting[id] = ch
	q.mu.Unlock()
	request := map[string]any{"execute": command, "id": id}
	if arguments != nil {
		request["arguments"] = arguments
	}
	b, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("QMP %s: %w", command, err)
	}
	if _, err := q.conn.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("QMP %s: %w", command, err)
	}
	select {
	case r, ok := <-ch:
		return r.decode(command, ok, out)
	case <-ctx.Done():
		q.mu.Lock()
		delete(q.waiting, id)
		q.mu.Unlock()
		return fmt.Errorf("QMP %s: %w", command, ctx.Err())
	}
}

func (r qmpReply) decode(command string, ok bool, out any) error {
	switch {
	case !ok:
		return fmt.Errorf("QMP %s: %w", command, errQMPEnded)
	case r.Error != nil:
		return fmt.Errorf("QMP %s: %s", command, r.Error.Desc)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(r.Return, out); err != nil {
		return fmt.Errorf("QMP %s: %w", command, err)
	}
	return nil
}

// set changes a property of a device or object.
func (q *qmp) set(ctx context.Context, path, property string, value any) error {
	return q.do(ctx, "qom-set", map[string]any{"path": path, "property": property, "value": value}, nil)
}

// hmp runs a command of the human monitor, for what QMP lacks. What it prints is
// an error: the commands used here are silent when they work.
func (q *qmp) hmp(ctx context.Context, line string) error {
	var said string
	if err := q.do(ctx, "human-monitor-command", map[string]any{"command-line": line}, &said); err != nil {
		return err
	}
	if said = strings.TrimSpace(said); said != "" {
		return fmt.Errorf("QEMU monitor %q: %s", line, said)
	}
	return nil
}

// close ends the connection.
func (q *qmp) close() { _ = q.conn.Close() }
