package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// netbootAddress is where a rackproof that runs in the lab's network serves boots.
	netbootAddress = ProvisioningAddress + ":8080"
	// tftpRoot holds iPXE for firmware that has none in its ROM.
	tftpRoot = "/usr/lib/ipxe"

	dnsmasqLog   = "dnsmasq.log"
	dnsmasqStart = 10 * time.Second
)

// dnsmasqConfig makes the provisioning network answer every kind of firmware: iPXE
// (QEMU's ROMs are iPXE, for BIOS and for UEFI) is given rackproof's script; what is
// no iPXE gets one over TFTP; UEFI HTTP boot gets an address. Only machines of the
// lab are answered.
func dnsmasqConfig(dir string, specs []Spec) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("port=0") // no DNS
	line("interface=%s", ProvisioningBridge)
	line("bind-interfaces")
	line("user=root") // the folder is root's alone
	line("dhcp-range=%s,static,255.255.255.0,1h", strings.TrimSuffix(ProvisioningAddress, "1")+"0")
	line("dhcp-authoritative")
	line("dhcp-option=option:router") // there is no way out
	line("dhcp-leasefile=%s", filepath.Join(dir, "dnsmasq.leases"))
	line("log-dhcp")
	line("enable-tftp")
	line("tftp-root=%s", tftpRoot)
	for _, s := range specs {
		line("dhcp-host=%s,%s,%s", s.HostMAC(), s.HostIP(), s.Name)
	}
	line("dhcp-userclass=set:ipxe,iPXE")
	line("dhcp-match=set:bios,option:client-arch,0")
	line("dhcp-match=set:efi64,option:client-arch,7")
	line("dhcp-match=set:efi64,option:client-arch,9")
	line("dhcp-option=tag:ipxe,encap:175,176,1b") // no-pxedhcp: else iPXE waits for a ProxyDHCP server
	// iPXE asks for a router of IPv6 for 15 s; this one leads nowhere.
	line("enable-ra")
	line("dhcp-range=%s,ra-only,64,1h", provisioningPrefix)
	line("ra-param=%s,0,0", ProvisioningBridge)
	line("dhcp-boot=tag:ipxe,http://%s/pxe.ipxe", netbootAddress)
	line("dhcp-boot=tag:!ipxe,tag:bios,undionly.kpxe")
	line("dhcp-boot=tag:!ipxe,tag:efi64,snponly.efi")
	// UEFI HTTP boot (architecture 16) has its URI from the BMC. EDK II then takes a
	// plain offer, or one of HTTPClient with a URI by address, but none in between.
	return b.String()
}

// startDnsmasq serves DHCP and TFTP to the machines, in the namespace that this
// process is in, and returns when it does. Its log is <dir>/dnsmasq.log.
func startDnsmasq(ctx context.Context, dir string, specs []Spec) (stop func() error, err error) {
	config := filepath.Join(dir, "dnsmasq.conf")
	if err := os.WriteFile(config, []byte(dnsmasqConfig(dir, specs)), 0o600); err != nil {
		return nil, fmt.Errorf("DHCP: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, dnsmasqLog), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("DHCP: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	program, err := exec.LookPath("dnsmasq")
	if err != nil {
		program = "/usr/sbin/dnsmasq" // a user's PATH may lack it
	}
	cmd := exec.CommandContext(ctx, program, "--keep-in-foreground", "--conf-file="+config, "--log-facility=-", "--pid-file=")
	ready := &mark{text: []byte(": started, version "), seen: make(chan struct{})}
	cmd.Stderr = io.MultiWriter(log, ready)
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("DHCP: %w", err), log.Close())
	}
	var ended error
	gone := make(chan struct{})
	go func() {
		ended = cmd.Wait()
		close(gone)
	}()
	late := time.NewTimer(dnsmasqStart)
	defer late.Stop()
	select {
	case <-ready.seen:
		return func() error {
			cancel()
			<-gone
			return log.Close()
		}, nil
	case <-gone:
		err = fmt.Errorf("dnsmasq ended: %w", ended)
	case <-late.C:
		err = fmt.Errorf("dnsmasq does not say that it has started within %s", dnsmasqStart)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	cancel()
	<-gone
	return nil, errors.Join(fmt.Errorf("DHCP: %w: %s", err, lastLine(ready.all.String())), log.Close())
}

// mark tells when a text has been written to it.
type mark struct {
	text []byte
	seen chan struct{}
	all  bytes.Buffer
	done bool
}

func (m *mark) Write(p []byte) (int, error) {
	if m.done {
		return len(p), nil
	}
	m.all.Write(p)
	if bytes.Contains(m.all.Bytes(), m.text) {
		m.done = true
		close(m.seen)
	}
	return len(p), nil
}
