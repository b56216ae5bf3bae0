package main

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func (a *app) bmcPassword(o *bmcOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "password rotate",
		Short: "Give the account a new password",
		Long:  "Give the account a new password, which is in your store before it is set.\n\n" + exitHelp,
		RunE: func(*cobra.Command, []string) error {
			return usageError(errors.New("say `password rotate`"), "rackproof bmc --help")
		},
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(a.bmcRotate(o))
	return cmd
}

const rotateLong = `Give the account of --user a new password of 16 characters. It is written to your
store and read back before it is set, and proven by a login over Redfish and, where
that is on, IPMI. If it is cut, run it again: the new password is tried, then the
old, once each. On a BMC that wants a new password before anything else, this sets it.

The store is a file of mode 0600, a file encrypted by age to the identity that opens it,
or a pair of commands: --store prints the password, --store-set takes it on its standard
input.

Examples:
  rackproof bmc 10.0.12.7 password rotate --password file:tag/r12u07 --store file:bmc/r12u07
  rackproof bmc 10.0.12.7 password rotate --store age:bmc/r12u07.age#keys/site.txt
  rackproof bmc 10.0.12.7 password rotate --store 'command:pass show bmc/r12u07' --store-set 'pass insert -e bmc/r12u07'

`

func (a *app) bmcRotate(o *bmcOptions) *cobra.Command {
	var store, set string
	cmd := &cobra.Command{
		Use:   "rotate --store REF",
		Short: "Write a new password to your store, set it, prove it",
		Long:  rotateLong + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := a.rotate(cmd.Context(), o, store, set)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"rotated": true, "store": store, "resumed": out.Resumed, "verified": out.Verified, "note": out.Note})
			}
			a.printf("new password set and proven over %s; it is in %s\n", strings.Join(out.Verified, " and "), store)
			if out.Note != "" {
				a.progress("%s", out.Note)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&store, "store", "", "`reference` to where the new password is kept: file:PATH, age:FILE#IDENTITY or command:LINE")
	f.StringVar(&set, "store-set", "", "`command` that keeps what it reads on standard input, for a store that is a command")
	return cmd
}

func (a *app) rotate(ctx context.Context, o *bmcOptions, store, set string) (provision.Rotated, error) {
	if o.protocol != string(provision.OverRedfish) {
		return provision.Rotated{}, usageError(errors.New("a password is changed over Redfish: leave --protocol out"), "rackproof bmc --help")
	}
	cfg, state, err := a.bmcConfig(ctx, o)
	if err != nil {
		return provision.Rotated{}, usageError(err, "rackproof bmc --help")
	}
	keep, err := passwordStore(store, set, o.password, filepath.Join(state, "rotations", unsafeInName.ReplaceAllString(cfg.Key(), "-")))
	if err != nil {
		return provision.Rotated{}, usageError(err, "rackproof bmc ADDR password rotate --help")
	}
	lease, err := a.leaseBMC(o, state)
	if err != nil {
		return provision.Rotated{}, err
	}
	defer func() { _ = lease.Release() }()
	bastions := provision.Bastions{Log: a.log}
	defer func() { _ = bastions.Close() }()
	if o.via != "" {
		cfg.Dial = bastions.Dialer(o.via)
	}
	out, err := provision.Rotation{Config: cfg, Store: keep}.Run(ctx)
	return out, bmcError(o.addr, err)
}

var unsafeInName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// passwordStore reads --store and --store-set. Without a store nothing is rotated.
func passwordStore(store, set, old, mark string) (provision.PasswordStore, error) {
	kind, rest, _ := strings.Cut(store, ":")
	switch {
	case store == "":
		return nil, errors.New("--store is missing: a password that is kept nowhere is not set")
	case kind == "file" && rest != "" && set == "":
		return provision.FileStore{Path: provision.ExpandHome(rest)}, nil
	case kind == "age" && set == "":
		return provision.ParseAgeStore(rest)
	case kind == "command" && rest != "" && set != "":
		if store == old {
			return nil, errors.New("--store holds the old password: it would be overwritten before the new one is proven; give the old one to --password from elsewhere")
		}
		return provision.CommandStore{Set: set, Get: rest, Mark: mark}, nil
	}
	return nil, errors.New("--store: use file:PATH, age:FILE#IDENTITY, or command:LINE with --store-set LINE")
}
