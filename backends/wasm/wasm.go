// Package wasm is a backend whose commands are WebAssembly modules (WASI preview 1). They run in the side program, whose
// file system opens what the policy does (package module), and the program runs in the sandbox of the system under the
// same policy: a module that breaks out of the one is in the other. Nothing but a module is ever started for a command.
package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"codeagent/approvals/rules"
	"codeagent/backends/wasm/order"
	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// Name is that of the backend.
const Name = "wasm"

// Backend starts modules. It is safe for concurrent use.
type Backend struct {
	extra []string
	cache string
	inner resolved.Backend
}

// New returns what makes a backend over a sandbox of the system. extra is the command line of the side program, whose last
// element is its version. cache is a folder for what is compiled, which commands must not be able to write; the error
// says if another user could.
func New(extra []string, cache string) (over func(inner resolved.Backend) resolved.Backend, err error) {
	if err := hostfile.MkdirAll(cache, 0o700); err != nil {
		return nil, fmt.Errorf("folder for compiled modules: %w", err)
	}
	info, err := hostfile.Lstat(cache)
	if err != nil {
		return nil, fmt.Errorf("folder for compiled modules: %w", err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("folder for compiled modules: other users can write %s, and what they put there would run: remove it", cache)
	}
	return func(inner resolved.Backend) resolved.Backend { return &Backend{extra, cache, inner} }, nil
}

// Name is "wasm".
func (*Backend) Name() string { return Name }

// Enforcement is that of the sandbox around the side program.
func (b *Backend) Enforcement(p resolved.Policy) (sandbox.Enforcement, error) {
	if err := fits(p); err != nil {
		return sandbox.Enforcement{}, err
	}
	e, err := b.inner.Enforcement(b.around(p))
	if e.Weak("unconfined") {
		return e, fail(sandbox.ExitCannotConfine, "policy", errors.New("no sandbox of the system works here, and without one no module runs"))
	}
	e.Backend = Name
	e.Layers = slices.Concat([]sandbox.Layer{{Name: Name, State: sandbox.LayerActive, Reason: b.extra[0]}}, e.Layers)
	return e, err
}

// fits refuses what a module cannot have.
func fits(p resolved.Policy) error {
	switch {
	case p.Unconfined:
		return fail(sandbox.ExitCannotConfine, "policy", errors.New("modules never run unconfined"))
	case p.Network.Mode != sandbox.NetworkDeny || len(p.Sockets) > 0:
		return fail(sandbox.ExitCannotConfine, "policy", errors.New("modules have no network: remove sandbox.network, allowed hosts and sockets, or choose another backend"))
	}
	return nil
}

func fail(code int, stage string, err error) error {
	return &sandbox.StartError{Code: code, Stage: stage, Err: err}
}

// ownMemory is what the side program may take for itself: mostly addresses that Go reserves.
const ownMemory = 2 << 30

// around is the policy of the side program that runs a module under p. A module starts no process; its memory is limited
// by the side program.
func (b *Backend) around(p resolved.Policy) resolved.Policy {
	limits := p.Limits
	limits.Processes = 0
	if limits.Memory > 0 {
		limits.Memory += ownMemory
	}
	if len(p.Programs) > 0 {
		p = p.Starting(b.extra[:1])
	}
	return p.Plus(nil, []string{b.extra[0], b.cache}).Limited(limits)
}

// Start starts the module that cmd names. What is not a module, or cannot run as one, is a StartError with the code 126.
func (b *Backend) Start(ctx context.Context, p resolved.Policy, cmd sandbox.Command, h sandbox.Holder) (sandbox.Process, error) {
	if cmd.Path == sandbox.FileWorker {
		return b.inner.Start(ctx, p, cmd, h)
	}
	if err := fits(p); err != nil {
		return nil, err
	}
	argv, err := wordsOf(cmd)
	if err != nil {
		return nil, fail(sandbox.ExitCannotExec, "exec", err)
	}
	o := order.Order{}
	if o.Module, o.Sum, err = b.look(ctx, p, cmd.Dir, argv[0]); err != nil {
		return nil, err
	}
	if o.Policy, err = p.Encode(); err != nil {
		return nil, fail(sandbox.ExitCannotConfine, "policy", err)
	}
	o.Cache = filepath.Join(b.cache, b.extra[len(b.extra)-1]+"-"+o.Sum)
	if _, err := hostfile.Lstat(o.Cache); errors.Is(err, fs.ErrNotExist) {
		err = b.compile(ctx, o)
		if err != nil {
			return nil, err
		}
	}
	args, err := b.args(o)
	if err != nil {
		return nil, fail(sandbox.ExitCannotConfine, "policy", err)
	}
	cmd.Path, cmd.Args = args[0], append(args, argv...)
	if h != nil {
		h = losses{h}
	}
	return b.inner.Start(ctx, b.around(p), cmd, h)
}

// losses lets only calls wait that would lose what undo needs. A module's file system has refused the others before they
// are made; a yes would not reach it.
type losses struct{ sandbox.Holder }

func (l losses) Asks(d sandbox.Denial) bool { return d.Kind == sandbox.KindLoss && l.Holder.Asks(d) }

func (b *Backend) args(o order.Order) ([]string, error) {
	args, err := o.Args()
	return slices.Concat(b.extra, []string{Name}, args), err
}

// shells are the programs whose -c takes a text that may name a module.
var shells = []string{"sh", "bash", "dash", "zsh"}

// wordsOf returns the module's name and its arguments: the command itself, or the words of a shell's text, in which
// nothing else may be.
func wordsOf(cmd sandbox.Command) ([]string, error) {
	argv := slices.Concat([]string{cmd.Path}, cmd.Args[1:])
	if len(argv) == 3 && argv[1] == "-c" && slices.Contains(shells, filepath.Base(cmd.Path)) {
		words, opaque := rules.Words(argv[2])
		if opaque != "" {
			return nil, fmt.Errorf("there is no shell in the backend wasm: the command must be NAME.wasm and plain arguments, and %s", opaque)
		}
		argv = words
	}
	if len(argv) == 0 || !strings.HasSuffix(argv[0], ".wasm") {
		return nil, fmt.Errorf("the backend wasm runs WebAssembly modules alone (NAME.wasm ARGUMENT...), not %q", argv)
	}
	return argv, nil
}

// maxModule is the largest module, in bytes.
const maxModule = 256 << 20

var (
	magic     = []byte("\x00asm\x01\x00\x00\x00")
	component = []byte("\x00asm")
)

// look finds the module and its SHA-256. The side program compares what it reads.
func (b *Backend) look(ctx context.Context, p resolved.Policy, dir, name string) (path, sum string, err error) {
	path, err = sandbox.Canonical(hostfile.OS{}, dir, name)
	if err == nil {
		if j := p.JudgeRead(path); !j.Allowed {
			return "", "", fail(sandbox.ExitCannotExec, "exec", fmt.Errorf("%s may not be read: %s", path, j.Why()))
		}
		if len(p.Programs) > 0 && !slices.Contains(p.Programs, path) {
			return "", "", fail(sandbox.ExitCannotExec, "exec", fmt.Errorf("sandbox.allowed_programs does not list %s", path))
		}
	}
	var head []byte
	if err == nil {
		head, sum, err = sumOf(ctx, path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", fail(sandbox.ExitNotFound, "exec", err)
	case err != nil:
	case bytes.Equal(head, magic):
		return path, sum, nil
	case bytes.HasPrefix(head, component):
		err = fmt.Errorf("%s is a component or of another version; modules of WASI preview 1 can run", path)
	default:
		err = fmt.Errorf("%s is not a WebAssembly module: it does not begin with \\0asm, and nothing else is run", path)
	}
	return "", "", fail(sandbox.ExitCannotExec, "exec", err)
}

// sumOf returns how the file path begins, and its SHA-256 if it may be a module.
func sumOf(ctx context.Context, path string) (head []byte, sum string, err error) {
	head = make([]byte, len(magic))
	sum, err = hostfile.Within(ctx, func() (string, error) {
		f, err := hostfile.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, magic) {
			return "", nil
		}
		hash := sha256.New()
		hash.Write(head)
		n, err := io.Copy(hash, io.LimitReader(f, maxModule))
		if err == nil && n == maxModule {
			err = &hostfile.TooLargeError{Size: n, Most: maxModule}
		}
		return hex.EncodeToString(hash.Sum(nil)), err
	})
	return head, sum, err
}

// Limits of a compilation.
const (
	compileSeconds = 120
	compileMemory  = 8 << 30
	maxWords       = 4 << 10
)

// compile makes o.Cache. Threat: what is compiled runs as machine code, later and for other commands too. So each module
// has a folder by its SHA-256, no command can write it, and it is filled by a process that runs no module, reads that
// one and has nothing else to write.
func (b *Backend) compile(ctx context.Context, o order.Order) error {
	o.Compile, o.Policy = true, nil
	done := o.Cache
	temp, err := hostfile.MkdirTemp(b.cache, "compile-")
	if err != nil {
		return fail(sandbox.ExitCannotConfine, "exec", err)
	}
	defer hostfile.RemoveAll(temp)
	o.Cache = temp
	policy := sandbox.Policy{
		Write: []sandbox.Root{{Path: temp}}, Read: []sandbox.Root{{Path: b.extra[0]}, {Path: o.Module}},
		Limits: sandbox.Limits{CPUSeconds: compileSeconds, Memory: compileMemory},
	}
	exact, err := resolved.On(hostfile.OS{}, policy)
	if err != nil {
		return fail(sandbox.ExitCannotConfine, "policy", err)
	}
	args, err := b.args(o)
	if err != nil {
		return fail(sandbox.ExitCannotExec, "exec", err)
	}
	words, said, err := os.Pipe()
	if err != nil {
		return fail(sandbox.ExitCannotConfine, "exec", err)
	}
	defer words.Close()
	process, err := b.inner.Start(ctx, exact, sandbox.Command{Path: args[0], Args: args, Dir: "/", Stderr: said, Evidence: sandbox.EvidenceNothing}, nil)
	said.Close()
	if err != nil {
		return err
	}
	text, _ := io.ReadAll(io.LimitReader(words, maxWords))
	words.Close()
	status, err := process.Wait()
	if err != nil {
		return err
	}
	if why := context.Cause(ctx); why != nil {
		return fail(sandbox.ExitCannotExec, "exec", fmt.Errorf("its first run compiles the module, which was not finished: %w", why))
	}
	if status != (sandbox.Status{}) {
		return fail(sandbox.ExitCannotExec, "exec", fmt.Errorf("%s (compiled with status %d, signal %d)", strings.TrimSpace(string(text)), status.Exit, status.Signal))
	}
	if made, err := hostfile.ReadDir(temp, 1); err != nil || len(made) == 0 {
		return nil // a session on a draft: what was compiled is in the draft, and the run compiles once more
	}
	if err := hostfile.Rename(temp, done); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return fail(sandbox.ExitCannotConfine, "exec", err)
	}
	return nil
}
