package hostfile

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// Commands may have a private folder in place of the shared ones for temporary files. Of the host's they
// are shown what they name, entry by entry.

// credentials begin the names of credential caches that libraries keep in /tmp. Sockets of agents need no
// row: TempEntry leaves out their folders.
var credentials = []struct{ prefix, reason string }{
	{"krb5cc", "tickets of Kerberos"},
	{"x509up_u", "proxy certificates of grids"},
	{"bt_u", "bearer tokens of grids"},
}

// tempLook: a folder with as many entries is not looked through, and not shown.
const tempLook = 4096

// TempEntry returns the entry around path of base, a shared folder for temporary files, and its kind: a
// regular file, a folder or a link. ok is false if it is absent, or if commands must not be shown it: it
// keeps credentials, it contains a path of denied or of codeagent's own or lies in one, or it is a folder with a
// socket, a pipe or a device, as agents and servers make.
func TempEntry(base, path string, denied []string, own sandbox.ProtectedNames) (entry string, kind fs.FileMode, ok bool) {
	if base == path || !sandbox.Covers(base, path) {
		return "", 0, false
	}
	first, _, _ := strings.Cut(path[len(base)+1:], "/")
	entry = filepath.Join(base, first)
	for _, c := range credentials {
		if strings.HasPrefix(first, c.prefix) {
			return "", 0, false
		}
	}
	if slices.ContainsFunc(slices.Concat(denied, own.Hidden, own.Own), func(c string) bool { return sandbox.Covers(c, entry) || sandbox.Covers(entry, c) }) {
		return "", 0, false
	}
	info, err := Lstat(entry)
	if err != nil {
		return "", 0, false
	}
	kind = info.Mode().Type()
	if kind.IsDir() {
		list, err := ReadDir(entry, tempLook)
		ok = err == nil && len(list) < tempLook && !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 })
		return entry, kind, ok
	}
	return entry, kind, kind.IsRegular() || kind == fs.ModeSymlink
}
