package module

import (
	"bytes"
	"cmp"
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

// wazero decodes and validates a whole module before it looks for what it compiled of it. So the folder of a module has
// a skeleton too: the same module, but each function is "unreachable". What was compiled of the module is kept
// under the key of the skeleton. No command can write that folder, as is needed for the compiled code itself.

// skeletonName is in the folder of a module.
const skeletonName = "skeleton.wasm"

// load finds in dir what keep left there. An error: dir has nothing for this machine.
func load(ctx context.Context, config wazero.RuntimeConfig, dir string) (wazero.Runtime, wazero.CompiledModule, error) {
	code, err := os.ReadFile(filepath.Join(dir, skeletonName))
	if err != nil {
		return nil, nil, err
	}
	// A context that has ended ends compilation by workers, so the skeleton itself is never compiled, and cannot run.
	ctx, cancel := context.WithCancel(experimental.WithCompilationWorkers(ctx, 2))
	cancel()
	return compile(ctx, config, dir, code)
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
	bones := skeleton(code)
	if _, _, err := compile(ctx, config, dir, bones); err != nil {
		return err
	}
	from, _ := filepath.Glob(filepath.Join(whole, "*", "*"))
	to, _ := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if len(from) != 1 || len(to) != 1 {
		return errors.New("wazero kept no compiled code")
	}
	if err := os.Rename(from[0], to[0]); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, skeletonName), bones, 0o600)
}

// Sections of a module, by number.
const (
	customSection    = 0
	codeSection      = 10
	dataSection      = 11
	dataCountSection = 12
)

// skeleton is made of a valid module.
func skeleton(code []byte) []byte {
	const header = 8
	out := slices.Clone(code[:header])
	numbered := false // by instructions, which need the section
	for rest := code[header:]; len(rest) > 0; {
		id := rest[0]
		var content []byte
		content, rest = vector(rest[1:])
		switch id {
		case customSection:
			continue
		case codeSection:
			count, _ := binary.Uvarint(content)
			body := []byte{3, 0, 0x00, 0x0b} // its size, no locals, unreachable, end
			content = append(binary.AppendUvarint(nil, count), bytes.Repeat(body, int(count))...)
		case dataCountSection:
			numbered = true
		case dataSection:
			if !numbered {
				content = join(content)
			}
		}
		out = appendVector(append(out, id), content)
	}
	return out
}

// segment is data at an address of the memory, which is zero before.
type segment struct {
	at   uint64
	data []byte
}

// near is the most zeros between two segments that cost less than a segment.
const near = 256

// join makes one segment of those that are near each other: a program in Go has 30,000. What is not plain or overlaps
// stays as it is.
func join(content []byte) []byte {
	count, n := binary.Uvarint(content)
	rest := content[n:]
	segments := make([]segment, count)
	for i := range segments {
		if len(rest) < 2 || rest[0] != 0 || rest[1] != 0x41 { // memory 0, i32.const
			return content
		}
		at, n := binary.Uvarint(rest[2:])
		if rest[2+n] != 0x0b || at>>(7*n-1) != 0 { // end; a negative number
			return content
		}
		segments[i].at = at
		segments[i].data, rest = vector(rest[2+n+1:])
	}
	slices.SortFunc(segments, func(a, b segment) int { return cmp.Compare(a.at, b.at) })
	var joined []segment
	for _, s := range segments {
		if len(joined) > 0 {
			last := &joined[len(joined)-1]
			end := last.at + uint64(len(last.data))
			if s.at < end {
				return content
			}
			if gap := s.at - end; gap <= near {
				last.data = append(append(last.data, make([]byte, gap)...), s.data...)
				continue
			}
		}
		joined = append(joined, segment{s.at, slices.Clone(s.data)})
	}
	out := binary.AppendUvarint(nil, uint64(len(joined)))
	for _, s := range joined {
		out = append(out, 0, 0x41, byte(s.at)|0x80, byte(s.at>>7)|0x80, byte(s.at>>14)|0x80, byte(s.at>>21)|0x80, byte(s.at>>28), 0x0b)
		out = appendVector(out, s.data)
	}
	return out
}

// vector returns the bytes that begin with their number, and what comes after them.
func vector(b []byte) (content, rest []byte) {
	size, n := binary.Uvarint(b)
	return b[n:][:size], b[n:][size:]
}

func appendVector(b, content []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(content))), content...)
}
