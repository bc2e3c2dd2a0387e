//go:build linux

// Package denials tries calls that the broker denies: what they do not change, what is recorded, and who is asked meanwhile. It has tests alone.
package denials

import (
	"testing"

	"codeagent/linuxsandbox/backendtest"
)

// tests are those of this package, which run again as other users and in other settings.
var tests = backendtest.Tests("codeagent/linuxsandbox/denials")

func TestMain(m *testing.M) { backendtest.Main(m) }
