package profiles

import (
	"fmt"
	"reflect"
	"strings"
)

// Draft writes a profile called name that extends base and states limits over it, by the path of their keys
// ("nvme.read_rate"). What comes back is the file's text; it resolves like one written by hand.
func Draft(name, title, base string, limits map[string]*Limit) ([]byte, error) {
	p := Profile{Schema: ProfileSchema, Name: name, Title: title, Extends: []string{base}}
	for path, l := range limits {
		if !setLimit(reflect.ValueOf(&p).Elem(), strings.Split(path, "."), l) {
			return nil, fmt.Errorf("draft of %s: a profile has no limit %s", name, path)
		}
	}
	return canonical(&p)
}

// Limit gives the limit at the path of its keys, nil where there is none.
func (p *Profile) Limit(path string) *Limit {
	for at, l := range p.Limits() {
		if at == path {
			return l
		}
	}
	return nil
}

func setLimit(v reflect.Value, keys []string, l *Limit) bool {
	for i := range v.NumField() {
		if fieldOf(v.Type().Field(i)).name != keys[0] {
			continue
		}
		if _, ok := reflect.TypeAssert[*Limit](v.Field(i)); ok && len(keys) == 1 {
			v.Field(i).Set(reflect.ValueOf(l))
			return true
		}
		return v.Field(i).Kind() == reflect.Struct && len(keys) > 1 && setLimit(v.Field(i), keys[1:], l)
	}
	return false
}
