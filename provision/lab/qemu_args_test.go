package lab

import (
	"slices"
	"strings"
	"testing"
)

func startOf(change func(*start)) start {
	spec := NewSpec(2, "/lab")
	cards, _ := newCards(8)
	spec.GPUs = 8
	s := start{spec: spec, hardware: hardware{dimms: spec.DIMMs}, cards: cards}
	change(&s)
	return s
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*start)
		has, lack []string
	}{
		{
			name: "healthy", change: func(*start) {},
			has: []string{
				"tcg,thread=multi", "serial=SN000002,", "-uuid 4c4c4544-0000-2010-8020-000000000002", "port=9212", "mac=52:54:00:77:00:02", "size=2048M",
				"id=gpu7,fd=15,bus=port-gpu7", "id=edac,fd=6,bus=pcie.0,addr=10.0", "id=port-gpu7,bus=pcie.0,addr=f.0",
				"id=nvme0,drive=nvme0-raw,serial=NVME20,bus=port-nvme0,bootindex=1",
			},
			lack: []string{"kvm", "pflash", "drive=media"},
		},
		{
			name: "PXE", change: func(s *start) { s.boot.Device = BootPXE },
			has: []string{"bus=port-net0,bootindex=1"}, lack: []string{"bus=port-nvme0,bootindex"},
		},
		{
			name: "CD", change: func(s *start) { s.boot.Device = BootCD; s.media = "/lab/lab2/media.iso" },
			has: []string{"drive=media,bootindex=1", "filename=/lab/lab2/media.iso"}, lack: []string{"bus=port-nvme0,bootindex"},
		},
		{
			name: "drive pulled", change: func(s *start) { s.hardware.drive.missing = true },
			has: []string{"node-name=nvme1-raw", "id=port-nvme1"}, lack: []string{"nvme,id=nvme1"},
		},
		{
			name: "module pulled", change: func(s *start) { s.hardware.dimms = slices.Clone(s.hardware.dimms); s.hardware.dimms[0].SizeMB = 0 },
			has: []string{"size=1792M", "-m 1792"},
		},
		{
			name: "another machine", change: func(s *start) { s.hardware.stranger = true },
			has:  []string{"-uuid 4c4c4544-0000-2010-8020-000000000052", "serial=SN000052", "mac=52:54:00:77:00:02"},
			lack: []string{"serial=SN000002"},
		},
		{name: "UEFI", change: func(s *start) { s.spec.Firmware = UEFI }, has: []string{"file=/lab/lab2/vars.fd", ovmfCode}},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := strings.Join(startOf(c.change).arguments(), " ")
			for _, want := range c.has {
				if !strings.Contains(line, want) {
					t.Errorf("no %q in\n%s", want, line)
				}
			}
			for _, not := range c.lack {
				if strings.Contains(line, not) {
					t.Errorf("%q in\n%s", not, line)
				}
			}
			if n := strings.Count(line, "bootindex="); n > 1 {
				t.Errorf("%d devices to boot from", n)
			}
		})
	}
}

func TestSpecsAreChecked(t *testing.T) {
	good := Options{Dir: "/lab", Machines: 2, Firmware: UEFI, GPUs: 8}
	if specs, err := good.Specs(); err != nil || len(specs) != 2 || specs[1].Name != "lab2" || specs[1].BMCIP() != "10.77.1.12" {
		t.Errorf("%+v, %v", specs, err)
	}
	for name, change := range map[string]func(*Options){
		"no machine": func(o *Options) { o.Machines = 0 }, "too many": func(o *Options) { o.Machines = MaxMachines + 1 },
		"no GPU": func(o *Options) { o.GPUs = 0 }, "nine GPUs": func(o *Options) { o.GPUs = 9 }, "firmware": func(o *Options) { o.Firmware = "coreboot" },
	} {
		o := good
		change(&o)
		if _, err := o.Specs(); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestNetworkOfEachMachine(t *testing.T) {
	specs, err := Options{Dir: "/lab", Machines: 2, Firmware: BIOS, GPUs: 1}.Specs()
	if err != nil {
		t.Fatal(err)
	}
	got := networkCommands(specs, true)
	for _, want := range []string{"addr add 10.77.0.1/24 dev brprov", "addr add 10.77.1.12/32 dev brbmc", "tuntap add dev tap2 mode tap", "link set tap2 master brprov", "addr add fd77::1/64 dev brprov nodad"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
