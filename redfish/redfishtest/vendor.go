package redfishtest

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// vendor is whose firmware the tree comes from: it decides message ids and
// success codes, nothing that the tree itself can say.
type vendor string

const (
	generic    vendor = ""
	dell       vendor = "dell"
	hpe        vendor = "hpe"
	lenovo     vendor = "lenovo"
	supermicro vendor = "supermicro"
	ami        vendor = "ami" // NVIDIA DGX and others on AMI MegaRAC
)

// vendorOf reads the service root: Vendor where there is one, else the Oem
// keys (SYS-821GE-TNHR has only those, FIELD-QUIRKS 14).
func vendorOf(root map[string]any) vendor {
	names := []string{text(root, "Vendor"), text(root, "Product")}
	oem, _ := root["Oem"].(map[string]any)
	for name := range oem {
		names = append(names, name)
	}
	words := strings.FieldsFunc(strings.ToLower(strings.Join(names, " ")), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, known := range []vendor{dell, hpe, lenovo, supermicro, ami} {
		if slices.Contains(words, string(known)) {
			return known
		}
	}
	return generic
}

// alreadyThere answers a reset that asks for the state the machine is in:
// iDRAC 409 PSU501, iLO 400 InvalidOperationForSystemState (FIELD-QUIRKS 68).
func (v vendor) alreadyThere(power string) reply {
	switch v {
	case dell:
		return failure(http.StatusConflict, "IDRAC.2.5.PSU501", "The power is already "+power+".")
	case hpe:
		return failure(http.StatusBadRequest, "iLO.2.14.InvalidOperationForSystemState",
			"The operation does not fit the power state.", "Power is "+strings.ToLower(power))
	default:
		return failure(http.StatusConflict, baseRegistry+"ResourceInStandby", "The system is already "+power+".")
	}
}

// tooManySessions is a 503, not a 401 (FIELD-QUIRKS 72).
func (v vendor) tooManySessions() reply {
	if v == dell {
		return failure(http.StatusServiceUnavailable, "IDRAC.2.1.RAC0218", "The number of user sessions is at its limit.")
	}
	return failure(http.StatusServiceUnavailable, baseRegistry+"SessionLimitExceeded",
		"The session limit is reached; close a session first.")
}

// notReady is a 503, on iDRAC a 400 (FIELD-QUIRKS 81).
func (v vendor) notReady() reply {
	if v == dell {
		return failure(http.StatusBadRequest, "IDRAC.1.6.SWC0700", "The controller is not ready.")
	}
	return failure(http.StatusServiceUnavailable, baseRegistry+"ServiceTemporarilyUnavailable",
		"The service is starting; retry in 1 s.", "1").with("Retry-After", "1")
}

// etagMissing is 428 (FIELD-QUIRKS 51, Lenovo SR655 on AMI).
func (v vendor) etagMissing() reply {
	id := baseRegistry + "PreconditionRequired"
	if v == ami || v == lenovo {
		id = "Ami.1.0.PreconditionHeaderMissing"
	}
	return failure(http.StatusPreconditionRequired, id, "If-Match is required; read the resource and send its ETag.")
}

// changed answers a PATCH that was accepted.
func (v vendor) changed() reply {
	if v == ami || v == generic {
		return noContent()
	}
	return success()
}

// staged answers a BIOS PATCH that waits for a reset and made no job.
func (v vendor) staged() reply {
	if v == hpe { // FIELD-QUIRKS 48: the 200 says what is still missing
		return success(newMessage("Warning", "iLO.2.15.SystemResetRequired",
			"The changes take effect after a system reset."))
	}
	return v.changed()
}
