package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"sync"

	"codeagent/approvals/rules"
)

// Claude reads a settings.json of Claude Code. Of its settings it reads the object
// "permissions": the lists allow, ask and deny of rules, and additionalDirectories.
//
//	Bash(npm run build)         exactly this command
//	Bash(git log:*)             commands that begin with these words; Bash(git log *) is the same
//	Read(~/notes/**)            paths in the form of gitignore: //x is absolute, ~/x below the home
//	Edit(//srv/data/**)         folder, anything else relative to the project
//	WebFetch(domain:a.example)  pages of a host
func Claude(name string, data []byte, home string) (Result, error) {
	c := claude{importer{name: path.Base(name), home: home}}
	values, err := texts(data)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.name, err)
	}
	for _, v := range values {
		switch v.key {
		case "permissions.allow":
			c.rule(v.line, v.text, rules.Allow)
		case "permissions.ask":
			c.rule(v.line, v.text, rules.Ask)
		case "permissions.deny":
			c.rule(v.line, v.text, rules.Forbid)
		case "permissions.additionalDirectories":
			c.folder(v.line, v.text)
		case "permissions.defaultMode":
			c.note(v.line, "defaultMode "+v.text, "not a rule: see ask_for_approval in config.toml")
		}
	}
	return c.result(), nil
}

type claude struct{ importer }

// maxDepth bounds how deep values are nested: reading them recurses.
const maxDepth = 100

// value is one text of a JSON file. Its path is its keys joined by dots, without list indexes.
type value struct {
	key, text string
	line      int
}

// texts returns the texts of a JSON file in their order.
func texts(data []byte) (out []value, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	var walk func(key string, depth int) error
	walk = func(key string, depth int) error {
		if depth > maxDepth {
			return errors.New("it is nested too deeply")
		}
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case string:
			out = append(out, value{key, t, 1 + bytes.Count(data[:d.InputOffset()], []byte("\n"))})
		case json.Delim:
			for d.More() {
				inner := key
				if t == '{' {
					name, err := d.Token()
					if err != nil {
						return err
					}
					inner = strings.TrimPrefix(key+"."+fmt.Sprint(name), ".")
				}
				if err := walk(inner, depth+1); err != nil {
					return err
				}
			}
			_, err = d.Token()
			return err
		}
		return nil
	}
	if err := walk("", 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file ends too early")
		}
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(data[:d.InputOffset()], []byte("\n")), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("line %d: more than one value", 1+bytes.Count(data[:d.InputOffset()], []byte("\n")))
	}
	return out, nil
}

// ruleForm is TOOL or TOOL(SPECIFIER).
var ruleForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_-]*)(?:\((.*)\))?$`) })

// parameter is the form "name:value" of a specifier, which concerns a parameter of the tool.
var parameter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_]+:[^*\s]`) })

func (c *claude) rule(line int, text string, d rules.Decision) {
	m := ruleForm().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		c.note(line, text, "left out: not of the form Tool(specifier)")
		if d != rules.Allow {
			c.lost = append(c.lost, loss{line: line, from: text, commands: true, fetches: true, path: "/"})
		}
		return
	}
	switch tool, of := m[1], m[2]; tool {
	case "Bash":
		c.command(line, text, of, d)
	case "Read", "Edit":
		access := rules.Read
		if tool == "Edit" {
			access = rules.Write
		}
		c.path(line, text, of, access, d)
	case "WebFetch":
		c.fetch(line, text, of, d)
	case "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS":
		c.note(line, text, "left out: paths are decided by Read and Edit alone")
		if d != rules.Allow {
			c.losePath(line, text, of)
		}
	default:
		c.note(line, text, "left out: codeagent has no such tool")
	}
}

// command carries over a rule for commands.
func (c *claude) command(line int, text, of string, d rules.Decision) {
	before, after, star := strings.Cut(of, "*")
	prefix := star && after == "" && (strings.HasSuffix(before, ":") || strings.HasSuffix(before, " "))
	if prefix && strings.HasSuffix(before, ":") {
		before = strings.TrimSuffix(before, ":") + " "
	}
	e := entry{line: line, from: text, decision: d, exact: d == rules.Allow && !star}
	if d != rules.Allow {
		if !parameter().MatchString(of) || prefix {
			e.words = leading(before, star)
		}
		if len(e.words) == 0 {
			c.lost = append(c.lost, loss{line: line, from: text, commands: true})
			c.note(line, text, "left out: it does not begin with literal words; no command that %s allows is carried over", c.name)
			return
		}
		if d == rules.Forbid {
			e.reason = "denied by " + c.name
		}
		if star && !prefix || len(e.words) < len(strings.Fields(before)) {
			c.note(line, text, "stricter here: it applies to all that begins with %q", inWords(e.words))
		}
		c.entries = append(c.entries, e)
		return
	}
	if of == "" || strings.TrimSpace(before) == "" {
		c.note(line, text, "left out: no rule allows every command; see ask_for_approval in config.toml")
		return
	}
	if parameter().MatchString(of) && !prefix {
		c.note(line, text, "left out: it is about a parameter of the tool")
		return
	}
	if star && after != "" {
		c.note(line, text, "left out: rules know no patterns, only how a command begins")
		return
	}
	words, opaque := rules.Words(before)
	if opaque != "" {
		c.note(line, text, "left out: %s", opaque)
		return
	}
	e.words = list(words)
	if star && !prefix {
		c.note(line, text, "narrower here: %q must be a whole word", words[len(words)-1])
	}
	c.entries = append(c.entries, e)
}

// fixed returns the path that a specifier names, with everything below it. relative: the path
// starts at the project. For a pattern ok is false, and p is the folder that contains all its
// matches.
func (c *claude) fixed(of string) (p string, relative, ok bool) {
	switch {
	case strings.HasPrefix(of, "//"):
		p = of[1:]
	case strings.HasPrefix(of, "~/"), of == "~":
		p = of
	default:
		return strings.TrimPrefix(strings.TrimPrefix(of, "."), "/"), true, true
	}
	p = strings.TrimSuffix(strings.TrimSuffix(p, "/**"), "/")
	if i := strings.IndexAny(p, `*?[]{}!\`); i >= 0 {
		return path.Dir(p[:i] + "x"), false, false
	}
	return p, false, true
}

// path carries over a rule for paths.
func (c *claude) path(line int, text, of string, access rules.Access, d rules.Decision) {
	p, relative, ok := c.fixed(of)
	if d != rules.Allow {
		setting := map[rules.Access]string{rules.Read: "sandbox.deny_read", rules.Write: "sandbox.protected"}[access]
		if d == rules.Ask {
			c.note(line, text, "left out: codeagent asks about what the sandbox does not open; to close it there, see %s in config.toml", setting)
		} else {
			c.note(line, text, "left out: a rule closes no path; add %q to %s in config.toml", strings.TrimSuffix(p, "/**"), setting)
		}
		c.losePath(line, text, of)
		return
	}
	switch {
	case of == "":
		c.note(line, text, "left out: no rule opens every path")
	case relative:
		c.note(line, text, "left out: the project is open in any case")
	case !ok:
		c.note(line, text, "left out: rules know no patterns, only paths and folders")
	default:
		c.entries = append(c.entries, entry{line: line, from: text, paths: []string{p}, access: access})
	}
}

// losePath records the paths of a lost rule, so that no permission for them is imported. A relative
// path belongs to the project, which is open anyway.
func (c *claude) losePath(line int, text, of string) {
	p, relative, _ := c.fixed(of)
	if of == "" {
		p, relative = "/", false
	}
	if !relative {
		c.lost = append(c.lost, loss{line: line, from: text, path: p})
	}
}

// fetch carries over a rule for pages.
func (c *claude) fetch(line int, text, of string, d rules.Decision) {
	host, named := strings.CutPrefix(of, "domain:")
	host = strings.ToLower(host)
	if d != rules.Allow {
		l := loss{line: line, from: text, host: host, fetches: !named || strings.Contains(host, "*")}
		c.lost = append(c.lost, l)
		c.note(line, text, "left out: no page is fetched without a question unless something opens it")
		return
	}
	if !named {
		c.note(line, text, "left out: a rule names hosts")
		return
	}
	if err := badHost(host); err != nil {
		c.note(line, text, "left out: %v", err)
		return
	}
	c.entries = append(c.entries, entry{line: line, from: text, hosts: []string{host + ":443"}, access: rules.Fetch})
}

// folder carries over a folder that Claude Code may read.
func (c *claude) folder(line int, text string) {
	if !path.IsAbs(text) && !strings.HasPrefix(text, "~/") {
		c.note(line, text, "left out: it is relative to the project; name an absolute path, or use --add-dir")
		return
	}
	c.entries = append(c.entries, entry{line: line, from: text, paths: []string{strings.TrimSuffix(text, "/")}, access: rules.Read})
}
