// Package nodetest is a simulated node: a machine made up from a seed, and an
// SSH server that answers rackproof's probes as that machine would once booted.
//
// A [Machine] is what is plugged, soldered and printed on the stickers of one
// server. Everything that the node prints (nvidia-smi, lspci, dmidecode, sysfs …)
// and everything that its simulated BMC serves is drawn from the same Machine, so
// serials, labels, UUIDs and MAC addresses agree, and a fault planted in it shows
// wherever it would show on real hardware. Two machines of the same model and seed
// but different names differ in every serial number.
//
// The pages have the shape of real tools' output and are written by us; each is
// marked as simulated where its format allows, and the host says so itself
// (os-release), so a simulated record can never be taken for a real one.
//
// Nothing here runs a program of the machine it runs on: it works the same on
// Linux, macOS and Windows. Use it for tests, for `demo` and for `sim`; it proves
// nothing about hardware.
package nodetest
