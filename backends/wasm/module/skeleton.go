package module

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// wazero decodes and validates a whole module before it looks for what it compiled of it, and copies its data twice. So
// the folder of a module has a skeleton too: the same module, but each function is "unreachable". What was compiled of
// the module is kept under the key of the skeleton. Data lies in an image of the memory, which is mapped. No command can
// write that folder, as is needed for the compiled code itself.

// Files in the folder of a module.
const (
	skeletonName = "skeleton.wasm"
	imageName    = "memory"
)

// load finds in dir what keep left there. An error: dir has nothing for this machine.
func load(ctx context.Context, config wazero.RuntimeConfig, dir string) (r wazero.Runtime, compiled wazero.CompiledModule, image *os.File, err error) {
	code, err := os.ReadFile(filepath.Join(dir, skeletonName))
	if err == nil {
		image, err = os.Open(filepath.Join(dir, imageName))
	}
	if err == nil {
		// A context that has ended ends compilation by workers, so the skeleton itself is never compiled, and cannot run.
		ctx, cancel := context.WithCancel(experimental.WithCompilationWorkers(ctx, 2))
		cancel()
		r, compiled, err = compile(ctx, config, dir, code)
	}
	return r, compiled, image, err
}

// compile compiles a module, or takes from dir what was compiled; dir is "" for none.
func compile(ctx context.Context, config wazero.RuntimeConfig, dir string, code []byte) (wazero.Runtime, wazero.CompiledModule, error) {
	if dir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			return nil, nil, err
		}
		config = config.WithCompilationCache(cache)
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	compiled, err := r.CompileModule(ctx, code)
	if err != nil {
		err = fmt.Errorf("not a module that can run: %w", err)
	}
	return r, compiled, err
}

// keep compiles a module into dir, with its skeleton.
func keep(ctx context.Context, config wazero.RuntimeConfig, dir string, code []byte) error {
	ctx = experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	whole := filepath.Join(dir, "whole")
	_, compiled, err := compile(ctx, config, whole, code)
	if err == nil {
		_, err = fits(compiled)
	}
	if err != nil {
		return err
	}
	bones, image := skeleton(code)
	if _, _, err := compile(ctx, config, dir, bones); err != nil {
		return err
	}
	from, _ := filepath.Glob(filepath.Join(whole, "*", "*"))
	to, _ := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if len(from) != 1 || len(to) != 1 {
		return errors.New("wazero kept no compiled code")
	}
	return errors.Join(os.Rename(from[0], to[0]), os.WriteFile(filepath.Join(dir, imageName), image, 0o600),
		os.WriteFile(filepath.Join(dir, skeletonName), bones, 0o600))
}

// Sections of a module, by number.
const (
	customSection    = 0
	memorySection    = 5
	codeSection      = 10
	dataSection      = 11
	dataCountSection = 12
)

// skeleton is made of a valid module. The image may be empty.
func skeleton(code []byte) (bones, image []byte) {
	const header = 8
	bones = slices.Clone(code[:header])
	var size uint64 // of the memory at first
	plain := true   // no instruction names data
	for rest := code[header:]; len(rest) > 0; {
		id := rest[0]
		var content []byte
		content, rest = vector(rest[1:])
		switch id {
		case customSection:
			continue
		case memorySection:
			if content[0] == 1 { // memory, then its flags and pages
				pages, _ := binary.Uvarint(content[2:])
				size = pages * page
			}
		case codeSection:
			count, _ := binary.Uvarint(content)
			body := []byte{3, 0, 0x00, 0x0b} // its size, no locals, unreachable, end
			content = append(binary.AppendUvarint(nil, count), bytes.Repeat(body, int(count))...)
		case dataCountSection:
			plain = false
		case dataSection:
			if all, ok := imageOf(content, size); plain && ok {
				image = all
				continue
			}
		}
		bones = appendVector(append(bones, id), content)
	}
	return bones, image
}

// maxImage is the largest image.
const maxImage = 64 << 20

// imageOf returns what a data section makes of a memory; not ok if that is not so before a run.
func imageOf(content []byte, size uint64) (image []byte, ok bool) {
	count, n := binary.Uvarint(content)
	rest := content[n:]
	for range count {
		if rest[0] != 0 || rest[1] != 0x41 { // memory 0, i32.const
			return nil, false
		}
		at, n := binary.Uvarint(rest[2:])
		if rest[2+n] != 0x0b || at>>(7*n-1) != 0 { // end; a negative number
			return nil, false
		}
		var data []byte
		data, rest = vector(rest[2+n+1:])
		end := at + uint64(len(data))
		if end > min(size, maxImage) {
			return nil, false
		}
		image = append(image, make([]byte, max(end, uint64(len(image)))-uint64(len(image)))...)
		copy(image[at:], data)
	}
	return image, true
}

// vector returns the bytes that begin with their number, and what comes after them.
func vector(b []byte) (content, rest []byte) {
	size, n := binary.Uvarint(b)
	return b[n:][:size], b[n:][size:]
}

func appendVector(b, content []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(content))), content...)
}
