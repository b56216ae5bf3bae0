package redfish

import "context"

// dedicatedPort is what all of them call the socket that the BMC shares with nobody.
const dedicatedPort = "Dedicated"

// socketMode is where a vendor keeps which socket of the machine the BMC uses.
type socketMode struct {
	uri  link           // of the resource; "" where there is none
	now  string         // "Dedicated", or how it is shared, in the vendor's words
	body map[string]any // that sets it to dedicated, where uri is the port
	// with is the body, where uri is not the port: the socket with all else that may cut
	// the connection.
	with func(p netPlace, want NetworkWish, differs map[string]bool) map[string]any
}

// portOem is the vendor's part of a manager's EthernetInterface.
func (c *Client) portOem(ctx context.Context, port link, vendor string, into any) error {
	var doc struct {
		Oem oemDoc `json:"Oem"`
	}
	if _, err := c.get(ctx, port, &doc); err != nil {
		return err
	}
	oem(doc.Oem, vendor, into)
	return nil
}
