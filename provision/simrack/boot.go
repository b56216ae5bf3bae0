package simrack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// boot is what the firmware does after POST: boot from the HTTP boot URI or the
// virtual CD where the override says so, and from disk when that fails or nothing else
// is set. It
// returns early when a power act overtakes it.
func (m *machine) boot(ctx context.Context, choice redfishtest.BootChoice) {
	boot, err := m.fromUs(ctx, choice)
	if err != nil {
		m.log.Warn("simulated machine could not boot what it was told and takes its disk", "err", err)
		boot = nil
	}
	if ctx.Err() != nil {
		return
	}
	kind, report := "host.boot."+bootKinds[choice.Target], func(context.Context) error { return nil }
	if boot == nil {
		kind = "host.boot.disk"
		boot = &netImage{Boot: nodetest.Boot{HostKey: m.diskKey, AuthorizedKey: m.rootKey, Cmdline: "BOOT_IMAGE=/vmlinuz root=/dev/md0 ro quiet"}}
	} else {
		report = func(ctx context.Context) error { return m.report(ctx, boot.up) }
	}
	m.mu.Lock()
	boot.IOMMU = m.iommu
	m.mu.Unlock()
	boot.BootID = newBootID()
	if err := m.node.Boot(ctx, boot.Boot); err != nil {
		m.log.Error("simulated machine does not come up", "err", err)
		return
	}
	m.count(kind)
	m.logBoot()
	if err := report(ctx); err != nil && ctx.Err() == nil {
		m.log.Warn("simulated machine could not report that it is up", "err", err)
	}
}

// logBoot writes what the BMC logs of a boot.
func (m *machine) logBoot() {
	m.mu.Lock()
	entries := append([]nodetest.Logged{{Severity: "OK", Sensor: "System Event", Message: "[SYS-0002] OEM System boot event"}}, m.hardware.Logged...)
	m.mu.Unlock()
	for _, e := range entries {
		_, err := m.bmc.AddLogEntry(logID, redfishtest.LogEntry{Severity: e.Severity, Sensor: e.Sensor, Message: e.Message, Code: "Assert"})
		if err != nil {
			m.log.Error("simulated BMC could not log", "err", err)
		}
	}
}

// bootKinds name a boot from us, by the target of its override.
var bootKinds = map[string]string{"UefiHttp": "http", "Cd": "cd"}

// applied notes what the new BIOS settings mean to the host.
func (m *machine) applied(_ context.Context, values map[string]any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := values[iommuAttribute]; ok {
		m.iommu = v == "Enable"
	}
}

// netImage is a boot over HTTP and where it reports to.
type netImage struct {
	nodetest.Boot
	up string
}

var (
	kernelLine = regexp.MustCompile(`(?m)^kernel (.+)$`)
	// programLine is what stands on a CD of the simulated image in the place of a program.
	programLine = regexp.MustCompile(`rackproof\.token=\w+ rackproof\.seed=\S+`)
	seedWord    = regexp.MustCompile(`rackproof\.seed=(\S+)`)
)

// fromUs boots what the override names. Nil without an error means that the firmware
// was not told to boot anything but its disk.
func (m *machine) fromUs(ctx context.Context, choice redfishtest.BootChoice) (*netImage, error) {
	var line []byte
	switch {
	case choice.Target == "UefiHttp" && choice.HTTPBootURI != "":
		script, err := fetch(ctx, choice.HTTPBootURI)
		if err != nil {
			return nil, err
		}
		kernel := kernelLine.FindSubmatch(script)
		if kernel == nil {
			return nil, errors.New("the boot script starts no kernel")
		}
		line = kernel[1]
	case choice.Target == "Cd" && choice.Media != "":
		cd, err := fetch(ctx, choice.Media)
		if err != nil {
			return nil, err
		}
		if line = programLine.Find(cd); line == nil {
			return nil, errors.New("the virtual CD holds no program")
		}
	default:
		return nil, nil
	}
	return m.seeded(ctx, line)
}

// seeded follows a kernel line to the seed that it names.
func (m *machine) seeded(ctx context.Context, line []byte) (*netImage, error) {
	uri := seedWord.FindSubmatch(line)
	if uri == nil {
		return nil, errors.New("the kernel line names no seed")
	}
	raw, err := fetch(ctx, string(uri[1]))
	if err != nil {
		return nil, err
	}
	var seed struct {
		HostKey        string `json:"host_key"`
		AuthorizedKeys string `json:"authorized_keys"`
	}
	if err := json.Unmarshal(raw, &seed); err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	image := &netImage{up: string(bytes.TrimSuffix(uri[1], []byte("seed"))) + "up"}
	image.Cmdline = string(line)
	if image.HostKey, err = ssh.ParsePrivateKey([]byte(seed.HostKey)); err != nil {
		return nil, fmt.Errorf("seed: host key: %w", err)
	}
	if image.AuthorizedKey, _, _, _, err = ssh.ParseAuthorizedKey([]byte(seed.AuthorizedKeys)); err != nil {
		return nil, fmt.Errorf("seed: authorized keys: %w", err)
	}
	return image, nil
}

// report tells the boot server that the host is up, as the live image does.
func (m *machine) report(ctx context.Context, uri string) error {
	m.mu.Lock()
	hw := m.hardware
	m.mu.Unlock()
	if hw.Impostor != nil {
		hw = hw.Impostor
	}
	body, err := json.Marshal(map[string]string{"uuid": hw.UUID, "serial": hw.SystemSerial, "address": ""})
	if err != nil {
		return err
	}
	_, err = exchange(ctx, http.MethodPost, uri, body)
	return err
}

func fetch(ctx context.Context, uri string) ([]byte, error) {
	return exchange(ctx, http.MethodGet, uri, nil)
}

// bootPatience is how long a machine tries one URI: a rackproof that is killed again and
// again comes back on the same port each time, and answers for a moment.
const bootPatience = 5 * time.Minute

// most is more than a script or a seed ever has, and how much is read of a CD: the
// program of the simulated image stands at its beginning.
const most = 1 << 20

// exchange sends one request until it is answered with success or patience ends.
func exchange(ctx context.Context, method, uri string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, bootPatience)
	defer cancel()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		answer, err := once(ctx, method, uri, body)
		if err == nil {
			return answer, nil
		}
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil, err
		}
	}
}

func once(ctx context.Context, method, uri string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, uri, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodGet {
		req.Header.Set("Range", fmt.Sprintf("bytes=0-%d", most-1)) // as a BMC reads an image
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: the boot network has none
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s %s: %s", method, uri, res.Status)
	}
	return io.ReadAll(io.LimitReader(res.Body, most))
}
