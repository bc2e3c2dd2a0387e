// Package git knows git's layout (gitrepository-layout(5)), reads git's settings as git does, says which
// of them name no program, and copies its index. It is pure: files are read by the caller.
package git

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Setting is one value of a configuration.
type Setting struct {
	// File contains the setting.
	File string
	// Key is in lower case, except its middle part; Section and Name are its first and last part.
	Key, Section, Name, Value string
}

// setting returns the setting of a key as git prints it.
func setting(file, key, value string) Setting {
	section, rest, _ := strings.Cut(key, ".")
	return Setting{file, key, strings.ToLower(section), strings.ToLower(rest[strings.LastIndexByte(rest, '.')+1:]), value}
}

// Middle returns the part of the key between section and name.
func (s Setting) Middle() string {
	rest := strings.TrimPrefix(s.Key[min(len(s.Section), len(s.Key)):], ".")
	return strings.TrimSuffix(rest[:len(rest)-len(s.Name)], ".")
}

var errNoSettings = errors.New("git could not parse it either")

// Parse reads text, the content of file, as git does (config.c): what git accepts is
// accepted, anything else is an error.
func Parse(file, text string) (out []Setting, err error) {
	text = strings.TrimPrefix(text, "\uFEFF")
	if strings.ContainsRune(text, 0) {
		return nil, errNoSettings // git takes the text before it, differently from place to place
	}
	p := settingParser{text: strings.ReplaceAll(text, "\r\n", "\n")}
	section := ""
	for {
		p.skip(" \t\r\n")
		c := p.next()
		switch {
		case p.ended:
			return out, nil
		case c == '#' || c == ';':
			p.until('\n')
		case c == '[':
			if section, err = p.section(); err != nil {
				return nil, err
			}
		case letter(c):
			p.at--
			key := section + strings.ToLower(p.while(keyByte))
			p.skip(" \t")
			value := ""
			switch c := p.next(); {
			case c == '=':
				if value, err = p.value(); err != nil {
					return nil, err
				}
			case c != '\n':
				return nil, errNoSettings
			}
			out = append(out, setting(file, key, value))
		default:
			return nil, errNoSettings
		}
	}
}

type settingParser struct {
	text  string
	at    int
	ended bool
}

// next returns the next byte. The end of the text counts as the end of a line.
func (p *settingParser) next() byte {
	if p.ended = p.at >= len(p.text); p.ended {
		return '\n'
	}
	p.at++
	return p.text[p.at-1]
}

func (p *settingParser) while(fits func(byte) bool) string {
	start := p.at
	for p.at < len(p.text) && fits(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *settingParser) skip(set string) {
	p.while(func(c byte) bool { return strings.IndexByte(set, c) >= 0 })
}

func (p *settingParser) until(end byte) { p.while(func(c byte) bool { return c != end }) }

// section reads `name]` or `name "middle"]`, and returns it with a dot at its end.
func (p *settingParser) section() (string, error) {
	name := strings.ToLower(p.while(func(c byte) bool { return keyByte(c) || c == '.' }))
	c := p.next()
	if c == ']' && name != "" {
		return name + ".", nil
	}
	if strings.IndexByte(" \t\r", c) < 0 {
		return "", errNoSettings
	}
	if p.skip(" \t\r"); p.next() != '"' {
		return "", errNoSettings
	}
	var middle strings.Builder
	for {
		c := p.next()
		if c == '"' {
			break
		}
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", errNoSettings
		}
		middle.WriteByte(c)
	}
	if p.next() != ']' {
		return "", errNoSettings
	}
	return name + "." + middle.String() + ".", nil
}

// value reads what follows "=", to the end of the line.
func (p *settingParser) value() (string, error) {
	var out strings.Builder
	quoted, spaces := false, 0
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errNoSettings
		case c == '\n':
			return out.String(), nil
		case !quoted && strings.IndexByte(" \t\r", c) >= 0:
			if out.Len() > 0 {
				spaces++
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			p.until('\n')
			continue
		}
		out.WriteString(strings.Repeat(" ", spaces))
		spaces = 0
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			c = p.next()
			if c == '\n' {
				continue
			}
			i := strings.IndexByte(`tbn\"`, c)
			if i < 0 {
				return "", errNoSettings
			}
			out.WriteByte("\t\b\n\\\""[i])
		default:
			out.WriteByte(c)
		}
	}
}

func letter(c byte) bool  { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func keyByte(c byte) bool { return letter(c) || c >= '0' && c <= '9' || c == '-' }

// Includes reports whether the setting names a file to include.
func (s Setting) Includes() bool {
	return s.Name == "path" && (s.Section == "include" || s.Section == "includeif")
}

// inert are keys that hold no program, without their middle part; a name without a dot is a whole section.
var inert = []string{
	"advice", "color", "core.autocrlf", "core.eol", "diff.algorithm", "merge.conflictstyle", "pull.ff", "pull.rebase", "push.default",
	"branch", "remote.fetch", "remote.push", "remote.pushdefault", "remote.gh-resolved", "url.insteadof", "url.pushinsteadof",
	"core.worktree", "core.bare", "safe.directory", "maintenance.repo", "scalar.repo", "gui.recentrepo", "submodule.path", "submodule.branch", "submodule.active",
	"user.name", "user.email", "author.name", "author.email", "committer.name", "committer.email", "init.defaultbranch",
}

// addresses are keys that hold the address of a repository. Git runs something by it only if it
// names a transport ("ext::./program").
var addresses = []string{"remote.url", "remote.pushurl", "submodule.url", "remote.lfsurl", "lfs.url", "lfs.pushurl"}

// switches are values of keys that turn something on or off (core.quotePath).
var switches = []string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}

// fetches are names of keys that let git fetch by itself, from an address in the settings.
var fetches = []string{"promisor", "partialclone"}

// TakesPath reports a key whose value is always a path, whatever it is called. quotePath is a switch.
func (s Setting) TakesPath() bool {
	return s.Name != "quotepath" && (strings.HasSuffix(s.Name, "path") || strings.HasSuffix(s.Name, "file") || strings.HasSuffix(s.Name, "dir"))
}

// Inert reports whether the setting names no program, whatever else git gets.
func (s Setting) Inert() bool {
	plain, value := s.Section+"."+s.Name, strings.TrimPrefix(s.Value, ":(optional)")
	switch {
	case s.Includes(), s.Section == "url" && strings.Contains(s.Middle(), "::"):
		return false
	}
	aSwitch := slices.Contains(switches, strings.ToLower(value)) && !s.TakesPath() && !slices.Contains(fetches, s.Name)
	return slices.Contains(inert, plain) || slices.Contains(inert, s.Section) || aSwitch ||
		slices.Contains(addresses, plain) && !strings.Contains(value, "::")
}

// CopySettings returns the text of settings as a git directory gets it that the owner's git enters. It is an
// error if they name a program that before, the text until then, did not. A new core.worktree is left out:
// the owner's git would check files out there, and the folder could become a link to his hooks. Git finds
// the work tree by its .git file, and "git submodule update" adds the setting.
func CopySettings(text, before []byte) ([]byte, error) {
	old, _ := Parse("", string(before))
	settings, err := Parse("", string(text))
	if err != nil {
		return nil, err
	}
	known := func(s Setting) bool { return slices.Contains(old, s) }
	if i := slices.IndexFunc(settings, func(s Setting) bool { return !s.Inert() && !known(s) }); i >= 0 {
		return nil, fmt.Errorf("git may start a program by the setting %.64q, and a command in the sandbox gives it none", settings[i].Key)
	}
	leads := func(s Setting) bool { return s.Section == "core" && s.Name == "worktree" && !known(s) }
	if !slices.ContainsFunc(settings, leads) {
		return text, nil
	}
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "worktree") {
			kept.WriteString(line)
		}
	}
	left, err := Parse("", kept.String())
	if err == nil && !slices.Equal(left, slices.DeleteFunc(settings, leads)) {
		err = errors.New("its core.worktree cannot be left out")
	}
	return []byte(kept.String()), err
}
