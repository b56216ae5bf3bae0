package redfish

// Client is an open session with one BMC. It is safe for concurrent use; what
// changes the BMC goes alone.
type Client struct {
	cfg Config
}
