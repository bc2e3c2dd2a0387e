//go:build !linux

// Package bwrap confines commands with bubblewrap, which only Linux has.
package bwrap

import (
	"errors"

	"codeagent/linuxsandbox"
)

// Name is that of the backend.
const Name = "bwrap"

// New returns an error.
func New(string, linuxsandbox.Options) (*linuxsandbox.Backend, error) {
	return nil, errors.New("bubblewrap needs Linux")
}
