package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"codeagent/approvals/rules"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"

	"github.com/pelletier/go-toml/v2"
)

// An exported file grants exactly what it shows. Its tables command, path, host and tool have the form
// of rules.toml. Three more tables list what rules cannot express: sockets, files that may be edited
// without a question, and single command lines. All paths are absolute and literal.

// header is the first line of an exported file.
const header = "# codeagent approvals 1"

// File is a parsed exported file.
type File struct {
	// Rules are the tables command, path, host and tool.
	Rules []*rules.Rule
	// Sockets and Edits list paths, Runs single command lines.
	Sockets, Edits []Paths
	Runs           []Run
}

// Paths is a table of paths.
type Paths struct {
	Paths   []string  `toml:"paths"`
	Expires time.Time `toml:"expires,omitempty"`
}

// Run is one command line, in one folder.
type Run struct {
	Command string    `toml:"command"`
	Folder  string    `toml:"folder"`
	Expires time.Time `toml:"expires,omitempty"`
}

// document has the tables of the file. Package rules reads those that rules.toml has too.
type document struct {
	Command []map[string]any `toml:"command,omitempty"`
	Path    []map[string]any `toml:"path,omitempty"`
	Host    []map[string]any `toml:"host,omitempty"`
	Tool    []map[string]any `toml:"tool,omitempty"`
	Socket  []Paths          `toml:"socket,omitempty"`
	Edit    []Paths          `toml:"edit,omitempty"`
	Run     []Run            `toml:"run,omitempty"`
}

// Reasons for leaving something out of a file.
const (
	noTable = ": an approvals file cannot grant it"
	unseen  = ": it has a character that is not shown"
)

// Export writes entries and rules as a file. about is a line that says where they come from. left
// lists what the file leaves out, and why.
func Export(about string, entries []Entry, list []*rules.Rule) (text []byte, left []string) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n# %s\n# codeagent exec --approvals FILE grants exactly what this file lists.\n", header, strings.Map(printable, about))
	for _, e := range entries {
		carried, why := e.portable(), noTable
		one, err := toml.Marshal(carried.tables())
		if err != nil || bytes.ContainsFunc(one, hidden) {
			carried, why, one = Entry{}, unseen, nil
		}
		in := carried.Lines(nil)
		for _, line := range e.Lines(nil) {
			if !slices.Contains(in, line) {
				left = append(left, line+why)
			}
		}
		if len(in) > 0 {
			out.WriteByte('\n')
			out.Write(one)
		}
	}
	for _, r := range list {
		if r.Decision != rules.Allow {
			continue
		}
		endless := *r
		endless.Expires = time.Time{}
		one := endless.TOML()
		if bytes.ContainsFunc(one, hidden) {
			left = append(left, r.String()+unseen)
			continue
		}
		out.Write(one)
		if !r.Expires.IsZero() { // with the time: a date alone would mean the end of that day
			fmt.Fprintf(&out, "expires = %s\n", r.Expires.UTC().Format(time.RFC3339))
		}
	}
	return out.Bytes(), left
}

// portable returns the part of e that a file can contain. It leaves out commands outside the
// sandbox, because their approval depends on the files of this machine.
func (e Entry) portable() Entry {
	out := Entry{Paths: e.Paths, Fetch: e.Fetch, Expires: e.Expires}
	out.Tool, out.Described = e.Tool, e.Described
	if !e.Grant.Unsandboxed && e.Server == "" { // the settings of another run may name another server so
		out.Grant = e.Grant
	}
	if !e.Outside {
		out.Command, out.Folder = e.Command, e.Folder
	}
	return out
}

// tables returns the tables for what e opens.
func (e Entry) tables() (d document) {
	until := e.Expires.UTC()
	ruled := func(key string, values []string, access rules.Access) []map[string]any {
		if len(values) == 0 {
			return nil
		}
		m := map[string]any{key: values}
		if access != "" {
			m["access"] = access
		}
		if !e.Expires.IsZero() {
			m["expires"] = until
		}
		return []map[string]any{m}
	}
	d.Path = append(ruled("paths", e.Grant.Write, rules.Write), ruled("paths", e.Grant.Read, rules.Read)...)
	d.Host = append(ruled("hosts", sandbox.HostsOf(e.Grant.Hosts), ""), ruled("hosts", sandbox.HostsOf(e.Fetch), rules.Fetch)...)
	if len(e.Grant.Sockets) > 0 {
		d.Socket = []Paths{{e.Grant.Sockets, until}}
	}
	if len(e.Paths) > 0 {
		d.Edit = []Paths{{e.Paths, until}}
	}
	d.Tool = ruled("tool", []string{e.Tool}[:min(len(e.Tool), 1)], "")
	for _, m := range d.Tool {
		m["tool"], m["decision"] = e.Tool, rules.Allow
		if e.Described != "" {
			m["described"] = e.Described
		}
	}
	if e.Command != "" {
		d.Run = []Run{{e.Command, e.Folder, until}}
	}
	return d
}

// hidden reports a character that is invisible or that reorders others.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && visible.Name(r) != ""
}

func printable(r rune) rune {
	if hidden(r) || r == '\n' || r == '\r' {
		return '?'
	}
	return r
}

// Parse reads an exported file. It rejects everything that could open more than a reader sees:
// unknown keys, paths that are not absolute and literal, hosts without a port, decisions other than
// allow, and expired entries.
func Parse(name string, text []byte, now time.Time) (File, error) {
	fail := func(format string, args ...any) (File, error) {
		return File{}, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...))
	}
	if first, _, _ := strings.Cut(string(text), "\n"); strings.TrimSpace(first) != header {
		return fail("the first line is not %q, so this is not an approvals file", header)
	}
	if i := bytes.IndexFunc(text, hidden); i >= 0 || !utf8.Valid(text) {
		return fail("it contains a character that is not shown (byte %d)", i)
	}
	var d document
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&d); err != nil {
		fault := rules.Undecoded(name, err)
		return fail("%d:%d: %s", fault.Line, fault.Column, fault.Problem)
	}
	ruled, err := toml.Marshal(document{Command: d.Command, Path: d.Path, Host: d.Host, Tool: d.Tool})
	if err != nil {
		return fail("%v", err)
	}
	f := File{Sockets: d.Socket, Edits: d.Edit, Runs: d.Run}
	// Without a home folder "~/" is rejected: on another machine it would mean another folder.
	if f.Rules, err = rules.Parse(name, ruled, ""); err != nil {
		var fault *rules.Error
		if errors.As(err, &fault) {
			return fail("%s", fault.Problem) // without its position, which refers to generated text
		}
		return fail("%v", err)
	}
	if err := f.check(now); err != nil {
		return fail("%v", err)
	}
	return f, nil
}

// check makes the checks of Parse that need more than a single value.
func (f File) check(now time.Time) error {
	over := func(what string, at time.Time) error {
		if !at.IsZero() && !now.Before(at) {
			return fmt.Errorf("%s has expired (%s)", short.Head(what, 200), at.Add(-time.Second).Format(time.DateOnly)) // show the last valid day
		}
		return nil
	}
	literal := func(paths []string) error {
		if len(paths) == 0 {
			return errors.New("a table names no path")
		}
		for _, p := range paths {
			switch {
			case !path.IsAbs(p) || path.Clean(p) != p:
				return fmt.Errorf("%q must be an absolute path without . or .. in it", short.Head(p, 200))
			case strings.ContainsAny(p, "*?"):
				return fmt.Errorf("%q: patterns are not understood; name each path", short.Head(p, 200))
			}
		}
		return nil
	}
	for _, r := range f.Rules {
		if r.Decision != rules.Allow {
			return fmt.Errorf("%s: an approval can only allow", short.Head(r.String(), 200))
		}
		if err := over(r.String(), r.Expires); err != nil {
			return err
		}
		if len(r.Paths) > 0 {
			if err := literal(r.Paths); err != nil {
				return err
			}
		}
	}
	for _, t := range append(append([]Paths(nil), f.Sockets...), f.Edits...) {
		if err := errors.Join(literal(t.Paths), over(strings.Join(t.Paths, ", "), t.Expires)); err != nil {
			return err
		}
	}
	for _, r := range f.Runs {
		if strings.TrimSpace(r.Command) == "" {
			return errors.New("a table run names no command")
		}
		if strings.ContainsFunc(r.Command, hidden) {
			return fmt.Errorf("%s: it contains a character that is not shown", visible.Line(short.Head(r.Command, 200)))
		}
		if err := errors.Join(literal([]string{r.Folder}), over(r.Command, r.Expires)); err != nil {
			return err
		}
	}
	return nil
}
