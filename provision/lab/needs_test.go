package lab

import (
	"strings"
	"testing"
)

// Whoever lacks a program is told which package to install.
func TestCheckNamesPackages(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Check()
	if err == nil {
		t.Fatal("a lab without any program")
	}
	for _, want := range []string{"apt-get install", "qemu-system-x86", "openipmi", "openssh-client"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
