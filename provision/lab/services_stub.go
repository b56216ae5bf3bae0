package lab

import "context"

// What the BMCs and the image bring replaces these, one by one.

func startIPMI(context.Context, *Machine) (func() error, error) {
	return func() error { return nil }, nil
}

func startRedfish(context.Context, *Machine) (func() error, error) {
	return func() error { return nil }, nil
}

func startDnsmasq(context.Context, string, []Spec) (func() error, error) {
	return func() error { return nil }, nil
}

// ImageOptions say where the lab's image is kept.
type ImageOptions struct{}

// BuildImage returns the folder of the netboot image.
func BuildImage(context.Context, ImageOptions) (string, error) { return "", nil }
