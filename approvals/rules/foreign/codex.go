package foreign

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"codeagent/approvals/rules"

	"github.com/pelletier/go-toml/v2"
)

// Codex reads a file of rules of Codex: calls of prefix_rule, network_rule and host_executable
// with literal values, in Starlark. What is computed is left out.
//
//	prefix_rule(pattern = ["git", ["status", "log"]], decision = "allow", match = ["git log -5"])
//	network_rule(host = "a.example", protocol = "https", decision = "allow")
func Codex(name string, data []byte, home string) (Result, error) {
	c := codex{importer{name: path.Base(name), home: home}}
	all, err := statements(c.name, data)
	if err != nil {
		return Result{}, err
	}
	for _, s := range all {
		c.statement(s)
	}
	return c.result(), nil
}

type codex struct{ importer }

// lose records a statement that may be an ask or forbid rule and is not imported.
func (c *codex) lose(s statement, why string) {
	c.lost = append(c.lost, loss{line: s.line, from: s.text, commands: true, fetches: true})
	c.note(s.line, s.text, "left out: %s", why)
}

func (c *codex) statement(s statement) {
	name, args, err := s.call()
	if err != nil {
		c.lose(s, err.Error())
		return
	}
	switch name {
	case "":
		return // a string alone has no effect
	case "prefix_rule":
		err = c.prefix(s, args)
	case "network_rule":
		err = c.network(s, args)
	case "host_executable":
		c.note(s.line, s.text, "not needed: an allow applies to the program as it is written, not to paths that end in its name")
	default:
		err = fmt.Errorf("%s is not known", name)
	}
	if err != nil {
		c.lose(s, err.Error())
	}
}

// decisions maps Codex's words to decisions.
var decisions = map[string]rules.Decision{"allow": rules.Allow, "prompt": rules.Ask, "forbidden": rules.Forbid}

func (c *codex) prefix(s statement, args map[string]any) error {
	e := entry{line: s.line, from: s.text, decision: rules.Allow}
	for key, v := range args {
		texts, isList := v.([]any)
		text, isText := v.(string)
		switch {
		case v == nil && key != "pattern":
		case key == "pattern" && isList:
			e.words = texts
		case key == "decision" && isText && decisions[text] != "":
			e.decision = decisions[text]
		case key == "justification" && isText:
			e.reason = text
		case key == "match" && isList:
			e.match = examples(texts)
		case key == "not_match" && isList:
			e.notMatch = examples(texts)
		default:
			return fmt.Errorf("%s has an unknown form", key)
		}
	}
	if len(e.words) == 0 {
		return fmt.Errorf("it has no pattern")
	}
	switch {
	case e.decision != rules.Forbid:
		e.reason = "" // only a forbid rule shows its reason
	case e.reason == "":
		e.reason = "forbidden by " + c.name
	}
	if _, err := c.text(bare(e)); err != nil {
		if e.decision != rules.Allow {
			return err
		}
		c.note(s.line, s.text, "left out: %v", err)
		return nil
	}
	c.entries = append(c.entries, e)
	return nil
}

// examples returns command lines; an example is a line, or a list of words.
func examples(list []any) (out []string) {
	for _, one := range list {
		switch one := one.(type) {
		case string:
			out = append(out, one)
		case []any:
			var words []string
			for _, w := range one {
				words = append(words, quoted(fmt.Sprint(w)))
			}
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

// quoted quotes a word for a shell.
func quoted(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ports maps protocols to their ports.
var ports = map[string]string{"https": ":443", "http": ":80"}

func (c *codex) network(s statement, args map[string]any) error {
	host, _ := args["host"].(string)
	protocol, _ := args["protocol"].(string)
	decision, _ := args["decision"].(string)
	switch {
	case host == "" || decision == "":
		return fmt.Errorf("it has no host, or no decision")
	case decision != "allow":
		c.lost = append(c.lost, loss{line: s.line, from: s.text, host: strings.ToLower(host), fetches: strings.Contains(host, "*")})
		c.note(s.line, s.text, "left out: no host is open unless something opens it")
	case badHost(host) != nil:
		c.note(s.line, s.text, "left out: %v", badHost(host))
	case ports[protocol] == "":
		c.note(s.line, s.text, "left out: the port of %q is not known", protocol)
	default:
		c.entries = append(c.entries, entry{line: s.line, from: s.text, hosts: []string{strings.ToLower(host) + ports[protocol]}})
	}
	return nil
}

// CodexConfig reads the folders that a config.toml of Codex makes writable. The notes name its
// other permission settings.
func CodexConfig(name string, data []byte, home string) (Result, error) {
	r := importer{name: path.Base(name), home: home}
	var file struct {
		Approval any `toml:"approval_policy"`
		Sandbox  any `toml:"sandbox_mode"`
		Write    struct {
			Roots   []string `toml:"writable_roots"`
			Network bool     `toml:"network_access"`
		} `toml:"sandbox_workspace_write"`
		Projects map[string]any `toml:"projects"`
		Profiles map[string]any `toml:"profiles"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return Result{}, rules.Undecoded(r.name, err)
	}
	lines := strings.Split(string(data), "\n")
	at := func(key string) int {
		return 1 + max(0, slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, key) }))
	}
	for _, root := range file.Write.Roots {
		r.entries = append(r.entries, entry{line: at(root), from: root, paths: []string{path.Clean(root)}, access: rules.Write})
	}
	for _, other := range []struct {
		is      bool
		key, to string
	}{
		{file.Approval != nil, "approval_policy", "ask_for_approval"}, {file.Sandbox != nil, "sandbox_mode", "sandbox.mode"},
		{file.Write.Network, "network_access", "sandbox.network"},
	} {
		if other.is {
			r.note(at(other.key), other.key, "not a rule: see %s in config.toml", other.to)
		}
	}
	if len(file.Projects) > 0 {
		r.note(at("projects"), "projects", "left out: codeagent trusts no folder for its name")
	}
	if len(file.Profiles) > 0 {
		r.note(at("profiles"), "profiles", "left out: rules hold for every profile")
	}
	return r.result(), nil
}
