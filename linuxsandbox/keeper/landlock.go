//go:build linux

package keeper

import (
	"errors"
	"fmt"
	"io/fs"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The keeper makes the raw Landlock calls of go-landlock, which restrict one thread: the keeper's
// first thread must stay outside. The library's usual interface restricts all threads below ABI 8,
// and its best effort silently drops what the kernel lacks.

// accessTerminals is spec.AccessDevice for the folder of terminals that the keeper itself mounted.
const accessTerminals spec.Access = "terminals"

const (
	fsRead = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	// fsWrite omits MakeChar and MakeBlock: no command needs to create device nodes.
	fsWrite = ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer | ll.AccessFSTruncate
	fsDevice = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSIoctlDev
	// fsOfFile are the rights that a rule for a non-directory may have; the kernel answers EINVAL
	// to any other.
	fsOfFile = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
)

// byABI are the rights that each ABI added (kernel documentation, "Previous limitations").
var byABI = []struct {
	abi int
	ll.RulesetAttr
}{
	{1, ll.RulesetAttr{HandledAccessFS: 1<<13 - 1}},
	{2, ll.RulesetAttr{HandledAccessFS: ll.AccessFSRefer}},
	{3, ll.RulesetAttr{HandledAccessFS: ll.AccessFSTruncate}},
	{4, ll.RulesetAttr{HandledAccessNet: ll.AccessNetBindTCP | ll.AccessNetConnectTCP}},
	{5, ll.RulesetAttr{HandledAccessFS: ll.AccessFSIoctlDev}},
	{6, ll.RulesetAttr{Scoped: ll.ScopeAbstractUnixSocket | ll.ScopeSignal}},
	{9, ll.RulesetAttr{HandledAccessFS: ll.AccessFSResolveUnix}},
	{10, ll.RulesetAttr{HandledAccessNet: ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP}},
}

// handled is what Landlock denies unless a rule allows it: all rights that the ABI knows, except
// those of an open network.
func handled(abi int, network bool) ll.RulesetAttr {
	var a ll.RulesetAttr
	for _, added := range byABI {
		if added.abi > abi {
			break
		}
		a.HandledAccessFS |= added.HandledAccessFS
		a.HandledAccessNet |= added.HandledAccessNet
		a.Scoped |= added.Scoped
	}
	if network {
		a.HandledAccessNet = 0
	}
	return a
}

// rights are what a rule with that access allows on a kernel that knows all rights.
var rights = map[spec.Access]uint64{
	spec.AccessList:   ll.AccessFSReadDir,
	spec.AccessRun:    ll.AccessFSExecute,
	spec.AccessRead:   fsRead,
	spec.AccessWrite:  fsRead | fsWrite,
	spec.AccessDevice: fsDevice,
	accessTerminals:   fsDevice | ll.AccessFSReadDir,
}

// restrictFlags keeps the attempts of the self-test out of the kernel's audit log (ABI 7). The
// command's attempts come from another executable and are not logged by default.
func restrictFlags(abi int) uint32 {
	if abi >= 7 {
		return ll.FlagRestrictSelfLogSameExecOff
	}
	return 0
}

// LandlockABI is the ABI of the kernel; 0 if Landlock is missing or switched off.
func LandlockABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

// buildRuleset opens the paths of the rules and returns a ruleset that permits only them. It
// restricts nothing yet.
func buildRuleset(abi int, s *task) (int, error) {
	attr := handled(abi, s.Network)
	ruleset, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return -1, fmt.Errorf("create ruleset: %w", err)
	}
	for _, rule := range s.Rules {
		if err := addRule(ruleset, rule, attr.HandledAccessFS, s); err != nil {
			unix.Close(ruleset)
			return -1, err
		}
	}
	if s.Command.Terminal {
		// Allow the terminal by its descriptor: its name may be hidden, or mean another terminal in
		// the command's own /dev/pts.
		own := ll.PathBeneathAttr{AllowedAccess: fsDevice & attr.HandledAccessFS, ParentFd: 0}
		if err := ll.LandlockAddPathBeneathRule(ruleset, &own, 0); err != nil {
			unix.Close(ruleset)
			return -1, fmt.Errorf("add rule for the terminal: %w", err)
		}
	}
	return ruleset, nil
}

// addRule adds one rule. With Spec.Ask it grants no folder for writing, whatever is at the path by
// now: the broker judges every change in a folder. Landlock checks each folder on the way up,
// through mounts too, so a write right on the command's own /tmp would also hold in a workspace
// mounted below it.
func addRule(ruleset int, rule spec.Rule, handledFS uint64, s *task) error {
	fd, err := kernel.OpenPath(rule.Path)
	if err != nil {
		gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		if rule.Optional && (gone || rule.Access != spec.AccessWrite && errors.Is(err, unix.ELOOP)) {
			return nil // it stays shut
		}
		return rule.Failed(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return rule.Failed(err)
	}
	allowed := rights[rule.Access] & handledFS
	if s.Programs && rule.Access != spec.AccessRun {
		allowed &^= ll.AccessFSExecute
	}
	switch {
	case !kernel.IsFolder(&st):
		allowed &= fsOfFile
	case s.Ask && rule.Access == spec.AccessWrite:
		allowed &= fsRead
	}
	if rule.Access == spec.AccessDevice && st.Mode&unix.S_IFMT != unix.S_IFCHR && st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return rule.Failed(errors.New("is not a device"))
	}
	if allowed == 0 {
		return nil
	}
	if err := ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: allowed, ParentFd: fd}, 0); err != nil {
		return fmt.Errorf("add rule for %s: %w", rule.Path, err)
	}
	return nil
}

// signalRuleset is a layer that only the command gets. The threat is a command that kills its
// keeper: a process may signal every process of its Landlock domain, and the keeper's thread is in
// the domain of all other layers. With this layer the command is in a nested domain that no signal
// leaves (ABI 6; below that the result is -1).
//
// Every layer denies Refer by default, even if it does not handle it. Without the rule for / no
// file could be moved between folders in any root.
func signalRuleset(abi int) (int, error) {
	if abi < 6 {
		return -1, nil
	}
	fd, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: ll.AccessFSRefer, Scoped: ll.ScopeSignal}, 0)
	if err != nil {
		return -1, fmt.Errorf("create signal ruleset: %w", err)
	}
	root, err := kernel.OpenPath("/")
	if err == nil {
		err = ll.LandlockAddPathBeneathRule(fd, &ll.PathBeneathAttr{AllowedAccess: ll.AccessFSRefer, ParentFd: root}, 0)
		unix.Close(root)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("signal ruleset: %w", err)
	}
	return fd, nil
}
