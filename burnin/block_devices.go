package burnin

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// BlockDevices are disks and what is on them, by lsblk: whatever writes must never
// touch a disk that carries a filesystem, a signature or a mount.
var BlockDevices = Probe[BlockDeviceList]{
	Spec: ProbeSpec{
		Name: "block-devices",
		Command: always("lsblk -J -b -o NAME,KNAME,PKNAME,TYPE,SIZE,MODEL,SERIAL,TRAN,ROTA,RO,FSTYPE,PTTYPE,MOUNTPOINT 2>/dev/null" +
			" || lsblk -J -b -O 2>/dev/null || lsblk -J -b"),
		Phases:   []Phase{PhaseBefore},
		Tool:     "lsblk",
		Version:  "lsblk --version",
		Deadline: 30 * time.Second,
	},
	Parse: parseBlockDevices,
}

// BlockDeviceList are the disks of a machine.
type BlockDeviceList struct {
	Complete bool
	Disks    []BlockDevice
}

// BlockDevice is one disk.
type BlockDevice struct {
	Name, Type, Model, Serial, Transport string

	Size   Opt[float64] // bytes; not set where the tool printed it for people ("63.9M")
	InUse  bool         // it, or something on it, is mounted or used as swap
	Signed bool         // it carries a partition table, partitions, a filesystem or a RAID member
}

func parseBlockDevices(e *Evidence) (BlockDeviceList, error) {
	body, complete := e.Body()
	doc, err := findJSON(body)
	if err != nil {
		return BlockDeviceList{}, fmt.Errorf("block-devices: %w", err)
	}
	top, _ := doc.(map[string]any)
	items, ok := top["blockdevices"].([]any)
	if !ok {
		return BlockDeviceList{}, errors.New("block-devices: the JSON holds no list of block devices")
	}
	list := BlockDeviceList{Complete: complete}
	parents := map[string]int{}
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		d := blockDevice(fields, 6)
		if parent, ok := parents[jsonWord(fields["pkname"])]; ok { // a flat list
			list.Disks[parent].Signed = true
			list.Disks[parent].InUse = list.Disks[parent].InUse || d.InUse
			continue
		}
		parents[d.Name] = len(list.Disks)
		list.Disks = append(list.Disks, d)
	}
	return list, nil
}

func blockDevice(fields map[string]any, depth int) BlockDevice {
	word := func(name string) string { return strings.TrimSpace(jsonWord(fields[name])) }
	kname := word("kname")
	d := BlockDevice{
		Name: firstWord(kname[strings.LastIndexByte(kname, '/')+1:], word("name")), Type: word("type"),
		Model: word("model"), Serial: plainIdentity(word("serial")), Transport: word("tran"),
		Size: lsblkSize(fields["size"]), InUse: word("mountpoint") != "",
		Signed: word("fstype") != "" || word("pttype") != "",
	}
	points, _ := fields["mountpoints"].([]any)
	for _, p := range points {
		d.InUse = d.InUse || jsonWord(p) != ""
	}
	children, _ := fields["children"].([]any)
	for _, item := range children {
		child, ok := item.(map[string]any)
		d.Signed = true
		if !ok || depth == 0 {
			d.InUse = true // not looked at: not free
			continue
		}
		d.InUse = d.InUse || blockDevice(child, depth-1).InUse
	}
	return d
}

// lsblkSize reads bytes, which older versions print as a string; "63.9M" is a size
// for people and no number.
func lsblkSize(v any) Opt[float64] {
	o := looseNumber(v)
	if text := jsonWord(v); text != "" && strings.Trim(text, "0123456789") != "" {
		return Opt[float64]{Text: text}
	}
	return o
}
