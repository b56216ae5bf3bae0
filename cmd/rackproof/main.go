// Some BMCs sign themselves a certificate with a negative serial number, which Go
// refuses from 1.23 on before the pin is compared. The pin is what we trust.
//go:debug x509negativeserial=1

// Command rackproof takes racked GPU servers from "has a BMC" to "tested, with
// proof".
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends us at once
	code := Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
