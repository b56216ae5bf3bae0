// Package simrack is a simulated rack: machines whose BMC and whose node are one
// thing, for `demo`, `sim` and the tests of whole runs.
//
// A BMC is a redfishtest.BMC on real TLS, a node a nodetest.Node on real SSH, both
// drawn from one nodetest.Machine. When the power comes on, the machine boots as
// real ones do: from the HTTP boot URI that its BMC was given (fetching the script
// and the seed over HTTP, and reporting that it is up), else into its installed
// system. Everything listens on loopback only.
//
// It proves that a run copes with machines that behave so; it proves nothing about
// hardware, and every page it serves says that it is simulated.
package simrack
