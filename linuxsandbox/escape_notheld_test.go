//go:build linux

package linuxsandbox

// wantRows is how many rows each setting has, so that none goes missing.
var wantRows = map[string]int{
	"root":                389,
	"user":                364,
	"root, no namespaces": 363,
	"user, no namespaces": 363,
	"root in a container": 388,
	"user in a container": 363,
	"user, covered /proc": 363,
}

// notHeld names the rows that are not held yet in each setting. Each of them is
// covered by the Weakness that its row names, and Enforcement must state it. A
// row that is held fails until it is taken out here, and that is all it takes:
// where a setting holds what others do not, write its own list.
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
