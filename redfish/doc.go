// Package redfish opens a session with one baseboard management controller
// (BMC) and does what a burn-in needs of it: identity, inventory, power, boot
// override, BIOS attributes, locator LED. It is the only package that speaks
// Redfish.
//
// [Open] logs in once and chooses exactly one host system; [Client.Close] ends
// the session whatever happened. Reads are tolerant: a field of a wrong shape is
// absent, a resource that cannot be read is named and not taken for missing.
// Whatever changes the BMC goes alone, is never sent twice, and is read back: an
// answer is not believed, and a lost one is asked about.
//
// A difference in behaviour between vendors lives in one file per vendor
// (dell.go, supermicro.go, nvidia.go …) that embeds the base and overrides a
// method; an unknown vendor gets the base. The package imports nothing else of
// this module, and it does not judge: it reports what the BMC says.
//
// Requests go over net/http with a transport of our own, because each needs a
// context and a deadline, the certificate pin must be checked before a
// credential leaves, and a 202 must keep its Location.
package redfish
