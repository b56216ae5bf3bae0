// Package report renders what Judge found for people and programs: a first page
// that answers everything, then inventory, findings and evidence behind it.
// Everything it prints comes from the evidence folder of the attempt; what it
// needs of provisioning stands there as plain data (machine.json).
package report
