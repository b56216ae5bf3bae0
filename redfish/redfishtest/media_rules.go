package redfishtest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// insertParameters are those of VirtualMedia.InsertMedia (DSP2046) with their
// types as Go prints them.
var insertParameters = map[string]string{
	"Image": "string", "Inserted": "bool", "WriteProtected": "bool", "UserName": "string", "Password": "string",
	"TransferMethod": "string", "TransferProtocolType": "string",
}

// checkInsert finds why an image is not taken.
func (s *slot) checkInsert(req *request) (reply, bool) {
	faults := s.bmc.faults
	if licence, missing := faults.fire("media-licence"); missing { // FIELD-QUIRKS 60
		return failure(http.StatusForbidden, "SMC.1.0.OemLicenseNotPassed",
			"Not licensed for this request; needed: "+licence, licence+" "), true
	}
	if strings.HasPrefix(req.key, "/redfish/v1/Managers/") && faults.fireOn("media-not-by-manager", "") {
		return failure(http.StatusBadRequest, "IDRAC.2.8.RAC0904",
			"The remote file location cannot be reached."), true
	}
	image := text(req.body, "Image")
	if image == "" {
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterMissing",
			"Image is required.", "VirtualMedia.InsertMedia", "Image"), true
	}
	for _, name := range slices.Sorted(maps.Keys(req.body)) {
		if m := s.checkParameter(name, req.body[name]); m != nil {
			return failures(http.StatusBadRequest, *m), true
		}
	}
	if refusal, refused := checkImageURL(image, faults); refused {
		return refusal, true
	}
	if s.image != "" { // FIELD-QUIRKS 55
		return s.bmc.vendor.slotInUse(), true
	}
	return reply{}, false
}

func (s *slot) checkParameter(name string, value any) *message {
	kind := ""
	switch {
	case insertParameters[name] == "":
		kind = "PropertyUnknown"
	case name != "Image" && s.bmc.faults.fireOn("media-property-refused", name):
		kind = "PropertyUnknown" // FIELD-QUIRKS 56
	case fmt.Sprintf("%T", value) != insertParameters[name]:
		kind = "PropertyValueTypeError"
	default:
		return nil
	}
	m := propertyProblem(kind, name, nil)
	return &m
}

// checkImageURL keeps the rules of FIELD-QUIRKS 63 where they are switched on.
func checkImageURL(image string, faults faults) (reply, bool) {
	parsed, err := url.Parse(image)
	if err != nil || parsed.Host == "" {
		return failures(http.StatusBadRequest, propertyProblem("PropertyValueFormatError", "Image", image)), true
	}
	if on, set := faults["media-url-length"]; set {
		if n, _ := strconv.Atoi(on.value); len(image) > n { // checked when set
			faults.fire("media-url-length")
			return failure(http.StatusBadRequest, "IDRAC.2.8.RAC0720", "The remote share cannot be mounted.", image), true
		}
	}
	suffixed := strings.HasSuffix(image, ".iso") || strings.HasSuffix(image, ".img")
	if parsed.RawQuery == "" && !suffixed && faults.fireOn("media-url-suffix", "") {
		return failure(http.StatusBadRequest, baseRegistry+"PropertyValueFormatError",
			"The image must end in .iso or .img.", image, "Image"), true
	}
	if parsed.RawQuery != "" && faults.fireOn("media-url-query", "") {
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterValueFormatError",
			"The format of the image is not recognized.", image, "Image", "VirtualMedia.InsertMedia"), true
	}
	return reply{}, false
}

// mediaDone answers an accepted insert or eject.
func (v vendor) mediaDone() reply {
	if v == hpe || v == supermicro {
		return success()
	}
	return noContent()
}

// slotInUse: a second insert is no success (iLO's and iDRAC's own registries
// have these messages).
func (v vendor) slotInUse() reply {
	switch v {
	case hpe:
		return failure(http.StatusBadRequest, "iLO.2.14.MaxVirtualMediaConnectionEstablished",
			"All virtual media connections are in use.")
	case dell:
		return failure(http.StatusInternalServerError, "IDRAC.2.5.VRM0012", "An image is connected already.")
	default:
		return failure(http.StatusConflict, baseRegistry+"ResourceInUse", "The slot holds an image; eject it first.")
	}
}

// nothingInserted: an eject of nothing is an error.
func (v vendor) nothingInserted() reply {
	switch v {
	case hpe:
		return failure(http.StatusBadRequest, "iLO.2.14.NoVirtualMediaConnectionAvailable", "No image is connected.")
	case dell:
		return failure(http.StatusInternalServerError, "IDRAC.2.5.VRM0009", "No image is connected.")
	default:
		return failure(http.StatusBadRequest, baseRegistry+"ActionNotSupported", "The slot is empty.", "VirtualMedia.EjectMedia")
	}
}
