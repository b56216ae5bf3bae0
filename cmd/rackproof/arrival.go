package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
)

const arrivalLong = `Compare machines as they arrived with the records of their test at the factory, by the
BMCs alone: GPUs, DIMMs, drives and PSUs part by part, by place and serial number, and
the MACs of the host's ports. Told are parts that are missing, moved, others or new; a
part of which the BMC tells no serial number is unknown. What the BMC has logged since
is told and not judged. It reads; it switches, restarts and sets nothing.

A RECORD is a run of this state folder, a folder of a run or machine, or the evidence
packet of a machine (.tar.gz). Each machine is found by its serial wherever it answers:
at the addresses of a batch (-f, with its logins), and where else is said:
  --at ADDRESS|NETWORK   10.0.12.7, 10.0.12.0/24
  --leases FILE          addresses in a lease file
  --interface IF         who is on that link

Links and what needs a load are proven by a run behind it, with spec site. The exit
code is 5 where a machine is not found or not read, 3 where one differs, 4 where
something is unknown. Others that answer are listed; --strict counts them as well.

Examples:
  rackproof arrival packets/*.tar.gz --at 10.20.12.0/24 --out arrived.csv
  rackproof arrival po4711-r12 -f site.yaml --json

`

func arrivalCommand(a *app) *cobra.Command {
	o := intakeOptions{bmc: newBMCOptions()}
	var at []string
	var strict bool
	cmd := &cobra.Command{
		Use:   "arrival RECORD…",
		Short: "Compare machines on arrival with their records, by the BMCs alone",
		Long:  arrivalLong + exitHelp,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.shared = !strict
			order, err := a.factoryOrder(args)
			if err != nil {
				return err
			}
			return a.compareGoods(cmd.Context(), o, order, at, arrivalWords)
		},
	}
	f := cmd.Flags()
	o.flags(f)
	f.StringArrayVar(&at, "at", nil, "`address|network` where BMCs may be; may be repeated")
	f.BoolVar(&strict, "strict", false, "a machine that answers and is in no record counts as well")
	return cmd
}

// factoryOrder makes of records what is to arrive. Each machine stands in one of them.
func (a *app) factoryOrder(names []string) (*provision.Order, error) {
	judged, err := a.judgedBy(judgeFlags{})
	if err != nil {
		return nil, err
	}
	order := &provision.Order{Comma: ','}
	seen := map[string]string{}
	for _, name := range names {
		path, err := a.evidencePath(name)
		if err != nil {
			return nil, err
		}
		ms, err := judged.Folder(path)
		if err != nil {
			return nil, usageError(err, "name a run of `rackproof status`, or an evidence folder or tarball")
		}
		for _, m := range ms {
			l, err := provision.FactoryLine(m.Record)
			if err == nil && seen[l.Serial] != "" {
				err = fmt.Errorf("%s and %s are both records of S/N %s: give the later one", seen[l.Serial], name, l.Serial)
			}
			if err != nil {
				return nil, usageError(err, "")
			}
			seen[l.Serial] = name
			l.Pos = profiles.Position{File: name, Line: len(order.Lines) + 1}
			order.Lines = append(order.Lines, l)
		}
	}
	return order, nil
}

// arrivalWords are the states of machines on arrival.
var arrivalWords = goodsWords{
	said: map[provision.Delivered]string{
		provision.AsExpected: "UNCHANGED", provision.Differs: "DIFFERS", provision.NotTold: "UNKNOWN",
		provision.NotFound: "NOT FOUND", provision.NotRead: "NOT READ", provision.NotExpected: "NO RECORD",
	},
	total: "records",
}

// compareGoods looks for the machines and prints how they compare.
func (a *app) compareGoods(ctx context.Context, o intakeOptions, order *provision.Order, at []string, words goodsWords) error {
	in, err := a.newIntake(ctx, o, order, at)
	if _, ours := errors.AsType[*exitError](err); err != nil && !ours {
		err = usageError(err, "")
	}
	if err != nil {
		return err
	}
	return a.intake(ctx, o, in, words)
}
