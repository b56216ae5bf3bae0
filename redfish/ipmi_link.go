package redfish

import (
	"context"
	"errors"
	"fmt"

	"github.com/bougou/go-ipmi/pkg/types"
)

// ipmiLink carries commands to one BMC: a session of our own, or ipmitool.
type ipmiLink interface {
	// send gives the answer without its completion code. A code other than
	// success is an *ipmiError; a *lostError means that no answer came, and that
	// the command may have been carried out.
	send(ctx context.Context, c ipmiCommand) ([]byte, error)
	close() error
}

// ipmiCommand is one request.
type ipmiCommand struct {
	name       string
	netFn, cmd uint8
	lun        uint8
	data       []byte
	once       bool // acts: sent as one datagram and never again
}

// Network functions (IPMI 2.0, table 5-1).
const (
	netFnChassis   = uint8(types.NetFnChassisRequest)
	netFnSensor    = uint8(types.NetFnSensorEventRequest)
	netFnApp       = uint8(types.NetFnAppRequest)
	netFnStorage   = uint8(types.NetFnStorageRequest)
	netFnTransport = uint8(types.NetFnTransportRequest)
)

// Completion codes on which something is decided (IPMI 2.0, table 5-2).
const (
	codeParameter     = uint8(types.CodeParameterNotSupported)
	codeBusy          = uint8(types.CodeNodeBusy)
	codeCommand       = uint8(types.CodeInvalidCommand)
	codeLUN           = uint8(types.CodeInvalidCommandForLUN)
	codeTimeout       = uint8(types.CodeProcessTimeout)
	codeReservation   = uint8(types.CodeReservationCanceled)
	codeLength        = uint8(types.CodeRequestDataLengthInvalid)
	codeTooLong       = uint8(types.CodeRequestDataLengthLimitExceeded)
	codeOutOfRange    = uint8(types.CodeParameterOutOfRange)
	codeCannotReturn  = uint8(types.CodeCannotReturnRequestedDataBytes)
	codeNotPresent    = uint8(types.CodeRequestedDataNotPresent)
	codeField         = uint8(types.CodeRequestDataFieldInvalid)
	codeIllegal       = uint8(types.CodeIllegalCommand)
	codeRepository    = uint8(types.CodeCannotProvideResponseSDRRInUpdate)
	codeStarting      = uint8(types.CodeCannotProvideResponseBMCInitialize)
	codePrivilege     = uint8(types.CodeInsufficientPrivilege)
	codeNotInState    = uint8(types.CodeNotSupported)
	codeUnspecified   = uint8(types.CodeUnspecifiedError)
	codeLevelRefused  = uint8(types.CodeSetSessionPrivilegeLevelLevelNotAvailable)
	codeLevelExceeded = uint8(types.CodeSetSessionPrivilegeLevelExceedsLimit)
)

// ipmiError is an answer whose completion code is not success.
type ipmiError struct {
	command string
	code    uint8
}

func (e *ipmiError) Error() string {
	return fmt.Sprintf("%s: completion code 0x%02x (%s)", e.command, e.code, types.CompletionCode(e.code).String())
}

// codeOf gives the completion code inside err, or 0.
func codeOf(err error) uint8 {
	if e, ok := errors.AsType[*ipmiError](err); ok {
		return e.code
	}
	return 0
}

// notOffered reports that the BMC has no such command, parameter or sensor.
func notOffered(err error) bool {
	switch codeOf(err) {
	case codeParameter, codeCommand, codeLUN, codeNotPresent, codeField, codeIllegal:
		return true
	}
	return false
}

// passing reports a BMC that is busy or starting: the command had no effect. After
// codeTimeout it may have one (IPMI 2.0, table 5-2), so only what asks is asked again.
func passing(err error) bool {
	switch codeOf(err) {
	case codeBusy, codeTimeout, codeRepository, codeStarting:
		return true
	}
	return false
}
