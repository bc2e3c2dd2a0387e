package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"codeagent/hostfile"
)

// A key that a person entered is kept in a file of its own, which no command can read (Paths.Hidden). It
// is sent only to the scheme and host that it was entered for: another address of the same name gets none.

// keptKey is a kept key, and the scheme and host that it is for: an entry of the file. What holds one points to
// it, and no dump follows a pointer.
type keptKey struct {
	Origin string `json:"origin"`
	Key    string `json:"key"`
}

func (keptKey) String() string   { return "(hidden)" }
func (keptKey) GoString() string { return "(hidden)" }

const (
	// keysMost bounds the file, MostKey a key, in bytes.
	keysMost = 1 << 20
	MostKey  = 16 << 10
	// keysMode is the mode of the file.
	keysMode fs.FileMode = 0o600
)

// KeysFile is the file of the kept keys.
func (p Paths) KeysFile() string { return filepath.Join(p.Keys, "keys.json") }

// readKeys returns the kept keys by the names of their providers. It refuses a file that others could have
// read or written.
func readKeys(ctx context.Context, file string) (map[string]*keptKey, error) {
	data, err := hostfile.Within(ctx, func() ([]byte, error) {
		f, err := hostfile.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		of, known := info.Sys().(*syscall.Stat_t)
		switch mode := info.Mode().Perm(); {
		case !known || int(of.Uid) != os.Geteuid():
			return nil, errors.New("another user owns this file. Remove it, and enter the keys again")
		case mode&0o077 != 0:
			return nil, fmt.Errorf("other users may access this file (mode %03o). Replace its keys at the providers if others may have read them, then: chmod %03o %s", mode, keysMode, file)
		}
		return io.ReadAll(io.LimitReader(f, keysMost))
	})
	kept := map[string]*keptKey{}
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil && (json.Unmarshal(data, &kept) != nil || kept == nil) { // whose error would quote the file
		err = errors.New("not as codeagent writes it. Remove it, and enter the keys again")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	maps.DeleteFunc(kept, func(_ string, k *keptKey) bool { return k == nil || CheckKey(k.Key) != nil })
	return kept, nil
}

// KeepKey keeps a key for the host of p instead of the one that it had, and ForgetKey removes that.
func (p Paths) KeepKey(ctx context.Context, of Provider, getenv func(string) string, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	return p.changeKeys(ctx, func(kept map[string]*keptKey) { kept[of.Name] = &keptKey{of.origin(getenv), key} })
}

// ForgetKey removes the key that is kept for the provider of that name.
func (p Paths) ForgetKey(ctx context.Context, name string) error {
	return p.changeKeys(ctx, func(kept map[string]*keptKey) { delete(kept, name) })
}

func (p Paths) changeKeys(ctx context.Context, change func(map[string]*keptKey)) error {
	if err := p.Create(); err != nil {
		return err
	}
	unlock, err := hostfile.Lock(p.Keys)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Keys, err)
	}
	defer unlock()
	kept, err := readKeys(ctx, p.KeysFile())
	if err != nil {
		return err
	}
	change(kept)
	data, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	return hostfile.Write(p.KeysFile(), append(data, '\n'), keysMode)
}

// Unread says why the kept keys are not used; nil: they are.
func (c Config) Unread() error { return c.unread }

// CheckKey says why a text cannot be a key. It never repeats the text.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("enter a key")
	case len(key) > MostKey:
		return errors.New("this is longer than a key")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return errors.New("a key has no spaces and no special characters: copy it alone")
	}
	return nil
}

// origin is the scheme and the host of p, "" while a variable of its address is not set.
func (p Provider) origin(getenv func(string) string) string {
	p.Headers = nil
	p, err := p.Resolve(getenv)
	if err != nil {
		return ""
	}
	u, err := baseURL(p.BaseURL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// WithKey is p with a key that is not kept yet.
func (p Provider) WithKey(getenv func(string) string, key string) Provider {
	p.kept = &keptKey{p.origin(getenv), key}
	return p
}

// Kept reports whether codeagent keeps a key under the name of p.
func (p Provider) Kept() bool { return p.kept != nil }

// KeySource says where the key of p comes from: "$NAME", "key_command", "the kept key"; "" without one.
func (p Provider) KeySource(getenv func(string) string) string {
	if len(p.KeyCommand) > 0 {
		return "key_command"
	}
	_, source := p.keyFrom(getenv)
	return source
}
