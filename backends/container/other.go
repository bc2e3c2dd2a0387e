//go:build !linux

// Package container confines commands in containers, which codeagent serves on Linux alone.
package container

import (
	"context"
	"errors"

	"codeagent/linuxsandbox"
)

// Engines are the programs that can run containers.
var Engines = []string{"podman", "docker"}

// Options say what runs.
type Options struct {
	Program, Image      string
	Run                 func(ctx context.Context, dir string, argv []string) error
	Memory, CPUs, Tasks int64
}

// New returns an error.
func New(Options, linuxsandbox.Options, string) (*linuxsandbox.Backend, error) {
	return nil, errors.New("containers work on Linux alone: the ones of this system are virtual machines, in which codeagent's helper cannot serve commands")
}
