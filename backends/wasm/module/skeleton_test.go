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
	"github.com/tetratelabs/wazero/experimental"
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
		want int // bytes of the image
	}{
		"none": {nil, 0}, "one": {[]string{far}, 65539}, "in order": {[]string{low, next, near}, 104}, "in no order": {[]string{far, near, low}, 65539},
		"overlap": {[]string{near, low, over, next}, 104}, "other overlap": {[]string{over, low}, 11}, "twice": {[]string{far, again}, 65539},
		"negative": {[]string{low, negative}, 0}, "past the end": {[]string{low, past}, 0}, "passive": {[]string{low, "\x01\x01a"}, 0}, "numbered": {[]string{low}, 0},
	} {
		code := writes
		if name == "numbered" {
			code = strings.Replace(code, "\x0a\x0c", "\x0c\x01\x01\x0a\x0c", 1)
		}
		code, dir, config := code+string(appendVector([]byte{dataSection}, append([]byte{byte(len(c.data))}, strings.Join(c.data, "")...))), t.TempDir(), wazero.NewRuntimeConfigCompiler()
		bones, image := skeleton([]byte(code))
		if len(image) != c.want || bytes.Contains(bones, []byte("name")) {
			t.Errorf("%s: %q, %d bytes, want %d", name, bones, len(image), c.want)
		}
		if err := keep(t.Context(), config, dir, []byte(code)); err != nil {
			t.Fatal(err)
		}
		r, compiled, err := compile(t.Context(), config, "", []byte(code))
		want, wantErr := memoryOf(t.Context(), r, compiled, nil, err)
		r, compiled, begin, err := load(t.Context(), config, dir)
		got, gotErr := memoryOf(t.Context(), r, compiled, begin, err)
		if got != want || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, want %v; the same memory: %t", name, gotErr, wantErr, got == want)
		}
		kept, _ := filepath.Glob(dir + "/wazero-*/*")
		if err := os.Remove(kept[0]); err != nil || len(kept) != 1 {
			t.Fatal(err, kept)
		}
		if _, _, _, err := load(t.Context(), config, dir); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// memoryOf runs a module.
func memoryOf(ctx context.Context, r wazero.Runtime, compiled wazero.CompiledModule, image *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer r.Close(ctx)
	m, err := r.InstantiateModule(experimental.WithMemoryAllocator(ctx, allocator(image)), compiled, wazero.NewModuleConfig())
	if err != nil {
		return "", err
	}
	all, _ := m.Memory().Read(0, m.Memory().Size())
	return string(all), nil
}

// TestNoMemory: a module that gets no memory does not run, and says so.
func TestNoMemory(t *testing.T) {
	defer func() {
		if none, ok := recover().(noMemory); !ok || !strings.Contains(none.Error(), "no memory for the module") {
			t.Errorf("%v", none)
		}
	}()
	allocator(nil)(1<<60, 1<<60)
	t.Error("there is memory")
}
