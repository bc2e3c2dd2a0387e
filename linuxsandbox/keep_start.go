//go:build linux

package linuxsandbox

import (
	"path/filepath"
	"slices"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// keepFor makes ready what a Keeper needs: the broker makes every change in the
// folders of the write roots. Single files that Landlock opens are few, and are
// told right away: what is to change in them is not asked about. So are names that
// nothing has yet, for which a file is about to be made (absent.go).
func (p *prepared) keepFor(policy sandbox.Policy, keeper sandbox.Keeper) {
	p.leaveToBroker(policy, true)
	paths := slices.Clone(p.absent)
	for _, rule := range p.spec.Rules {
		if rule.Access == AccessWrite && !slices.Contains(p.folders, rule.Path) {
			paths = append(paths, rule.Path)
		}
	}
	for _, path := range paths {
		if !policy.Keeps(path) {
			continue
		}
		dir, err := openRoot(filepath.Dir(path))
		if err != nil {
			continue // nothing can be made or changed there
		}
		keeper.BeforeChange(dir, filepath.Base(path), path)
		unix.Close(dir)
	}
}
