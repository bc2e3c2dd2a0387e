package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"codeagent/sandbox/protect"
)

// PolicyVersion is the version of the JSON form of a Policy.
const PolicyVersion = 1

type policyFile struct {
	Version int `json:"version"`
	Policy
}

// EncodePolicy encodes p as versioned JSON. A path that is not valid UTF-8 is an error: JSON would
// change it, and the policy would apply to another path.
func EncodePolicy(p Policy) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return json.Marshal(policyFile{PolicyVersion, p})
}

// DecodePolicy decodes what EncodePolicy wrote. Unknown versions, unknown fields and data after the
// object are errors.
func DecodePolicy(data []byte) (Policy, error) {
	var f policyFile
	if !utf8.Valid(data) {
		return Policy{}, fmt.Errorf("policy: is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Policy{}, fmt.Errorf("policy: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Policy{}, fmt.Errorf("policy: more data follows the object")
	}
	if f.Version != PolicyVersion {
		return Policy{}, fmt.Errorf("policy: version %d, want %d", f.Version, PolicyVersion)
	}
	return f.Policy, f.Policy.Validate()
}

// Validate checks what needs no access to the file system: paths are absolute, clean and valid
// UTF-8, modes are known, limits are not negative.
func (p Policy) Validate() error {
	err := cmp.Or(
		validPaths("root", PathsOf(slices.Concat(p.Read, p.Write, p.WasWrite))),
		validPaths("path", slices.Concat(p.Protected.Paths, p.Protected.Own, p.Protected.Hidden, p.Sockets, p.Programs, p.Workdirs)),
		validPaths("deny_read", p.DenyRead),
		validPaths("temp", []string{cmp.Or(p.Temp, "/")}))
	if err != nil {
		return err
	}
	for _, hidden := range p.Protected.Hidden {
		if !slices.ContainsFunc(p.Protected.Own, func(own string) bool { return Covers(own, hidden) }) {
			return fmt.Errorf("hidden path %q: want it to be, or lie in, one of codeagent's own", hidden)
		}
	}
	for _, glob := range p.DenyGlobs {
		if err := validGlob(glob); err != nil {
			return err
		}
	}
	for _, name := range p.Protected.Names {
		if !validName(name) {
			return fmt.Errorf("protected name %q: want a clean relative path", name)
		}
	}
	for _, h := range slices.Concat(p.Network.Hosts, p.Network.Deny) {
		if got, err := ParsePattern(h.String()); err != nil || got != h {
			return fmt.Errorf("network host %q: not in the form ParsePattern gives", h)
		}
	}
	if err := p.Env.validate(); err != nil {
		return err
	}
	switch p.Network.Mode {
	case NetworkDeny, NetworkAllow, NetworkFull:
	default:
		return fmt.Errorf("network mode %q: want \"\", \"allow\" or \"full\"", p.Network.Mode)
	}
	l := p.Limits
	for _, n := range []int64{l.WallMillis, l.CPUSeconds, l.CPUPercent, l.Memory, l.Processes, l.OpenFiles, l.FileSize, l.Output} {
		if n < 0 {
			return fmt.Errorf("limits: %d is negative", n)
		}
	}
	return nil
}

// validName refuses "..", which leads out of the root, and ".", which is every root itself.
func validName(name string) bool {
	return protect.Fold(name) != "" && name != "." && name != ".." && !strings.HasPrefix(name, "../") && !path.IsAbs(name) &&
		path.Clean(name) == name && utf8.ValidString(name) && !strings.ContainsRune(name, 0)
}

// validGlob checks each component separately, as globCovers matches them: a bracket that spans a
// slash would silently match nothing.
func validGlob(glob string) error {
	if path.Clean(glob) != glob || strings.HasPrefix(glob, "../") || !utf8.ValidString(glob) || strings.ContainsRune(glob, 0) {
		return fmt.Errorf("deny_globs %q: want a clean glob", glob)
	}
	for component := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(component, ""); err != nil {
			return fmt.Errorf("deny_globs %q: the part %q is not a valid glob", glob, component)
		}
	}
	return nil
}

func validPaths(what string, paths []string) error {
	for _, p := range paths {
		switch {
		case !path.IsAbs(p) || path.Clean(p) != p:
			return fmt.Errorf("%s %q: want a clean absolute path", what, p)
		case !utf8.ValidString(p):
			return fmt.Errorf("%s %q: is not valid UTF-8, and cannot be confined exactly", what, p)
		case strings.ContainsRune(p, 0):
			return fmt.Errorf("%s %q: contains a NUL byte", what, p)
		}
	}
	return nil
}
