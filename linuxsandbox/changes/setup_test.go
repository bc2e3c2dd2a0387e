//go:build linux

// Package changes tests which changes the observer gets before a command makes them, and what is asked about a loss. It has tests alone.
package changes

import (
	"testing"

	"codeagent/linuxsandbox/backendtest"
)

// tests are those of this package, which run again as other users and in other settings.
var tests = backendtest.Tests("codeagent/linuxsandbox/changes")

func TestMain(m *testing.M) { backendtest.Main(m) }
