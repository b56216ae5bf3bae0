package redfishtest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// reply is an answer before it is sent, so that a fault can still keep it back.
type reply struct {
	status      int
	header      http.Header
	raw         []byte
	contentType string
	stream      chan []byte // events to send until it is closed, instead of a body
	cutShort    bool        // the connection ends in the middle of the body
}

func (r reply) with(name, value string) reply {
	r.header = r.header.Clone()
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set(name, value)
	return r
}

func jsonReply(status int, body any) reply {
	raw, err := json.Marshal(body)
	if err != nil {
		return failure(http.StatusInternalServerError, baseRegistry+"InternalError", err.Error())
	}
	return reply{status: status, raw: raw, contentType: "application/json"}
}

func noContent() reply { return reply{status: http.StatusNoContent} }

func htmlReply(status int) reply {
	page := fmt.Sprintf("<!DOCTYPE html><html><head><title>%d</title></head><body><h1>%s</h1></body></html>\n",
		status, http.StatusText(status))
	return reply{status: status, raw: []byte(page), contentType: "text/html; charset=utf-8"}
}

// baseRegistry prefixes the MessageIds that DSP8011 (Base) defines.
const baseRegistry = "Base.1.8."

// message is one entry of @Message.ExtendedInfo (DSP0266, clause "Error responses").
type message struct {
	Type       string   `json:"@odata.type"`
	ID         string   `json:"MessageId"`
	Text       string   `json:"Message"`
	Args       []string `json:"MessageArgs"`
	Related    []string `json:"RelatedProperties,omitempty"`
	Severity   string   `json:"Severity"`
	Resolution string   `json:"Resolution,omitempty"`
}

func newMessage(severity, id, text string, args ...string) message {
	if args == nil {
		args = []string{}
	}
	return message{Type: "#Message.v1_1_2.Message", ID: id, Text: text, Args: args, Severity: severity}
}

func failure(status int, id, text string, args ...string) reply {
	return failures(status, newMessage("Critical", id, text, args...))
}

func failures(status int, messages ...message) reply {
	return jsonReply(status, map[string]any{"error": map[string]any{
		"code":                  baseRegistry + "GeneralError",
		"message":               "A general error has occurred; see the extended information.",
		"@Message.ExtendedInfo": messages,
	}})
}

// success is a 200 that carries messages, as iLO, iDRAC and Supermicro answer a PATCH.
func success(messages ...message) reply {
	if len(messages) == 0 {
		messages = []message{newMessage("OK", baseRegistry+"Success", "The request completed successfully.")}
	}
	return jsonReply(http.StatusOK, map[string]any{"@Message.ExtendedInfo": messages})
}

func notFound(uri string) reply {
	return failure(http.StatusNotFound, baseRegistry+"ResourceMissingAtURI",
		fmt.Sprintf("There is no resource at %s.", uri), uri)
}

// property problems, all 400; a client tells them apart by MessageId only.
func propertyProblem(kind, name string, value any) message {
	texts := map[string]string{
		"PropertyUnknown":              "The property %s is not known here.",
		"PropertyNotWritable":          "The property %s is read-only.",
		"PropertyNotWritableOrUnknown": "The property %s is read-only or not known.",
		"PropertyMissing":              "The property %s is required.",
		"PropertyValueTypeError":       "The value of %s has the wrong type.",
		"PropertyValueNotInList":       "The value of %s is not one of the allowed values.",
		"PropertyValueOutOfRange":      "The value of %s is out of range.",
		"PropertyValueFormatError":     "The value of %s has the wrong format.",
	}
	args := []string{name}
	if value != nil {
		args = []string{fmt.Sprint(value), name}
	}
	m := newMessage("Warning", baseRegistry+kind, fmt.Sprintf(texts[kind], name), args...)
	m.Related = []string{"#/" + name}
	return m
}
