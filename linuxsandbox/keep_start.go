//go:build linux

package linuxsandbox

import (
	"path/filepath"
	"slices"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// keepFor reports the single files that Landlock opens to a change observer: the
// broker makes every change in folders, and nobody asks about what changes in
// these. They are those that are there, and names for which a file is about to be
// made (absent.go).
func (p *prepared) keepFor(policy sandbox.Policy, observer sandbox.ChangeObserver) {
	for _, rule := range p.spec.Rules {
		if rule.Access != spec.AccessWrite || slices.Contains(p.folders, rule.Path) || !policy.Observes(rule.Path) {
			continue
		}
		dir, err := kernel.OpenPath(filepath.Dir(rule.Path))
		if err != nil {
			continue // nothing can be made or changed there
		}
		observer.BeforeChange(dir, filepath.Base(rule.Path), rule.Path)
		unix.Close(dir)
	}
}
