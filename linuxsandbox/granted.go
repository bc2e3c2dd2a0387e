//go:build linux

package linuxsandbox

import (
	"slices"
)

// What a grant names may be a single file, a name that nothing has yet, or a
// folder. Landlock binds rules to files that are there and knows nothing of the
// entry that a file is, so that `rm`, `mv` and `mkdir` of just what was granted
// would fail, and a rule for the folder around it would open all of that. So the
// broker makes these changes, on the host's own files (hold_grant.go), as it does
// for what is granted to a command that runs.

// planGrants takes up what was granted. A folder keeps its own rule.
func (p *protection) planGrants(granted, folders []string) {
	for _, path := range granted {
		if slices.Contains(folders, path) {
			p.entries = append(p.entries, path)
		} else {
			p.granted = append(p.granted, path)
		}
	}
}

// onHost reports whether the changes at path are made on the host's own files: it was
// granted, by itself or since the command runs.
func (j *judge) onHost(path string) bool {
	return j.roots.opens(path) || slices.Contains(j.protection.entries, path)
}

// openGrants makes roots of what was granted before the command runs.
func (j *judge) openGrants() {
	for _, path := range j.protection.granted {
		j.roots.open(path)
	}
}
