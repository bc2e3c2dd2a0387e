//go:build linux

// Package alike compares commands in the sandbox with the same commands outside: they must do the same. It has tests alone.
package alike

import (
	"testing"

	"codeagent/linuxsandbox/backendtest"
)

// tests are those of this package, which run again as other users and in other settings.
var tests = backendtest.Tests("codeagent/linuxsandbox/alike")

func TestMain(m *testing.M) { backendtest.Main(m) }
