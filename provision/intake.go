package provision

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// Intake compares a delivery with its order by the BMCs alone: nothing is switched,
// restarted or set.
type Intake struct {
	Order  *Order
	Batch  *Batch  // its machines are asked where and as it says; nil = none
	Search Search  // further places
	Login  Machine // how BMCs are logged in to that no batch names
	Bench  *Bench
	Keep   string // folder that takes the inventories as evidence; "" = they are not kept
	Shared bool   // others than the machines ordered may answer as well

	Progress func(asked, of int) // BMCs whose inventory was read or not; may be nil
}

// States of a machine at goods-in beside those of Delivered.
const (
	NotFound    Delivered = "not_found"    // ordered, and no BMC says so
	NotRead     Delivered = "not_read"     // a BMC answers and keeps us out
	NotExpected Delivered = "not_expected" // here, and in no line of the order
)

// receivedOrder is the order in which people want to read them.
var receivedOrder = []Delivered{NotFound, NotRead, Differs, NotTold, NotExpected, AsExpected}

// Received is one machine at goods-in.
type Received struct {
	State    Delivered    `json:"state"`
	Serial   string       `json:"serial"` // as ordered, else as the BMC says
	Name     string       `json:"name"`
	Rack     string       `json:"rack"`
	U        int          `json:"u"`
	Line     int          `json:"line"` // of the order; 0 = none
	BMC      string       `json:"bmc"`
	SerialIs string       `json:"serial_is"` // member of the identity set that the serial equals
	Model    string       `json:"model"`
	UUID     string       `json:"uuid"`
	Power    string       `json:"power"`
	Why      string       `json:"why,omitempty"`
	Compared []Comparison `json:"compared"`
}

// Where is the place as people say it, or "".
func (r Received) Where() string { return place(r.Rack, r.U) }

// Open are the comparisons that say more than "as ordered".
func (r Received) Open() []Comparison {
	return slices.DeleteFunc(slices.Clone(r.Compared), func(c Comparison) bool { return c.Verdict == AsExpected })
}

// Goods is a delivery beside its order.
type Goods struct {
	Machines []Received
	Notes    []string // what could not be looked at, and why
	Shared   bool
}

// Count counts the machines in a state.
func (g Goods) Count(state Delivered) (n int) {
	for _, m := range g.Machines {
		if m.State == state {
			n++
		}
	}
	return n
}

// ExitCode is the exit status: 5 where a person must find, let in or claim a machine, 3
// where one differs, 4 where the BMC cannot tell, 0 where all is as ordered.
func (g Goods) ExitCode() int {
	foreign := 0
	if !g.Shared {
		foreign = g.Count(NotExpected)
	}
	switch {
	case g.Count(NotFound)+g.Count(NotRead)+foreign > 0:
		return exitNotFinished
	case g.Count(Differs) > 0:
		return exitHardware
	case g.Count(NotTold) > 0:
		return exitIncomplete
	}
	return exitPassed
}

// askedBMC is one BMC, as it was asked.
type askedBMC struct {
	machine Machine
	said    string // serial that it tells before a login, or that a list gives this address
	addr    string
	inv     redfish.Inventory
	power   redfish.PowerState
	err     error
	asked   bool // false: no password was sent

	tree burnin.BMCTree     // as records have it; read for an arrival
	log  []redfish.LogEntry // likewise

	logGap string // why not all of it was read
}

const (
	intakeParallel = 16
	intakePatience = 5 * time.Minute // for the inventory of one machine
)

// Run looks for the machines, reads their inventories and compares. It ends with ctx.
func (in *Intake) Run(ctx context.Context) (Goods, error) {
	goods := Goods{Shared: in.Shared}
	visits, err := in.places(ctx, &goods)
	if err != nil {
		return goods, err
	}
	in.ask(ctx, visits)
	if ctx.Err() != nil {
		return goods, context.Cause(ctx)
	}
	in.match(visits, &goods)
	return goods, nil
}

// places are the BMCs to ask: those of batch and order, and what a search finds.
func (in *Intake) places(ctx context.Context, goods *Goods) ([]*askedBMC, error) {
	var visits []*askedBMC
	known := map[string]bool{}
	take := func(v *askedBMC) {
		if key := v.machine.bmcAddr(); !known[key] {
			known[key] = true
			visits = append(visits, v)
		}
	}
	if in.Batch != nil {
		for _, m := range in.Batch.Machines {
			take(&askedBMC{machine: m, said: m.Serial, addr: m.BMC, asked: true})
		}
	}
	for _, l := range in.Order.Lines {
		if l.BMC != "" {
			take(&askedBMC{machine: in.at(l.BMC), said: l.Serial, addr: l.BMC, asked: true})
		}
	}
	if len(in.Search.Sightings)+len(in.Search.Interfaces) == 0 {
		return visits, nil
	}
	found, err := Discover(ctx, in.Search)
	if err != nil {
		return nil, err
	}
	goods.Notes = append(goods.Notes, found.Notes...)
	for _, o := range found.Odd {
		goods.Notes = append(goods.Notes, o.Addr+": "+o.What)
	}
	for _, d := range found.BMCs {
		v := &askedBMC{machine: in.at(d.Addr), said: d.Serial, addr: d.Addr, asked: true}
		v.machine.Login.Legacy = v.machine.Login.Legacy || d.Legacy
		switch {
		case !d.HasRedfish():
			v.asked, v.err = false, errors.New("it speaks IPMI alone: name it in a batch with protocol: ipmi, and give that with -f")
		case d.Serial != "" && !in.ordered(d.Serial):
			v.asked = false // no password for a machine that says it is another's
			v.inv.System = redfish.Identity{Manufacturer: d.Vendor, Model: d.Model, SystemSerial: d.Serial, BMCMAC: d.MAC}
		}
		take(v)
	}
	return visits, nil
}

// at is a machine of which nothing but its BMC's address is known.
func (in *Intake) at(addr string) Machine {
	m := in.Login
	m.Name, m.BMC = addr, addr
	return m
}

func (in *Intake) ordered(serial string) bool {
	return slices.ContainsFunc(in.Order.Lines, func(l OrderLine) bool {
		return slices.ContainsFunc(append([]string{l.Serial}, l.Also...), func(s string) bool { return strings.EqualFold(s, serial) })
	})
}

// ask reads the inventory of each.
func (in *Intake) ask(ctx context.Context, visits []*askedBMC) {
	open := in.Bench.openers().bmc
	places := make(chan struct{}, intakeParallel)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for _, v := range visits {
		if !v.asked {
			continue
		}
		wg.Go(func() {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			case <-ctx.Done():
				return
			}
			ctx, cancel := context.WithTimeout(ctx, intakePatience)
			defer cancel()
			v.err = in.Bench.Secrets.clean(in.read(ctx, open, v))
			mu.Lock()
			defer mu.Unlock()
			done++
			if in.Progress != nil {
				in.Progress(done, len(visits))
			}
		})
	}
	wg.Wait()
}

func (in *Intake) read(ctx context.Context, open func(context.Context, Machine) (BMC, error), v *askedBMC) (err error) {
	c, err := open(ctx, v.machine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	start := time.Now()
	if v.inv, err = c.Inventory(ctx); err != nil {
		return err
	}
	if v.power, err = c.Power(ctx); err != nil {
		return err
	}
	if in.arrival() {
		if err := v.readForArrival(ctx, c); err != nil {
			return err
		}
	}
	if in.Keep == "" {
		return nil
	}
	name := or(v.inv.System.ServiceTag, or(v.inv.System.SystemSerial, v.inv.System.UUID))
	if !fileSafe.MatchString(name) {
		name = strings.NewReplacer(":", "-", "[", "", "]", "", "%", "-").Replace(v.addr)
	}
	store, err := burnin.OpenStore(filepath.Join(in.Keep, name))
	if err != nil {
		return err
	}
	return keepBodies(store, probeInventory, c.Recorded(), start)
}
