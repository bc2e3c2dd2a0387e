//go:build linux

// Package container confines commands in containers of an image: with Podman, Docker, or Apple's container. It turns what the
// session needs into a command line of the engine, and does nothing else (linuxsandbox.Engine).
package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"codeagent/hostfile"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
)

// Name is that of the backend.
const Name = "container"

// Engines are the programs that can run containers, in the order in which they are looked for.
var Engines = []string{"podman", "docker"}

// Options say what runs.
type Options struct {
	// Program is the absolute path of podman, docker or Apple's container.
	Program string
	// Run runs a command line of it in the folder dir, outside the sandbox. The error has what the program says of a failure.
	Run   func(ctx context.Context, dir string, argv []string) error
	Image string
	// Memory in MiB, processors and processes of all commands together; 0: as the engine has it.
	Memory, CPUs, Tasks int64
}

// The least with which the helper and a shell can work. Docker refuses less than 6 MiB.
const leastMemory, leastTasks = 64, 64

// New returns the backend. folder is codeagent's own, for sockets.
func New(o Options, of linuxsandbox.Options, folder string) (*linuxsandbox.Backend, error) {
	if o.Image == "" || o.Image[0] == '-' { // which the engine takes for a flag
		return nil, errors.New("the backend has no image: set backends.NAME.image to one that the engine has")
	}
	if filepath.Base(o.Program) == "container" {
		return nil, errors.New("a container of this engine is a virtual machine, which codeagent's helper cannot serve commands from")
	}
	return linuxsandbox.NewInContainers(of, engine{o, folder, os.Geteuid(), os.Getegid(), subordinate("/etc/subuid")}, folder)
}

type engine struct {
	Options
	folder   string // in which Podman's monitor leaves a file when memory runs out
	uid, gid int
	// subordinate: this user has further user IDs (subuid(5)), so that commands in a rootless container of Podman can have
	// the same as outside. Else they see themselves as root.
	subordinate bool
}

// subordinate reports whether the file gives this user further IDs.
func subordinate(file string) bool {
	data, err := hostfile.Read(context.Background(), file, 1<<20)
	me, bad := user.Current()
	if err != nil || bad != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if name, _, ok := strings.Cut(line, ":"); ok && (name == me.Username || name == me.Uid) {
			return true
		}
	}
	return false
}

func (engine) Name() string { return Name }

func (e engine) Run(ctx context.Context, o linuxsandbox.ContainerOrder) error {
	argv, err := e.argv(o)
	if err != nil {
		return err
	}
	return e.Options.Run(ctx, e.folder, argv)
}

// argv is the same for each engine but for the words that only one of them has. A /dev/shm of the engine would be mounted
// outside the container first, and stay there where the engine is killed. A health check of the image would run beside the
// commands, with their mounts, and no keeper would confine it.
func (e engine) argv(o linuxsandbox.ContainerOrder) ([]string, error) {
	kind := filepath.Base(e.Program)
	a := &argv{e.Program, "run", "--detach", "--rm", "--name", o.Name, "--read-only", "--cap-drop", "ALL", "--workdir", "/"}
	if kind != "container" {
		a.add("--pull", "never", "--log-driver", "none", "--security-opt", "no-new-privileges", "--security-opt", "label=disable",
			"--ipc", "none", "--mount", "type=tmpfs,destination=/dev/shm", "--no-healthcheck")
	}
	user := fmt.Sprintf("%d:%d", e.uid, e.gid)
	if kind == "podman" {
		a.add("--read-only-tmpfs=false", "--http-proxy=false")
		switch {
		case e.uid == 0:
		case e.subordinate:
			a.add("--userns", "keep-id")
		default:
			user = "0:0" // outside it is the person
		}
	}
	a.add("--user", user)
	if o.FileCaps {
		a.add("--cap-add", "DAC_OVERRIDE", "--cap-add", "FOWNER", "--cap-add", "CHOWN")
	}
	switch {
	case o.HostNet:
		a.add("--network", "host")
	case o.Join != "":
		a.add("--network", "container:"+o.Join)
	default:
		a.add("--network", "none")
	}
	if e.Tasks > 0 && kind != "container" {
		a.add("--pids-limit", strconv.FormatInt(max(e.Tasks, leastTasks), 10))
	}
	if memory := strconv.FormatInt(max(e.Memory, leastMemory), 10) + "m"; e.Memory > 0 {
		if a.add("--memory", memory); kind != "container" {
			a.add("--memory-swap", memory) // the same: no swap
		}
	}
	if e.CPUs > 0 {
		a.add("--cpus", strconv.FormatInt(e.CPUs, 10))
	}
	for _, b := range o.Binds {
		if err := a.bind(b, map[bool]string{true: "readonly", false: "ro"}[kind == "container"]); err != nil {
			return nil, err
		}
	}
	return append(append(*a, "--entrypoint", o.First[0], e.Image), o.First[1:]...), nil
}

type argv []string

func (a *argv) add(args ...string) { *a = append(*a, args...) }

func (a *argv) bind(b linuxsandbox.Bind, readOnly string) error {
	for _, path := range []string{b.Path, b.Source} {
		if strings.ContainsAny(path, ",\"\n") {
			return fmt.Errorf("%q cannot be mounted in a container: the engine's command line has no word for such a path", path)
		}
	}
	switch {
	case b.Device:
		a.add("--device", b.Source+":"+b.Path)
	case b.Writable:
		a.add("--mount", "type=bind,source="+b.Source+",destination="+b.Path)
	default:
		a.add("--mount", "type=bind,source="+b.Source+",destination="+b.Path+","+readOnly)
	}
	return nil
}

// Lacks compares what was ordered with what the kernel says of the container's control group.
func (e engine) Lacks(found spec.Container) (out []sandbox.Weakness) {
	raised := func(what string, have, least int64) {
		if have > 0 && have < least {
			out = append(out, sandbox.Weakness{ID: "container-least", What: fmt.Sprintf("commands have %d of %s and not %d", least, what, have),
				Why: "with less the helper and a shell cannot work", Remedy: ""})
		}
	}
	raised("memory (MiB)", e.Memory, leastMemory)
	raised("processes", e.Tasks, leastTasks)
	none := func(is string) bool { // v1 says "no limit" with the largest number of pages
		is, _, _ = strings.Cut(is, " ")
		return is == "" || is == "max" || is == "-1" || len(is) > 18
	}
	for _, limit := range []struct {
		ordered  bool
		is, what string
	}{{e.Memory > 0, found.Memory, "memory"}, {e.Tasks > 0, found.Tasks, "tasks"}, {e.CPUs > 0, found.CPU, "cpus"}} {
		if limit.ordered && none(limit.is) {
			out = append(out, sandbox.Weakness{ID: "container-limits", What: "the limit " + limit.what + " of the container is not in force",
				Why: "its control group has " + cmp.Or(limit.is, "no such limit"), Remedy: "control groups of version 2, delegated to you by systemd"})
		}
	}
	return out
}
