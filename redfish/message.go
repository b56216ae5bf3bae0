package redfish

import "encoding/json"

// message is one entry of ExtendedInfo.
type message struct {
	ID       text  `json:"MessageId"`
	Message  text  `json:"Message"`
	Args     words `json:"MessageArgs"`
	Severity text  `json:"Severity"`
}

// messages finds what a BMC says about a request, which successes carry too:
// a 200 may hold "SystemResetRequired" or "PropertyNotWritable".
func messages(body []byte) []message {
	var doc struct {
		Error maybe[struct {
			Message  text          `json:"message"`
			Code     text          `json:"code"`
			Extended list[message] `json:"@Message.ExtendedInfo"`
		}] `json:"error"`
		Extended list[message] `json:"@Message.ExtendedInfo"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return nil
	}
	all := append([]message(doc.Error.value.Extended), doc.Extended...)
	if len(all) == 0 && doc.Error.ok {
		all = []message{{ID: doc.Error.value.Code, Message: doc.Error.value.Message}}
	}
	return all
}
