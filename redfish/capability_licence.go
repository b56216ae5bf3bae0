package redfish

import (
	"context"
	"errors"
)

// licences are those of the standard's service.
func (base) licences(ctx context.Context, k *card) ([]string, link, error) {
	if k.c.root.Licences == "" {
		return nil, "", nil
	}
	var service struct {
		Licences link `json:"Licenses"`
	}
	if _, err := k.c.get(ctx, k.c.root.Licences, &service); err != nil {
		return nil, k.c.root.Licences, err
	}
	return licenceNames(ctx, k.c, service.Licences, func(d licenceDoc) string { return firstOf(d.Name.clean(), d.ID.clean()) })
}

type licenceDoc struct {
	ID    text  `json:"Id"`
	Name  text  `json:"Name"`
	Words words `json:"LicenseDescription"`
}

// licenceNames reads a collection of licences; one that cannot be read leaves all
// unknown.
func licenceNames(ctx context.Context, c *Client, uri link, name func(licenceDoc) string) ([]string, link, error) {
	var unread gaps
	docs, _ := resources[licenceDoc](ctx, c, uri, &unread)
	if len(unread.list) > 0 {
		return nil, uri, errors.New(unread.list[0])
	}
	var names []string
	for _, d := range docs {
		if d != nil {
			names = append(names, name(*d))
		}
	}
	return names, uri, nil
}

// licenceOf decodes the first manager's part of a vendor, and tells which manager.
func (k *card) licenceOf(part func(*managerDoc) oemDoc, vendor string, into any, found func() bool) link {
	for i, m := range k.managers {
		if m == nil {
			continue
		}
		if oem(part(m), vendor, into); found() {
			return k.managerURIs[i]
		}
	}
	return ""
}

func managerOEM(m *managerDoc) oemDoc { return m.Oem }

func managerLinks(m *managerDoc) oemDoc { return m.Links.value.Oem }
