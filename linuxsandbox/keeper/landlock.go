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

// Landlock is used through the raw calls of go-landlock. They restrict one thread: the
// keeper's first thread has to stay outside. Its friendlier interface restricts all
// threads below ABI 8, and its best effort silently drops what the kernel lacks.

// accessTerminals is spec.AccessDevice for a whole folder: of the terminals that the
// keeper itself mounted there.
const accessTerminals spec.Access = "terminals"

const (
	fsRead = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	// fsWrite leaves out MakeChar and MakeBlock: nothing needs device nodes.
	fsWrite = ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer | ll.AccessFSTruncate
	fsDevice = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSIoctlDev
	// fsOfFile are the rights that a rule on something other than a directory
	// may carry; the kernel answers EINVAL to any other.
	fsOfFile = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev

	netTCP = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	netUDP = ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
)

// handled is what Landlock denies unless a rule allows it: everything that the ABI
// knows (kernel documentation, "Previous limitations").
func handled(abi int, network bool) ll.RulesetAttr {
	var a ll.RulesetAttr
	a.HandledAccessFS = 1<<13 - 1
	if abi >= 2 {
		a.HandledAccessFS |= ll.AccessFSRefer
	}
	if abi >= 3 {
		a.HandledAccessFS |= ll.AccessFSTruncate
	}
	if abi >= 5 {
		a.HandledAccessFS |= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		a.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	if abi >= 9 {
		a.HandledAccessFS |= ll.AccessFSResolveUnix
	}
	if !network {
		if abi >= 4 {
			a.HandledAccessNet |= netTCP
		}
		if abi >= 10 {
			a.HandledAccessNet |= netUDP
		}
	}
	return a
}

// rights are what a rule with that access allows, before the kernel's ABI is asked.
func rights(a spec.Access) uint64 {
	switch a {
	case spec.AccessList:
		return ll.AccessFSReadDir
	case spec.AccessRead:
		return fsRead
	case spec.AccessWrite:
		return fsRead | fsWrite
	case spec.AccessDevice:
		return fsDevice
	case accessTerminals:
		return fsDevice | ll.AccessFSReadDir
	}
	return 0
}

// restrictFlags keeps the attempts of the self-test out of the kernel's audit log (ABI
// 7). Those of the command are another executable's, and are not logged by default.
func restrictFlags(abi int) uint32 {
	if abi >= 7 {
		return ll.FlagRestrictSelfLogSameExecOff
	}
	return 0
}

// LandlockABI is the kernel's, 0 where there is no Landlock or it is switched off.
func LandlockABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

// buildRuleset opens the rules' paths and returns a ruleset that permits just
// them. It restricts nothing yet.
func buildRuleset(abi int, s *task) (int, error) {
	attr := handled(abi, s.Network)
	ruleset, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return -1, fmt.Errorf("create ruleset: %w", err)
	}
	for _, rule := range s.Rules {
		if err := addRule(ruleset, rule, attr.HandledAccessFS, s.Ask); err != nil {
			unix.Close(ruleset)
			return -1, err
		}
	}
	if s.Command.Terminal {
		// By its descriptor: under its name it may not be in sight, and the name may
		// be another's in the command's own /dev/pts.
		own := ll.PathBeneathAttr{AllowedAccess: fsDevice & attr.HandledAccessFS, ParentFd: 0}
		if err := ll.LandlockAddPathBeneathRule(ruleset, &own, 0); err != nil {
			unix.Close(ruleset)
			return -1, fmt.Errorf("add rule for the terminal: %w", err)
		}
	}
	return ruleset, nil
}

// addRule adds one rule. With brokered no folder is granted for writing, whatever is at
// the path by now: the broker judges every change in a folder. Landlock looks at each
// folder on the way up, through mounts too, so a write right on the command's own /tmp
// would hold in a workspace that is mounted below it.
func addRule(ruleset int, rule spec.Rule, handledFS uint64, brokered bool) error {
	fd, err := kernel.OpenPath(rule.Path)
	if err != nil {
		gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		if rule.Optional && (gone || rule.Access != spec.AccessWrite && errors.Is(err, unix.ELOOP)) {
			return nil // left shut
		}
		return rule.Failed(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return rule.Failed(err)
	}
	allowed := rights(rule.Access) & handledFS
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		allowed &= fsOfFile
	case brokered && rule.Access == spec.AccessWrite:
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

// signalRuleset is the layer that only the command gets. The threat is a command that
// kills its keeper: a process may signal every process of its Landlock domain, and the
// keeper's thread shares the domain of all other layers. With this layer the command is
// in a domain nested in that one, out of which no signal goes (ABI 6, below it -1).
//
// Every layer denies Refer by default, handled or not. Without the rule for / no file
// could be moved from one folder to another in any root.
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
