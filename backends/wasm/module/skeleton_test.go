package module

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// writes is a module with two pages of memory, whose _start sets the byte at 200. Data is to be appended.
const writes = "\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x05\x03\x01\x00\x02" +
	"\x07\x13\x02\x06memory\x02\x00\x06_start\x00\x00" + "\x0a\x0c\x01\x0a\x00\x41\xc8\x01\x41\x01\x3a\x00\x00\x0b" + "\x00\x05\x04name"

// TestSkeleton: what was compiled of a module is found by its skeleton, and does the same to the same memory. Alone a
// skeleton is never compiled.
func TestSkeleton(t *testing.T) {
	const ( // data at 8, 11, 100, 9, 65536 (twice), and two that are not in the memory
		low, next, near, over = "\x00\x41\x08\x0b\x03low", "\x00\x41\x0b\x0b\x04next", "\x00\x41\xe4\x00\x0b\x04near", "\x00\x41\x09\x0b\x02ab"
		far, again            = "\x00\x41\x80\x80\x04\x0b\x03far", "\x00\x41\x80\x80\x84\x00\x0b\x01F"
		negative, past        = "\x00\x41\x7f\x0b\x01a", "\x00\x41\x80\x80\x08\x0b\x04past"
	)
	for name, c := range map[string]struct {
		data []string
		want byte // segments of the skeleton
	}{
		"none": {nil, 0}, "one": {[]string{far}, 1}, "joined": {[]string{low, next, near}, 1}, "in no order": {[]string{far, near, low}, 2},
		"overlap": {[]string{near, low, over, next}, 4}, "other overlap": {[]string{over, low}, 2}, "twice": {[]string{far, again}, 2},
		"negative": {[]string{low, negative}, 2}, "past the end": {[]string{low, past}, 2},
	} {
		section := append([]byte{byte(len(c.data))}, strings.Join(c.data, "")...)
		if got := join(section)[0]; got != c.want {
			t.Errorf("%s: %d segments, want %d", name, got, c.want)
		}
		code, dir, config := appendVector([]byte(writes+"\x0b"), section), t.TempDir(), wazero.NewRuntimeConfigCompiler()
		if err := keep(t.Context(), config, dir, code); err != nil {
			t.Fatal(err)
		}
		r, compiled, err := compile(t.Context(), config, "", code)
		want, wantErr := memoryOf(t.Context(), r, compiled, err)
		r, compiled, err = load(t.Context(), config, dir)
		got, gotErr := memoryOf(t.Context(), r, compiled, err)
		if got != want || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, want %v; the same memory: %t", name, gotErr, wantErr, got == want)
		}
		kept, _ := filepath.Glob(dir + "/wazero-*/*")
		if err := os.Remove(kept[0]); err != nil || len(kept) != 1 {
			t.Fatal(err, kept)
		}
		if _, _, err := load(t.Context(), config, dir); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if bones := skeleton(code); bytes.Contains(bones, []byte("name")) || !bytes.HasPrefix(bones, []byte(writes[:40])) {
			t.Errorf("%s: %q", name, bones)
		}
	}
}

// memoryOf runs a module.
func memoryOf(ctx context.Context, r wazero.Runtime, compiled wazero.CompiledModule, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer r.Close(ctx)
	m, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig())
	if err != nil {
		return "", err
	}
	all, _ := m.Memory().Read(0, m.Memory().Size())
	return string(all), nil
}
