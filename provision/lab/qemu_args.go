package lab

import (
	"fmt"
	"strconv"
)

// Addresses on the root bus. They are fixed so that a PCI address means the same
// part in every boot.
const (
	slotNIC     = 0x04
	slotNVMe0   = 0x05
	slotNVMe1   = 0x06
	slotFabric  = 0x07
	slotGPU0    = 0x08 // and the seven behind it
	slotEDAC    = 0x10
	slotSerial  = 0x11
	slotUSB     = 0x12
	faultyDrive = "nvme1" // the drive that faults are put into
	agentPort   = "org.rackproof.lab"
)

// The files that QEMU inherits, by number; those of the cards follow.
const (
	fileQMP = 3 + iota
	fileSerial
	fileAgent
	fileCard0
)

// Firmware images of Debian's ovmf.
const (
	ovmfCode = "/usr/share/OVMF/OVMF_CODE_4M.fd"
	ovmfVars = "/usr/share/OVMF/OVMF_VARS_4M.fd"
)

// start is all that one start of QEMU depends on.
type start struct {
	spec     Spec
	hardware hardware
	boot     BootChoice
	cards    []*pciCard
	smbios   []string // files, one structure each
	media    string   // file in the CD drive; "" = empty
}

// arguments is QEMU's command line.
func (s start) arguments() []string {
	var a []string
	for _, part := range [][]string{s.board(), s.identity(), s.ports(), s.drives(), s.network(), s.channels(), s.firmware()} {
		a = append(a, part...)
	}
	return a
}

func (s start) board() []string {
	memory := strconv.Itoa(s.hardware.memory())
	return []string{
		"-name", s.spec.Name,
		// Without graphics SeaBIOS and iPXE speak on the serial line.
		"-machine", "q35,memory-backend=ram,graphics=off",
		// The PCI proxy shares the guest's memory.
		"-object", "memory-backend-memfd,id=ram,share=on,size=" + memory + "M",
		"-accel", "tcg,thread=multi,tb-size=512",
		"-cpu", "EPYC,-hypervisor",
		"-smp", "2,sockets=1",
		"-m", memory + "M",
		"-display", "none", "-nodefaults", "-no-user-config",
		// A reset ends QEMU, and the supervisor starts it anew: each start takes
		// its own boot choice.
		"-no-reboot",
		"-boot", "strict=on",
	}
}

// identity is SMBIOS types 0 to 3, and the files of types 16 and 17.
func (s start) identity() []string {
	i := s.hardware.identity(s.spec)
	a := []string{
		"-uuid", i.UUID(),
		"-smbios", "type=0,vendor=LabBIOS,version=1.2.3,date=01/02/2026",
		"-smbios", fmt.Sprintf("type=1,manufacturer=%s,product=%s,version=1,serial=%s,sku=%s,family=gpu", Manufacturer, Product, i.Serial(), SKU),
		"-smbios", fmt.Sprintf("type=2,manufacturer=%s,product=%s,serial=%s", Manufacturer, BoardProduct, i.BoardSerial()),
		"-smbios", fmt.Sprintf("type=3,manufacturer=%s,serial=%s,asset=%s", Manufacturer, i.ChassisSerial(), i.AssetTag()),
	}
	for _, f := range s.smbios {
		a = append(a, "-smbios", "file="+f)
	}
	return a
}

// rootPort is one PCI Express root port with its slot number.
func rootPort(id string, slot int, l pciLink) []string {
	speed := map[int]string{1: "2_5", 2: "5", 3: "8", 4: "16"}[l.speed]
	return []string{"-device", fmt.Sprintf("pcie-root-port,id=%s,bus=pcie.0,addr=%x.0,chassis=%d,slot=%d,x-speed=%s,x-width=%d", portOf(id), slot, slot, slot, speed, l.width)}
}

// portOf is the id of the root port that a device sits behind.
func portOf(id string) string { return "port-" + id }

// emulatedLink is what QEMU's own endpoints are fixed to. Their ports offer the
// same, so that the link is not degraded.
var emulatedLink = pciLink{speed: 1, width: 1}

// ports are the root ports, and the cards whose functions are ours.
func (s start) ports() []string {
	var a []string
	a = append(a, rootPort("net0", slotNIC, emulatedLink)...)
	a = append(a, rootPort("nvme0", slotNVMe0, emulatedLink)...)
	a = append(a, rootPort("nvme1", slotNVMe1, emulatedLink)...)
	a = append(a, rootPort("usb", slotUSB, emulatedLink)...)
	for i, c := range s.cards {
		if c.port {
			a = append(a, rootPort(c.name, c.slot, rootPortLink)...)
		}
		a = append(a, "-device", fmt.Sprintf("x-pci-proxy-dev,id=%s,fd=%d,%s", c.name, fileCard0+i, c.place()))
	}
	return a
}

// drives are two NVMe, and the USB CD drive of virtual media.
func (s start) drives() []string {
	var a []string
	for i, name := range []string{"nvme0", "nvme1"} {
		a = append(a,
			"-blockdev", fmt.Sprintf("driver=file,node-name=%s-file,filename=%s,cache.no-flush=on", name, s.spec.Path(name+".img")),
			"-blockdev", fmt.Sprintf("driver=raw,node-name=%s-raw,file=%s-file", name, name))
		if name != faultyDrive || !s.hardware.drive.missing {
			a = append(a, "-device", nvmeDevice(s.spec, name, i)+s.bootIndex(name))
		}
	}
	a = append(a,
		"-device", "qemu-xhci,id=usb,bus="+portOf("usb"),
		"-device", "usb-bot,id=cdbot,bus=usb.0")
	cd := "scsi-cd,id=cd0,bus=cdbot.0,lun=0"
	if s.media != "" {
		a = append(a, "-blockdev", "driver=file,node-name=media-file,read-only=on,filename="+s.media,
			"-blockdev", "driver=raw,node-name=media,read-only=on,file=media-file")
		cd += ",drive=media"
	}
	return append(a, "-device", cd+s.bootIndex("cd0"))
}

func nvmeDevice(s Spec, name string, i int) string {
	return fmt.Sprintf("nvme,id=%s,drive=%s-raw,serial=%s,bus=%s", name, name, s.DriveSerial(i), portOf(name))
}

func (s start) network() []string {
	return []string{
		"-netdev", fmt.Sprintf("tap,id=tap,ifname=%s,script=no,downscript=no", s.spec.Tap()),
		"-device", fmt.Sprintf("virtio-net-pci,id=net0,netdev=tap,mac=%s,bus=%s", s.spec.HostMAC(), portOf("net0")) + s.bootIndex("net0") + s.bootROM(),
	}
}

// channels are the monitor, the serial line, the BMC's KCS and the agent.
func (s start) channels() []string {
	return []string{
		"-chardev", fmt.Sprintf("socket,id=qmp,fd=%d", fileQMP), "-mon", "chardev=qmp,mode=control",
		"-chardev", fmt.Sprintf("socket,id=serial,fd=%d", fileSerial), "-serial", "chardev:serial",
		"-chardev", fmt.Sprintf("socket,id=bmc,host=127.0.0.1,port=%d,reconnect=1", s.spec.KCSPort()),
		"-device", "ipmi-bmc-extern,id=bmc0,chardev=bmc", "-device", "isa-ipmi-kcs,bmc=bmc0",
		"-device", fmt.Sprintf("virtio-serial-pci,id=channels,bus=pcie.0,addr=%x.0", slotSerial),
		"-chardev", fmt.Sprintf("socket,id=agent,fd=%d", fileAgent),
		"-device", "virtserialport,bus=channels.0,chardev=agent,name=" + agentPort,
	}
}

func (s start) firmware() []string {
	if s.spec.Firmware != UEFI {
		return nil
	}
	return []string{
		"-drive", "if=pflash,unit=0,format=raw,readonly=on,file=" + ovmfCode,
		"-drive", "if=pflash,unit=1,format=raw,file=" + s.spec.Path("vars.fd"),
	}
}

// bootROM takes the NIC's ROM, which is iPXE, out of the way of UEFI's own HTTP boot.
func (s start) bootROM() string {
	if s.boot.Device == BootHTTP {
		return ",romfile="
	}
	return ""
}

// bootIndex makes the device with this id the one that is booted, if it is
// chosen.
func (s start) bootIndex(id string) string {
	chosen := map[BootDevice]string{BootOwn: "nvme0", BootDisk: "nvme0", BootPXE: "net0", BootCD: "cd0"}[s.boot.Device]
	if chosen != id {
		return ""
	}
	return ",bootindex=1"
}
