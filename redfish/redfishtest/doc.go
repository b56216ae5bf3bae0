// Package redfishtest is a BMC for tests: it serves a Redfish tree over TLS
// and behaves. Sessions have a limit and expire, power takes time, BIOS values
// wait for a reset, a boot override is used once, jobs go through states, a
// PATCH is checked against the attribute registry, virtual drives take images,
// firmware is fetched and runs after the restart that it needs, logs take
// entries and tell them to those who follow the event stream, and every act
// that changes the machine is counted. Faults seen in the field are switched on by name; see
// [Faults].
//
// A tree is either a capture ([LoadDir], [LoadTarGz]) or made by the caller.
// What the tree links is what behaves: the reset action, the settings object,
// the session collection and the attribute registry are found by following
// links, as a client does.
//
// The package imports nothing of this module and judges nothing. It is not a
// conformance model of any vendor: where the vendors differ it follows the
// served tree, and a comment names the model that a behaviour was seen on.
package redfishtest
