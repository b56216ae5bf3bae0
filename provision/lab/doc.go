// Package lab is a real machine without hardware: QEMU with a PCI bus, memory
// and disks that faults can be put into, a BMC that speaks IPMI and Redfish, and
// a network of its own that it boots from.
//
// One supervisor process holds everything. It is the first process of its own
// PID, network and mount namespaces, so that when it ends, in whatever way, the
// kernel ends every QEMU, BMC and DHCP server with it and the bridges are gone.
//
// QEMU runs under TCG, never KVM: a /dev/kvm that exists is not one that works.
package lab
