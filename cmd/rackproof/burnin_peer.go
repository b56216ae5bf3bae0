package main

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
)

// peerFlags say with which other machine the network is measured.
type peerFlags struct{ host, address string }

func (f *peerFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.host, "peer", "", "measure the network with this machine too, rail by rail: its SSH, as -H; it must be idle")
	flags.StringVar(&f.address, "peer-address", "", "`address` of the peer at which it listens while it measures (default: that of --peer)")
}

// openPair is a pair whose peer we have opened.
type openPair struct {
	burnin.Pair
	close func()
}

// pair opens the peer, where one is named, and says what will be done with it.
func (a *app) pair(ctx context.Context, f *burninFlags, pair burnin.Pair) (*openPair, error) {
	if f.peer.host == "" {
		if f.peer.address != "" {
			return nil, usageError(fmt.Errorf("--peer-address %s belongs to a peer", f.peer.address), "--peer user@host")
		}
		return &openPair{Pair: pair, close: func() {}}, nil
	}
	peer := f.node
	peer.host, peer.local = f.peer.host, false
	if err := peer.check(); err != nil {
		return nil, err
	}
	pair.Name, pair.Addr = peer.name(), f.peer.address
	if pair.Addr == "" {
		pair.Addr = pair.Name
		if net.ParseIP(pair.Addr) == nil {
			found, err := net.DefaultResolver.LookupHost(ctx, pair.Addr)
			if err != nil || len(found) == 0 {
				return nil, usageError(fmt.Errorf("--peer %s: its address is not known here: %w", pair.Addr, err), "name it with --peer-address")
			}
			pair.Addr = found[0]
		}
	}
	sh, _, err := peer.open(ctx, a.log, func(s string) { a.progress("%s: %s", pair.Name, s) })
	if err != nil {
		return nil, err
	}
	pair.Peer = sh
	a.progress("%s: measures the network with %s first, rail by rail; %s listens at %s while a pair is measured. Leaves nothing.", f.node.name(), pair.Name, pair.Name, pair.Addr)
	return &openPair{Pair: pair, close: func() { _ = sh.Close() }}, nil
}
