package main

import (
	"cmp"
	"os"
	"testing"

	"codeagent/config"

	"github.com/rogpeppe/go-internal/testscript"
)

// managedMain is codeagent with the managed settings in a file of the test's: the one of the machine is root's.
func managedMain() {
	config.ManagedFile = cmp.Or(os.Getenv("MANAGED"), config.ManagedFile)
	main()
}

// TestManagedScripts: what the built program does with managed settings of root's, or of somebody else.
func TestManagedScripts(t *testing.T) {
	t.Parallel()
	file := "testdata/managed/root.txtar"
	if os.Getuid() != 0 {
		file = "testdata/managed/user.txtar"
	}
	runScripts(t, testscript.Params{Files: []string{file}})
}
