package burnin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// pairMark begins the line by which our own words stand beside a program's: the reason
// why a rail was not measured, or with "peer" the other end.
const pairMark = "#rackproof-pair "

// pairNetwork is the instance of a pair that is none of ports.
const pairNetwork = "network"

// commands are those of the server and of the client of a pair. The server listens at the one address,
// takes one client, and ends; whoever comes too early asks again.
func (p *Pair) commands(pair pairing, n int) (server, client string) {
	d, port := p.length(), strconv.Itoa(pairPort+n)
	bound := fmt.Sprintf("timeout -k 5 %d ", seconds(d)+30)
	addr := p.address()
	if pair.client.device == "" {
		server = bound + "iperf3 -s -1 -B " + addr + " -p " + port
		client = bound + fmt.Sprintf("iperf3 -c %s -p %s -J -t %d -P 4", addr, port, seconds(d))
	} else {
		end := func(r rail) string {
			return fmt.Sprintf("ib_write_bw -d %s -i %s -s 65536 -D %d --report_gbits -F -p %s", shellQuote(r.device), r.port, seconds(d), port)
		}
		server = bound + end(pair.server) + " --bind_source_ip " + addr
		client = bound + end(pair.client) + " " + addr
	}
	who := p.Name
	if pair.server.device != "" {
		who += " " + pair.server.device
	}
	return "exec " + server, Wrap("(\n" + fmt.Sprintf(`echo %s
n=0
while :; do
	%s >out.try 2>err.try; rc=$?
	n=$((n + 1))
	if [ "$rc" = 0 ] || [ "$n" -ge 4 ]; then break; fi
	sleep 1
done
cat out.try; cat err.try >&2
exit "$rc"`, shellQuote(pairMark+"peer "+who), client) + "\n)")
}

func (p *Pair) length() time.Duration {
	if p.For > 0 {
		return p.For
	}
	return pairTime
}

// address is where the server listens.
func (p *Pair) address() string {
	if p.Peer == nil {
		return "127.0.0.1"
	}
	return shellQuote(p.Addr)
}

// measure measures one pair. An error is that of the way to the node; a program that
// fails is evidence.
func (p *Pair) measure(ctx context.Context, here, there *pairEnd, pair pairing, n int) (*Evidence, error) {
	server, client := p.commands(pair, n)
	longest := p.length() + 2*time.Minute
	instance := pair.client.device
	if instance == "" {
		instance = pairNetwork
	}
	e := p.evidence(here, instance)
	e.Command, e.Started, e.Ended, e.Exit = client, time.Now().UTC(), EndedLost, nil
	serving, asking := fmt.Sprintf("pair-server-%d", n), fmt.Sprintf("pair-client-%d", n)
	if err := there.folder.start(ctx, serving, "load", server, longest); err != nil {
		return p.failed(ctx, e, err)
	}
	if err := pause(ctx, time.Second); err != nil { // until it listens
		return nil, err
	}
	if err := here.folder.start(ctx, asking, "load", client, longest); err != nil {
		return p.failed(ctx, e, err)
	}
	got := pairOutput{}
	for late := time.Now().Add(longest); time.Now().Before(late); {
		report, err := here.folder.poll(ctx, got.offsets())
		if err == nil && here != there {
			_, err = there.folder.poll(ctx, map[string]int64{}) // a sign of life
		}
		if err != nil && !errors.Is(err, errSlow) {
			return p.failed(ctx, e, err)
		}
		if err == nil {
			got.take(report.chunks)
			if u := unitOf(report.units, asking); u.over() {
				e.Seconds, e.Out, e.Err = u.seconds, got["units/"+asking+"/out"], got["units/"+asking+"/err"]
				if e.Ended = EndedSignal; u.state == "exit" {
					e.Ended, e.Exit = EndedExit, &u.exit
				}
				return e, nil
			}
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return p.without(here, instance, "the measurement did not end in time"), nil
}

// failed makes evidence of a way that broke, unless it is we who end.
func (p *Pair) failed(ctx context.Context, e *Evidence, err error) (*Evidence, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	one := 1
	e.Ended, e.Exit, e.Err = EndedExit, &one, []byte(pairMark+"the pair was not measured to its end: "+err.Error()+"\n")
	return e, nil
}

// pairOutput is what was fetched, by file of the node's folder.
type pairOutput map[string][]byte

func (o pairOutput) offsets() map[string]int64 {
	out := map[string]int64{}
	for file, b := range o {
		out[file] = int64(len(b))
	}
	return out
}

func (o pairOutput) take(chunks []chunk) {
	for _, c := range chunks {
		if int64(len(o[c.file])) == c.offset {
			o[c.file] = append(o[c.file], c.data...)
		}
	}
}
