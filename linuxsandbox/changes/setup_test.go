//go:build linux

// Package changes tests what the change observer is told before a command changes a file, and what is asked about a loss. It has tests alone.
package changes

import (
	"testing"

	"codeagent/linuxsandbox/backendtest"
)

// tests are those of this package, which run again as other users and in other settings.
var tests = backendtest.Tests("codeagent/linuxsandbox/changes")

func TestMain(m *testing.M) { backendtest.Main(m) }
