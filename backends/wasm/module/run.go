package module

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"codeagent/backends/wasm/order"
	"codeagent/sandbox"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// trapped is the exit status of a module that a trap ended, as of a program that aborts in a shell.
const trapped = 134

// Main compiles or runs one module: args are those of an order.Order, then the module's own, beginning with its name. It
// returns the exit status: that of the module, 126 for a module that cannot run.
//
// The process has the limits: the time limit ends it, so a loop needs no checks in the compiled code.
func Main(args []string) int {
	o, policy, argv, err := order.Parse(args)
	status := sandbox.ExitCannotExec
	if err == nil {
		status, err = run(context.Background(), o, policy, argv)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", o.Module, err)
	}
	return status
}

const page = 64 << 10

func run(ctx context.Context, o order.Order, policy sandbox.Policy, argv []string) (status int, err error) {
	const failed = sandbox.ExitCannotExec
	config := wazero.NewRuntimeConfigCompiler().WithDebugInfoEnabled(false)
	if policy.Limits.Memory > 0 {
		config = config.WithMemoryLimitPages(uint32(min(max(policy.Limits.Memory/page, 1), 1<<16)))
	}
	if o.Compile {
		code, err := read(o)
		if err == nil {
			err = keep(ctx, config, o.Cache, code)
		}
		if err != nil {
			return failed, err
		}
		return 0, nil
	}
	r, compiled, image, err := load(ctx, config, o.Cache)
	if err != nil { // on a draft, or compiled by a processor with other features
		var code []byte
		image = nil
		if code, err = read(o); err == nil {
			r, compiled, err = compile(ctx, config, "", code)
		}
	}
	if err != nil {
		return failed, err
	}
	if len(argv) > 1 {
		takes, err := fits(compiled)
		if err == nil && !takes {
			err = fmt.Errorf("the module takes no arguments (it does not import args_get), and was given %q", argv[1:])
		}
		if err != nil {
			return failed, err
		}
	}
	defer func() {
		switch bad := recover().(type) {
		case nil:
		case noMemory:
			status, err = failed, bad
		default:
			panic(bad)
		}
	}()
	ctx = experimental.WithMemoryAllocator(ctx, allocator(image))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return failed, err
	}
	var exit *sys.ExitError
	switch _, err := r.InstantiateModule(ctx, compiled, configOf(NewFS(policy, true), argv)); {
	case errors.As(err, &exit):
		return int(exit.ExitCode() & 0xff), nil
	case err != nil:
		why, _, _ := strings.Cut(err.Error(), "\n")
		return trapped, errors.New(why)
	}
	return 0, nil
}

// read reads the module.
func read(o order.Order) ([]byte, error) {
	code, err := os.ReadFile(o.Module)
	if sum := sha256.Sum256(code); err == nil && hex.EncodeToString(sum[:]) != o.Sum {
		err = errors.New("the module was changed while it was started")
	}
	return code, err
}

// fits checks that a compiled module is a command of WASI preview 1. takes: it takes arguments.
func fits(compiled wazero.CompiledModule) (takes bool, err error) {
	for _, f := range compiled.ImportedFunctions() {
		from, name, _ := f.Import()
		if from != wasi_snapshot_preview1.ModuleName {
			return false, fmt.Errorf("the module imports %s.%s, which is not of WASI preview 1", from, name)
		}
		takes = takes || name == "args_get"
	}
	if compiled.ExportedFunctions()["_start"] == nil {
		return false, errors.New("the module has no function _start: it is a library, not a command of WASI preview 1")
	}
	return takes, nil
}

// configOf is what a module gets: its arguments, the environment and the three files of the process, clocks and random numbers.
func configOf(fs *FS, argv []string) wazero.ModuleConfig {
	config := wazero.NewModuleConfig().WithArgs(argv...).WithStdin(os.Stdin).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithSysWalltime().WithSysNanotime().WithSysNanosleep().WithRandSource(rand.Reader).
		WithFSConfig(wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(fs, "/"))
	for _, kv := range os.Environ() {
		key, value, _ := strings.Cut(kv, "=")
		config = config.WithEnv(key, value)
	}
	return config
}
