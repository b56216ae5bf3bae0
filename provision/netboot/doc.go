// Package netboot serves what a machine boots: over HTTP a script, an image, and
// the seed that gives the booted host its SSH host key. Each boot has a one-time
// token in every URL. It goes to the machine through its BMC, and comes back
// from the booted host: that is the proof that both are one machine. It also offers
// firmware to BMCs that fetch it.
//
// Tokens and keys are kept in a file, so that a restarted rackproof serves the
// same ones on the same port.
package netboot
