package redfishtest

import (
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
)

// discoverNetwork lets the managers' own ports, their protocols and their clock be set.
func (b *BMC) discoverNetwork(root map[string]any) {
	for _, uri := range b.membersOf(link(root, "Managers")) {
		manager, err := b.store.object(uri)
		if err != nil {
			continue
		}
		key, _ := b.store.find(uri)
		b.routes[key] = route{http.MethodPatch: b.patchClock}
		for _, port := range b.membersOf(link(manager, "EthernetInterfaces")) {
			key, _ := b.store.find(port)
			b.routes[key] = route{http.MethodPatch: b.patchPort}
		}
		if protocols := link(manager, "NetworkProtocol"); protocols != "" {
			key, _ := b.store.find(protocols)
			b.routes[key] = route{http.MethodPatch: b.patchProtocols}
		}
	}
}

// patchPort is PATCH on a manager's EthernetInterface. A new address takes the BMC
// there: with its port, where this computer has that address, and else away for good.
func (b *BMC) patchPort(req *request) reply {
	object, err := b.store.object(req.key)
	if err != nil {
		return notFound(req.uri)
	}
	var problems []message
	for _, name := range slices.Sorted(maps.Keys(req.body)) {
		if _, known := object[name]; !known {
			problems = append(problems, propertyProblem("PropertyUnknown", name, nil))
		}
	}
	if len(problems) > 0 {
		return failures(http.StatusBadRequest, problems...)
	}
	to := ""
	for _, list := range []string{"IPv4StaticAddresses", "IPv4Addresses"} {
		if addresses, ok := req.body[list].([]any); ok && len(addresses) > 0 {
			to = text(addresses[0], "Address")
			object["IPv4Addresses"] = addresses
		}
	}
	for name, value := range req.body {
		merge(object, name, value)
	}
	if servers, ok := req.body["StaticNameServers"]; ok && !onDHCP(object) {
		object["NameServers"] = servers
	}
	b.effect(req, "network.set", strings.Join(slices.Sorted(maps.Keys(req.body)), " "), func() {
		if err := b.store.put(req.key, object); err != nil {
			b.log.Error("cannot keep network settings", "error", err)
		}
		_, lost := b.faults.fire("network-gone")
		if host, _, _ := net.SplitHostPort(b.listener.Addr().String()); lost || to != "" && to != host {
			b.spawn(func() { b.moveTo(to, lost) })
		}
	})
	return b.vendor.changed()
}

// onDHCP reports that a port shows the name servers that DHCP gave.
func onDHCP(port map[string]any) bool {
	dhcp, _ := port["DHCPv4"].(map[string]any)
	return dhcp["DHCPEnabled"] == true
}

// merge lays an object over another, and replaces what is none.
func merge(object map[string]any, name string, value any) {
	fresh, isObject := value.(map[string]any)
	old, wasObject := object[name].(map[string]any)
	if !isObject || !wasObject {
		object[name] = value
		return
	}
	maps.Copy(old, fresh)
}

// moveTo takes the BMC to another address; its old connections are dead. lost is one at
// which nobody finds it.
func (b *BMC) moveTo(host string, lost bool) {
	b.mu.Lock()
	old := b.listener
	b.mu.Unlock()
	_, port, _ := net.SplitHostPort(old.Addr().String())
	var fresh net.Listener
	if !lost {
		var err error
		if fresh, err = (&net.ListenConfig{}).Listen(b.ctx, "tcp", net.JoinHostPort(host, port)); err != nil {
			b.log.Warn("simulated BMC has moved to where nobody finds it", "address", host, "error", err)
		}
	}
	b.mu.Lock()
	b.movedFrom, _, _ = net.SplitHostPort(old.Addr().String())
	if fresh != nil {
		b.listener = fresh
	}
	b.ledger.act(Act{Name: "network.move", Detail: host})
	b.mu.Unlock()
	_ = old.Close()
	if fresh != nil {
		_ = b.server.Serve(tls.NewListener(fresh, b.server.TLSConfig)) // ends with the BMC
	}
}

// stale reports a connection to the address that the BMC had before.
func (b *BMC) stale(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	host, _, _ := net.SplitHostPort(local.String())
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.movedFrom != "" && host == b.movedFrom
}

// patchProtocols is PATCH on ManagerNetworkProtocol.
func (b *BMC) patchProtocols(req *request) reply {
	object, err := b.store.object(req.key)
	if err != nil {
		return notFound(req.uri)
	}
	for name, value := range req.body {
		if _, known := object[name]; !known {
			return failures(http.StatusBadRequest, propertyProblem("PropertyUnknown", name, nil))
		}
		merge(object, name, value)
	}
	b.effect(req, "network.set", strings.Join(slices.Sorted(maps.Keys(req.body)), " "), func() { _ = b.store.put(req.key, object) })
	return b.vendor.changed()
}

// patchClock is PATCH of a manager's DateTime.
func (b *BMC) patchClock(req *request) reply {
	if _, ok := req.body["DateTime"].(string); !ok || len(req.body) != 1 {
		return failures(http.StatusBadRequest, propertyProblem("PropertyNotWritable", "DateTime", nil))
	}
	b.effect(req, "clock.set", "", func() { delete(b.faults, "clock-skew") })
	return b.vendor.changed()
}
