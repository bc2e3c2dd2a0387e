//go:build linux

package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// maxRules bounds the rules into which a root with denied paths may split. A rule adds about 5 µs
// to every start.
const maxRules = 4096

// devices are the device nodes that every command gets, whatever the policy lets it read. The rest
// of /dev stays shut even if everything is readable: reading a terminal takes what the user types,
// and a disk contains every denied file.
var devices = []struct{ path, reason string }{
	{"/dev/null", "programs discard output and read nothing"},
	{"/dev/zero", "a source of zeroes, also mapped as memory"},
	{"/dev/full", "tests of full disks write to it"},
	{"/dev/random", "randomness; writing only stirs the pool"},
	{"/dev/urandom", "randomness; writing only stirs the pool"},
	{"/dev/tty", "the command's own terminal, which only a foreground command has"},
}

// lister lists a directory as os.ReadDir does; tests supply maps. A symbolic link has
// fs.ModeSymlink in its type.
type lister func(path string) ([]fs.DirEntry, error)

// rulesFor lists what Landlock opens for p. Write roots come first.
func rulesFor(p resolved.Policy, entries lister) ([]spec.Rule, error) {
	var rules []spec.Rule
	denied := p.DenyRead
	for _, root := range p.Roots {
		if !sandbox.CoveredBy(denied, root.Path) {
			rules = append(rules, spec.Rule{Path: root.Path, Access: spec.AccessWrite, Optional: root.Optional})
		}
	}
	reads := p.Read
	if len(reads) == 0 {
		reads = []sandbox.Root{{Path: "/"}}
	}
	for _, root := range reads {
		if sandbox.CoveredBy(denied, root.Path) {
			continue
		}
		more, err := readRules(root, denied, entries)
		if err != nil {
			return nil, err
		}
		rules = append(rules, more...)
	}
	for _, dev := range devices {
		if !sandbox.CoveredBy(denied, dev.path) {
			rules = append(rules, spec.Rule{Path: dev.path, Access: spec.AccessDevice, Optional: true})
		}
	}
	for _, path := range p.Programs {
		if !sandbox.CoveredBy(denied, path) {
			rules = append(rules, spec.Rule{Path: path, Access: spec.AccessRun, Optional: true})
		}
	}
	if len(rules) > maxRules {
		return nil, fmt.Errorf("keeping %s unreadable takes %d Landlock rules, more than %d: too many entries lie beside the way to it",
			list(denied), len(rules), maxRules)
	}
	return rules, nil
}

// rulesOfImage lists what Landlock opens for p in the root of an image, whose names are not those of this machine. Mounts close
// what is denied of what is shown there, and /dev has no devices but these.
func rulesOfImage(p resolved.Policy) (rules []spec.Rule) {
	for _, root := range p.Roots {
		rules = append(rules, spec.Rule{Path: root.Path, Access: spec.AccessWrite, Optional: root.Optional})
	}
	reads := p.Read
	if len(reads) == 0 {
		reads = []sandbox.Root{{Path: "/"}}
	}
	for _, root := range reads {
		rules = append(rules, spec.Rule{Path: root.Path, Access: spec.AccessRead, Optional: root.Path != "/"})
	}
	for _, dev := range devices {
		rules = append(rules, spec.Rule{Path: dev.path, Access: spec.AccessDevice, Optional: true})
	}
	return rules
}

// readRules opens root for reading, except the denied paths in it and the devices. Landlock adds
// the rights of every folder above a file and takes none away. So around a denied path the rules
// open the siblings of each folder on the way to it, and not the root. The folders on that way
// cannot be listed then.
func readRules(root sandbox.Root, denied []string, entries lister) ([]spec.Rule, error) {
	carve := slices.DeleteFunc(slices.Clone(denied), func(deny string) bool { return !sandbox.Covers(root.Path, deny) })
	listable := len(carve) == 0
	hasDevices := sandbox.Covers(root.Path, "/dev")
	if hasDevices {
		carve = append(carve, "/dev")
	}
	if len(carve) == 0 {
		return []spec.Rule{{Path: root.Path, Access: spec.AccessRead, Optional: root.Optional}}, nil
	}
	rules, err := siblings(root.Path, carve, entries)
	if errors.Is(err, fs.ErrNotExist) && root.Optional {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read root %s: %w", root.Path, err)
	}
	if hasDevices && listable {
		rules = append(rules, spec.Rule{Path: root.Path, Access: spec.AccessList, Optional: root.Optional})
	}
	// POSIX shared memory segments are plain files.
	if hasDevices && !sandbox.CoveredBy(denied, "/dev/shm") {
		rules = append(rules, spec.Rule{Path: "/dev/shm", Access: spec.AccessRead, Optional: true})
	}
	return rules, nil
}

// siblings opens everything in the directory at except the paths of carve. A symbolic link needs no
// rule, because Landlock judges its target.
func siblings(at string, carve []string, entries lister) ([]spec.Rule, error) {
	if slices.Contains(carve, at) {
		return nil, nil
	}
	found, err := entries(at)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil // a folder that codeagent cannot list stays shut
	}
	if err != nil {
		return nil, err
	}
	var rules []spec.Rule
	for _, e := range found {
		path := filepath.Join(at, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0, slices.Contains(carve, path):
		case e.IsDir() && slices.ContainsFunc(carve, func(c string) bool { return sandbox.Covers(path, c) }):
			below, err := siblings(path, carve, entries)
			if err != nil {
				return nil, err
			}
			rules = append(rules, below...)
		default:
			rules = append(rules, spec.Rule{Path: path, Access: spec.AccessRead, Optional: true})
		}
		if len(rules) > maxRules {
			return nil, fmt.Errorf("more than %d entries lie beside the way to %s", maxRules, list(carve))
		}
	}
	return rules, nil
}

// loaders opens the dynamic loaders of the programs in rules: the kernel executes them too. The interpreter of a script
// is a program of its own.
func loaders(rules []spec.Rule) (out []spec.Rule) {
	for _, rule := range rules {
		if rule.Access != spec.AccessRun {
			continue
		}
		fd, err := kernel.OpenPath(rule.Path)
		if err != nil {
			continue // the keeper skips it
		}
		path, script, err := kernel.InterpreterOf(fd)
		unix.Close(fd)
		if err != nil || path == "" || script {
			continue
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			continue
		}
		if loader := (spec.Rule{Path: path, Access: spec.AccessRun, Optional: true}); !slices.Contains(out, loader) {
			out = append(out, loader)
		}
	}
	return out
}
