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

// keepFor reports to a change observer each single file that Landlock lets the command write. The
// broker makes every change in folders, but a write to one of these files goes past it. They are
// the files that exist and the names at which codeagent is about to create one (absent.go).
func (p *prepared) keepFor(policy sandbox.Policy, observer sandbox.ChangeObserver) {
	for _, rule := range p.spec.Rules {
		if rule.Access != spec.AccessWrite || slices.Contains(p.folders, rule.Path) || !policy.Observes(rule.Path) {
			continue
		}
		dir, err := kernel.OpenPath(filepath.Dir(rule.Path))
		if err != nil {
			continue // nothing can be created or changed there
		}
		observer.BeforeChange(dir, filepath.Base(rule.Path), rule.Path)
		unix.Close(dir)
	}
}
