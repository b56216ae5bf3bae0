package provision

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// match gives every line of the order its machine, and tells of those that have none.
func (in *Intake) match(visits []*askedBMC, goods *Goods) {
	taken := map[*askedBMC]bool{}
	for _, l := range in.Order.Lines {
		r := Received{Serial: l.Serial, Name: l.Name, Rack: l.Rack, U: l.U, Line: l.Pos.Line, Compared: []Comparison{}}
		in.fromBatch(&r)
		say := sayersOf(l.Serial, visits)
		for _, v := range say {
			taken[v] = true
		}
		here := apart(say)
		switch {
		case len(here) == 1:
			r.take(here[0], l.Serial)
			r.Compared = append(r.Compared, here[0].compare(l)...)
			r.State = worstOf(r.Compared)
			if len(l.Parts) == 0 && l.Model == "" && l.Factory == nil {
				r.Why = "the order says nothing but the serial"
			}
		case len(here) > 1:
			r.State, r.BMC = NotTold, addresses(here)
			r.Why = fmt.Sprintf("several machines say S/N %s: %s; name each by its own serial (system or service tag, not that of the chassis)", l.Serial, r.BMC)
		default:
			in.absent(&r, visits, taken)
		}
		goods.Machines = append(goods.Machines, r)
	}
	for _, v := range visits {
		if taken[v] {
			continue
		}
		r := Received{State: NotExpected, Compared: []Comparison{}}
		r.take(v, "")
		if v.err != nil {
			r.State, r.Why = NotRead, v.err.Error()
		}
		goods.Machines = append(goods.Machines, r)
	}
	slices.SortStableFunc(goods.Machines, func(a, b Received) int {
		return cmp.Compare(slices.Index(receivedOrder, a.State), slices.Index(receivedOrder, b.State))
	})
}

// absent says why no machine was compared with a line: its BMC keeps us out, or nobody
// says that serial.
func (in *Intake) absent(r *Received, visits []*askedBMC, taken map[*askedBMC]bool) {
	r.State, r.Why = NotFound, fmt.Sprintf("none of %d BMCs that were asked says this serial: is it unpacked, its power and BMC cable in, its address in what was searched?", len(visits))
	for _, v := range visits {
		if !strings.EqualFold(v.said, r.Serial) {
			continue
		}
		r.BMC = v.addr
		if v.err != nil {
			r.State, r.Why, taken[v] = NotRead, v.err.Error(), true
			return
		}
		r.Why = fmt.Sprintf("at its address %s is another machine: %s", v.addr, serials(v.inv.System))
	}
}

func (in *Intake) fromBatch(r *Received) {
	if in.Batch == nil {
		return
	}
	for _, m := range in.Batch.Machines {
		if strings.EqualFold(m.Serial, r.Serial) {
			r.Name, r.Rack, r.U = or(r.Name, m.Name), or(r.Rack, m.Rack), max(r.U, m.U)
		}
	}
}

// take takes over what a BMC says of its machine.
func (r *Received) take(v *askedBMC, serial string) {
	id := v.inv.System
	r.BMC, r.UUID, r.Power, r.Model = v.addr, id.UUID, string(v.power), strings.TrimSpace(id.Manufacturer+" "+id.Model)
	r.SerialIs, _ = id.Match(serial)
	if r.Serial == "" {
		r.Serial = or(id.ServiceTag, or(id.SystemSerial, or(id.ChassisSerial, id.BoardSerial)))
	}
}

// ownSerials are the members of the identity set that no two machines share; a chassis
// may hold several.
var ownSerials = []string{"service_tag", "system_serial", "sku"}

// sayersOf are the BMCs whose machine has a serial as its own, or, where none has, as
// that of its chassis or board.
func sayersOf(serial string, visits []*askedBMC) []*askedBMC {
	var own, other []*askedBMC
	for _, v := range visits {
		if v.err != nil || !v.asked {
			continue
		}
		member, ok := v.inv.System.Match(serial)
		switch {
		case !ok:
		case slices.Contains(ownSerials, member):
			own = append(own, v)
		default:
			other = append(other, v)
		}
	}
	if len(own) > 0 {
		return own
	}
	return other
}

// apart leaves one of a BMC that answers at several addresses.
func apart(list []*askedBMC) []*askedBMC {
	var out []*askedBMC
	for _, v := range list {
		i := slices.IndexFunc(out, func(o *askedBMC) bool {
			a, b := v.inv.System, o.inv.System
			return a.UUID != "" && sameUUID(a.UUID, b.UUID) || a.BMCMAC != "" && a.BMCMAC == b.BMCMAC
		})
		if i < 0 {
			out = append(out, v)
			continue
		}
		out[i].addr += ", " + v.addr
	}
	return out
}

func addresses(visits []*askedBMC) string {
	var all []string
	for _, v := range visits {
		all = append(all, v.addr)
	}
	return strings.Join(all, ", ")
}

func worstOf(all []Comparison) Delivered {
	worst := AsExpected
	for _, c := range all {
		if slices.Index(receivedOrder, c.Verdict) < slices.Index(receivedOrder, worst) {
			worst = c.Verdict
		}
	}
	return worst
}
