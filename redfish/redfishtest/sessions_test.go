package redfishtest

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// oneSystem is the least that starts.
func oneSystem() Tree {
	return Tree{
		"/redfish/v1":                json.RawMessage(`{"Systems":{"@odata.id":"/redfish/v1/Systems"},"SessionService":{"@odata.id":"/redfish/v1/SessionService"}}`),
		"/redfish/v1/SessionService": json.RawMessage(`{"SessionTimeout":30}`),
		"/redfish/v1/Systems":        json.RawMessage(`{"Members":[{"@odata.id":"/redfish/v1/Systems/1"}]}`),
		"/redfish/v1/Systems/1": json.RawMessage(`{"Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/1/Reset",
			"ResetType@Redfish.AllowableValues":["On"]}}}`),
	}
}

// A session that nobody used for the tree's SessionTimeout is gone; use keeps it.
func TestSessionTimeout(t *testing.T) {
	b, err := Start(t.Context(), Options{Tree: oneSystem()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	opened := b.login(&request{method: http.MethodPost, body: map[string]any{"UserName": "admin", "Password": "password"}})
	token := opened.header.Get("X-Auth-Token")
	read := &request{method: http.MethodGet, key: "/redfish/v1/Systems/1", header: http.Header{"X-Auth-Token": {token}}}

	b.sessions.open[token].used = time.Now().Add(-29 * time.Second)
	if answer, refused := b.authorize(read); refused {
		t.Fatalf("refused within its time: %d", answer.status)
	}
	if age := time.Since(b.sessions.open[token].used); age > 10*time.Second {
		t.Errorf("use did not renew it: %v", age)
	}
	b.sessions.open[token].used = time.Now().Add(-31 * time.Second)
	if _, refused := b.authorize(read); !refused {
		t.Error("let in after its time")
	}
	if b.ledger.acts["session.expire"] != 1 || b.ledger.unauthorized != 1 {
		t.Errorf("acts %v, %d refusals", b.ledger.acts, b.ledger.unauthorized)
	}
}
