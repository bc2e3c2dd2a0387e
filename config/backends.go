package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The kinds of backends. Each is also the name of a backend that needs no table.
const (
	// Native is the system's own sandbox.
	Native = "native"
	// Bwrap is bubblewrap.
	Bwrap = "bwrap"
	// Container is a container of an image.
	Container = "container"
	// Wasm is the side program's runtime of WebAssembly modules.
	Wasm = "wasm"
)

var backendKinds = []string{Native, Bwrap, Container, Wasm}

// Backend is a [backends.NAME] table. All but Kind is of a container; Memory is in MiB.
type Backend struct {
	Kind   string `toml:"kind"`
	Engine string `toml:"engine"`
	Image  string `toml:"image"`
	Memory int64  `toml:"memory"`
	CPUs   int64  `toml:"cpus"`
	Tasks  int64  `toml:"tasks"`
}

// BackendTable is the table of the backend with that name, or an empty one. "" is the chosen one.
func (c Config) BackendTable(name string) Backend {
	if name == "" {
		name = c.Sandbox.Backend
	}
	if own := c.Backends[name]; own != nil {
		return *own
	}
	return Backend{}
}

// BackendKind is the kind of the backend with that name. "" is the chosen one. The error also says that managed settings
// decide for another one.
func (c Config) BackendKind(name string) (string, error) {
	if name == "" {
		name = c.Sandbox.Backend
	}
	if err := c.Decides("sandbox.backend", name); err != nil {
		return "", err
	}
	if own := c.Backends[name]; own != nil {
		if own.Kind == "" {
			return "", fmt.Errorf("backends.%s.kind is not set; use one of %s", name, strings.Join(backendKinds, ", "))
		}
		return own.Kind, nil
	}
	if slices.Contains(backendKinds, name) {
		return name, nil
	}
	known := slices.Compact(slices.Sorted(slices.Values(slices.Concat(backendKinds, slices.Collect(maps.Keys(c.Backends))))))
	return "", fmt.Errorf("there is no backend %q; use one of %s, or write [backends.%s]", name, strings.Join(known, ", "), name)
}
