//go:build linux

// Package network tests what a command reaches through sockets, in the network of its session and on the host. It has tests alone.
package network

import (
	"testing"

	"codeagent/linuxsandbox/backendtest"
)

// tests are those of this package, which run again as other users and in other settings.
var tests = backendtest.Tests("codeagent/linuxsandbox/network")

func TestMain(m *testing.M) { backendtest.Main(m) }
