// Package redfish opens a session with one baseboard management controller
// (BMC) and does what a burn-in needs of it: identity, inventory, power, boot
// override, BIOS attributes, locator LED. It is the only package that speaks
// Redfish.
//
// A difference in behaviour between vendors lives in one file per vendor
// (dell.go, supermicro.go, nvidia.go …) that embeds the base and overrides one
// method; an unknown vendor gets the base. The package imports nothing else of
// this module, and it does not judge: it reports what the BMC says.
package redfish
