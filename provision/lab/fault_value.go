package lab

import (
	"fmt"
	"strconv"
	"strings"
)

// targeted splits "DEVICE=VALUE"; without a device it is device, without a value
// value.
func targeted(s, device, value string) (string, string) {
	d, v, ok := strings.Cut(s, "=")
	switch {
	case ok:
		device, value = d, v
	case s != "":
		value = s
	}
	return device, value
}

// number reads a whole number between least and most; "" is def.
func number(s string, def, least, most int) (int, error) {
	if s == "" {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, usagef("value %q; give a whole number from %d to %d", s, least, most)
	}
	return n, nil
}

// UsageError is a fault value or a name that makes no sense.
type UsageError struct{ text string }

func (e *UsageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }
