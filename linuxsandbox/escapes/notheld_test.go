//go:build linux

package escapes

import (
	"slices"

	"codeagent/internal/attack"
	"codeagent/sandbox"
)

// wantRows is the number of rows in each setting, so that none is lost. With an old Landlock they are as many.
var wantRows = map[string]int{
	"root":                490,
	"user":                464,
	"root, no namespaces": 463,
	"user, no namespaces": 463,
	"root in a container": 488,
	"user in a container": 463,
	"user, covered /proc": 463,

	"user, no Landlock":     464,
	"root, no Landlock":     490,
	"user, Docker's filter": 462,
	"root, Docker's filter": 487,

	"user, podman": 460,
	"root, podman": 486,

	"user, bwrap": 459,
	"root, bwrap": 485,
}

// openInBwrap is how many rows the backend bwrap does not hold: those of the Weaknesses "protected" (what is absent at the
// start, deeper in a root, or replaced meanwhile), "locks", "pipes", "set-user-id" and "keeper-signals".
const openInBwrap = 103

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

	"user, no Landlock": keeperRows,
	"root, no Landlock": keeperRows,

	"user, Docker's filter": lockRows,
	"root, Docker's filter": lockRows,
}

// openRows are those of notHeld, and with an old Landlock, of the kernel or simulated, those of its weaknesses.
func openRows(s attack.Setting, e sandbox.Enforcement) []string {
	switch {
	case e.LandlockABI == 0 || e.LandlockABI >= 6:
		return notHeld[s.Name]
	case slices.Contains(e.Active(), "pidns"):
		return slices.Concat(notHeld[s.Name], keeperRows)
	}
	return slices.Concat(notHeld[s.Name], signalRows)
}

// keeperRows are those of the Weakness "signals" in a PID namespace, where the parent is the keeper.
var keeperRows = []string{"codeagent: signal the parent"}

// signalRows are globRows and those of the Weakness "signals" without a PID namespace.
var signalRows = slices.Concat(globRows, []string{
	"kill", "stop", "terminate", "tgkill", "tkill", "rt_sigqueueinfo", "pidfd_send_signal", "a signal by a socket's owner", "the shell's kill",
	"codeagent: signal it", "codeagent: signal the parent",
})

// lockRows are globRows and those of the Weakness "locks".
var lockRows = slices.Concat(globRows, []string{
	"lock: exclusive", "lock: shared", "lock: without waiting", "lock: high bits", "lock: shared, then exclusive", "lock: a folder",
	"lock: through a symlink of the workspace", "lock: through /proc/self/root", "lock: a thread with descriptors of its own", "lock: a descriptor that is swapped",
})

// globRows are the rows of the Weakness "deny-read-glob".
var globRows = []string{
	"deny-read: glob, by its name",
	"deny-read: glob, through a symlink",
}
