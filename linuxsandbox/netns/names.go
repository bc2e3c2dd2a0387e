//go:build linux

package netns

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	"codeagent/sandbox"
)

// hostNames are the names by which a session knows addresses: those that commands looked up, and
// those of hosts(5). Libraries look up a name of that file only for the address family that the
// file does not have.
type hostNames struct {
	file map[netip.Addr][]string
	// written are the names in the file.
	written map[string]bool

	mu   sync.Mutex
	list map[netip.Addr][]string // the most recent one last; guarded by mu
}

// maxHostNames bounds the addresses, maxNamesEach the names of each address.
const (
	maxHostNames = 4096
	maxNamesEach = 16
)

// newHostNames parses the text of hosts(5). It knows localhost even if the file does not name it.
func newHostNames(file string) *hostNames {
	h := &hostNames{file: map[netip.Addr][]string{}, written: map[string]bool{}, list: map[netip.Addr][]string{}}
	for line := range strings.Lines(file + "\n127.0.0.1 localhost\n::1 localhost\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		addr, err := netip.ParseAddr(fields[0])
		if err != nil {
			continue
		}
		for _, name := range fields[1:] {
			if p, err := sandbox.ParseHostPort(name); err == nil {
				h.file[addr.Unmap()] = append(h.file[addr.Unmap()], p.Host)
				h.written[p.Host] = true
			}
		}
	}
	return h
}

// add records an address of a name.
func (h *hostNames) add(addr netip.Addr, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.list) >= maxHostNames && h.list[addr] == nil {
		clear(h.list)
	}
	names := slices.DeleteFunc(slices.Clone(h.list[addr]), func(s string) bool { return s == name })
	if len(names) >= maxNamesEach {
		names = names[1:]
	}
	h.list[addr] = append(names, name)
}

// all returns the names of an address.
func (h *hostNames) all(addr netip.Addr) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Concat(h.list[addr], h.file[addr])
}

// last is the name under which an address was looked up most recently, or "".
func (h *hostNames) last(addr netip.Addr) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if names := h.list[addr]; len(names) > 0 {
		return names[len(names)-1]
	}
	return ""
}
