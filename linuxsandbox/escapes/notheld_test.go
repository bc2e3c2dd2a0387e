//go:build linux

package escapes

// wantRows is the number of rows in each setting, so that none is lost.
var wantRows = map[string]int{
	"root":                478,
	"user":                452,
	"root, no namespaces": 451,
	"user, no namespaces": 451,
	"root in a container": 476,
	"user in a container": 451,
	"user, covered /proc": 451,
}

// notHeld names the rows that are not enforced yet in each setting. Enforcement must state the
// Weakness that such a row names. If a row is enforced after all, the test fails until the row is
// removed here. A setting that enforces more than others has a list of its own.
var notHeld = map[string][]string{
	"root":                nil,
	"user":                nil,
	"user, covered /proc": nil,
	"root, no namespaces": globRows,
	"user, no namespaces": globRows,
	"root in a container": globRows,
	"user in a container": globRows,
}

// globRows are the rows of the Weakness "deny-read-glob".
var globRows = []string{
	"deny-read: glob, by its name",
	"deny-read: glob, through a symlink",
}
