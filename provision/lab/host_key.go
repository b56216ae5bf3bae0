package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// HostKeyFile is the private SSH key in the state folder that opens the machines'
// hosts. Who boots a host gives it the public half, in HostKeyFile.pub.
const HostKeyFile = "lab-ssh-key"

// makeHostKey makes the key once in the life of a lab.
func makeHostKey(ctx context.Context, dir string) error {
	path := filepath.Join(dir, HostKeyFile)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rackproof-lab", "-f", path)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("key for the hosts: ssh-keygen: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}
