package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// redfishFront is the Redfish BMC of a machine. What the machine does, whoever
// asked for it, shows here; what is asked for here the machine does.
type redfishFront struct {
	machine *Machine
	bmc     *redfishtest.BMC
	kick    chan struct{} // something changed: look at the machine
	end     context.CancelFunc
	done    chan struct{}

	vm   *vm              // whose start the BMC was told of
	boot BootChoice       // that the BMC was told of
	tree redfishtest.Tree // as last laid under the BMC
}

// startRedfish starts the machine's Redfish BMC at its address. What it returns
// ends it.
func startRedfish(ctx context.Context, m *Machine) (func() error, error) {
	tree, err := m.redfishTree()
	if err != nil {
		return nil, err
	}
	cert, err := m.bmc.certificate()
	if err != nil {
		return nil, err
	}
	f := &redfishFront{machine: m, kick: make(chan struct{}, 1), done: make(chan struct{}), tree: tree}
	f.bmc, err = redfishtest.Start(ctx, redfishtest.Options{
		Tree: tree, User: BMCUser, Password: BMCPassword, Listen: net.JoinHostPort(m.spec.BMCIP(), "443"), Certificate: cert,
		TaskDelay: time.Second, ManagerDelay: 5 * time.Second, Images: fabricImages(), Log: m.log,
		Hooks: redfishtest.Hooks{Power: f.power, OnBootSet: f.bootSet, OnMedia: f.media},
	})
	if err != nil {
		return nil, fmt.Errorf("the Redfish BMC of %s: %w", m.spec.Name, err)
	}
	f.vm, f.boot = m.running(), m.Boot()
	f.bmc.SetPower(f.vm != nil)
	f.bmc.SetBoot(redfishBoot(m.spec, f.boot))
	if image := m.bmc.inserted(); image != "" {
		err = f.bmc.SetMedia(mediaSlot, image)
	}
	m.events.follow(f.log)
	err = errors.Join(err, m.bmc.frontStarted(f))
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	f.end = end
	go f.watch(life)
	if err != nil {
		return nil, errors.Join(err, f.stop())
	}
	return f.stop, nil
}

func (f *redfishFront) stop() error {
	m := f.machine
	m.bmc.frontStopped(f)
	m.events.follow(nil)
	f.end()
	<-f.done
	return f.bmc.Close()
}

// power carries out a reset type. The machine outlives the request and the BMC.
func (f *redfishFront) power(_ context.Context, resetType string) {
	const by = "redfish"
	ctx, m := context.Background(), f.machine
	var err error
	switch resetType {
	case "On", "ForceOn":
		err = m.PowerOn(ctx, by)
	case "ForceOff":
		err = m.PowerOff(ctx, by)
	case "GracefulShutdown", "PushPowerButton":
		err = m.pushButton(ctx, by)
	case "ForceRestart", "PowerCycle":
		err = m.Reset(ctx, by)
	default:
		err = fmt.Errorf("nothing here does a %s", resetType)
	}
	if err != nil {
		m.log.Error("Redfish BMC", "reset", resetType, "err", err)
	}
}

// pushButton turns a machine that is off on, and asks one that is on to go.
func (m *Machine) pushButton(ctx context.Context, by string) error {
	if !m.On() {
		return m.PowerOn(ctx, by)
	}
	return m.Shutdown(ctx, by)
}

// bootSet hands an override to the machine, whose next start takes it whoever
// asks for the start.
func (f *redfishFront) bootSet(_ context.Context, boot redfishtest.Boot) {
	choice := labBoot(boot)
	if choice.Device == BootHTTP && choice.URI == "" {
		return // the target is set and the address comes with the next request
	}
	if err := f.machine.SetBoot(choice, "redfish"); err != nil {
		f.machine.log.Error("Redfish BMC", "boot", boot.Target, "err", err)
	}
}

// media fills or empties the drive. An image that cannot be had is thrown out
// again.
func (f *redfishFront) media(ctx context.Context, slot, image string) {
	var err error
	if image == "" {
		err = f.machine.EjectMedia(ctx)
	} else {
		err = f.machine.InsertMedia(ctx, image)
	}
	if err != nil {
		image = ""
		err = errors.Join(err, f.bmc.SetMedia(slot, ""))
		f.machine.log.Error("Redfish BMC", "slot", slot, "err", err)
	}
	f.machine.bmc.insert(image)
}

// log shows an event of the machine, with the time at which it came.
func (f *redfishFront) log(e stampedEntry) {
	entry := redfishtest.LogEntry{
		Severity: e.Severity, Message: e.Message, MessageID: fmt.Sprintf("0x%02X%02X%02X", e.SensorType, e.EventType, e.Data[0]),
		Code: "Assert", Number: int(e.Sensor), Sensor: "Other",
		Extra: map[string]any{"Created": e.at.UTC().Format(time.RFC3339)},
	}
	if e.Deassert {
		entry.Code = "Deassert"
	}
	for _, one := range f.machine.sensors.list {
		if one.number != e.Sensor {
			continue
		}
		entry.Sensor = one.redfishType()
		entry.Extra["Oem"] = object{"Lab": object{"RawEventData": object{"SensorName": one.name}}}
		if !one.discrete() {
			entry.Extra["Links"] = object{"OriginOfCondition": uri(one.uri())}
		}
	}
	if _, err := f.bmc.AddLogEntry(selURI, entry); err != nil {
		f.machine.log.Error("Redfish BMC", "event", e.Message, "err", err)
	}
}

// wake makes the BMC look at the machine.
func (f *redfishFront) wake() {
	select {
	case f.kick <- struct{}{}:
	default: // it will look anyway
	}
}

// watch follows the machine.
func (f *redfishFront) watch(ctx context.Context) {
	defer close(f.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.kick:
		}
		if err := f.look(); err != nil {
			f.machine.log.Error("Redfish BMC", "err", err)
		}
	}
}

// look shows the machine as it is now.
func (f *redfishFront) look() error {
	m := f.machine
	now := m.running()
	switch {
	case now != nil && now != f.vm:
		f.bmc.Started()
	case now == nil && f.vm != nil:
		f.bmc.SetPower(false)
	}
	f.vm = now
	if boot := m.Boot(); boot != f.boot {
		f.bmc.SetBoot(redfishBoot(m.spec, boot))
		f.boot = boot
	}
	tree, err := m.redfishTree()
	if err != nil {
		return err
	}
	for _, uri := range slices.Sorted(maps.Keys(tree)) {
		if bytes.Equal(tree[uri], f.tree[uri]) {
			continue
		}
		var body object
		if err := json.Unmarshal(tree[uri], &body); err != nil {
			return err
		}
		err := f.bmc.Update(uri, func(old map[string]any) {
			clear(old)
			maps.Copy(old, body)
		})
		if err != nil {
			return err
		}
	}
	f.tree = tree
	return nil
}

// setLate makes every answer late by d; 0 heals.
func (f *redfishFront) setLate(d time.Duration) error {
	if d == 0 {
		return f.bmc.SetFault("slow", false)
	}
	return f.bmc.SetFault("slow="+strconv.FormatInt(d.Milliseconds(), 10)+"ms", true)
}

// fabricImages is the one firmware that can be updated: that of a card which
// shows its version nowhere but here.
func fabricImages() map[string]redfishtest.Image {
	return map[string]redfishtest.Image{
		"fabric-28.40.1000.bin": {Component: firmwareURI + "/FabricNIC", Version: "28.40.1000", Activate: redfishtest.ActivateHost},
	}
}
