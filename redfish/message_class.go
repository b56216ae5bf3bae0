package redfish

import (
	"errors"
	"strings"
)

// class is what a message asks of the client. The HTTP status alone does not tell:
// "not ready" comes as 503 and as 400, "no licence" as 403 like a bad password.
type class int

const (
	unclassified  class = iota
	notYet              // starting or busy: the same request may work in a while
	inPOST              // it works when the host is through POST
	wrongLogin          // this password, never again
	noSession           // the password may be right, the sessions are full
	wantsPassword       // a new password first
	wantsLicence        // nothing helps but a licence
	inLockdown          // a person locked the configuration
	nothingThere        // nothing waits to be taken back
	notTaken            // this property or value; another form may be taken
)

// classes are the keys of MessageIds ("Registry.1.2.Key": versions move, so only the
// key counts). Keys without a source are those of the DMTF Base registry (DSP8011).
var classes = map[string]class{
	"SWC0700":                            notYet, // iDRAC, with a 400 (badfish #129)
	"RAC0508":                            notYet, // iDRAC, with a 400 (lisa #4421)
	"ServiceTemporarilyUnavailable":      notYet,
	"ServiceShuttingDown":                notYet,
	"UnableToModifyDuringSystemPOST":     inPOST,     // iLO (metal-operator #995)
	"UnauthorizedLoginAttempt":           wrongLogin, // iLO, with a 400
	"SessionLimitExceeded":               noSession,
	"CreateLimitReachedForResource":      noSession,
	"RAC0218":                            noSession, // iDRAC 8 and 9, with 503 or 400 (check_redfish #89)
	"PasswordChangeRequired":             wantsPassword,
	"OemLicenseNotPassed":                wantsLicence, // Supermicro, with a 403 (ironic-image #688)
	"LicenseKeyRequired":                 wantsLicence, // iLO5, its registry
	"LIC501":                             wantsLicence, // iDRAC9, its registry, as the next three
	"SYS319":                             wantsLicence,
	"SWC0242":                            wantsLicence,
	"RED144":                             wantsLicence,
	"OemSystemLockdownEnabled":           inLockdown, // Supermicro, its registry, as the next
	"OemSystemLockdownEnabledPatchValid": inLockdown,
	"ServerConfigurationLockEnabled":     inLockdown, // iLO5, its registry
	"SYS406":                             inLockdown, // iDRAC9, its registry, as the next four
	"SYS291":                             inLockdown,
	"RAC095":                             inLockdown,
	"RAC1201":                            inLockdown,
	"BIOS031":                            inLockdown,
	"BIOS012":                            nothingThere, // iDRAC9, its registry
	"RAC037":                             nothingThere,
	"SYS410":                             notTaken, // iDRAC9: read-only and depends on others; as the next two
	"SYS444":                             notTaken,
	"BIOS024":                            notTaken,
	"PropertyUnknown":                    notTaken,
	"PropertyNotWritable":                notTaken,
	"PropertyNotWritableOrUnknown":       notTaken, // iLO6 (libredfish #76)
	"PropertyValueNotInList":             notTaken,
	"PropertyValueTypeError":             notTaken,
	"PropertyValueFormatError":           notTaken,
	"ActionParameterUnknown":             notTaken,
	"ActionParameterNotSupported":        notTaken,
	"ActionParameterMissing":             notTaken,
	"ActionParameterValueNotInList":      notTaken,
	"ActionParameterValueTypeError":      notTaken,
	"ActionParameterValueFormatError":    notTaken,
	"ActionParameterValueError":          notTaken,
}

// classOf gives the class of a MessageId.
func classOf(id string) class { return classes[id[strings.LastIndexByte(id, '.')+1:]] }

// is reports whether the BMC said something of class k.
func (e *StatusError) is(k class) bool {
	for _, id := range e.MessageIDs {
		if classOf(id) == k {
			return true
		}
	}
	return false
}

// said reports whether err carries a message of class k.
func said(err error, k class) bool {
	se, ok := errors.AsType[*StatusError](err)
	return ok && se.is(k)
}
