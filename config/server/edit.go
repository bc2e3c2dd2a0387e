package server

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Changes of the tables [mcp.servers.NAME] (and in set.go of single settings) in the text of a settings file. Comments, order and
// layout of all else stay. No edit trusts its own work: the values before and after are
// compared, and an edit that would change anything else is an error.

// TOML returns the tables of a server as text: its [mcp.servers.NAME] and below it the sandbox. It
// leaves out defaults.
func (s Settings) TOML(name string) []byte {
	table, box := s, s.Sandbox
	table.Sandbox = Sandbox{}
	// The table has whole seconds.
	table.StartupTimeout, table.ToolTimeout = s.StartupTimeout/time.Second, s.ToolTimeout/time.Second
	if table.StartupTimeout == StartupSeconds {
		table.StartupTimeout = 0
	}
	if table.ToolTimeout == ToolSeconds {
		table.ToolTimeout = 0
	}
	out := append([]byte("[mcp.servers."+name+"]\n"), lines(table)...)
	if len(box.lines()) > 0 {
		out = append(append(out, '\n'), s.SandboxTOML(name)...)
	}
	return out
}

// SandboxTOML returns the table of a server's sandbox as text.
func (s Settings) SandboxTOML(name string) []byte {
	return fmt.Appendf(nil, "[mcp.servers.%s.sandbox]\n%s", name, s.Sandbox.lines())
}

// lines are those of the table sandbox.
func (b Sandbox) lines() []byte {
	if b.Workspace == "read" {
		b.Workspace = ""
	}
	return lines(b)
}

// lines are those of a table.
func lines(table any) []byte {
	text, _ := toml.Marshal(table) // texts, lists and numbers can always be written
	return text
}

// With adds the tables of a server at the end of text.
func With(text []byte, name string, s Settings) ([]byte, error) {
	if i := slices.IndexFunc(expressions(text), func(e expression) bool { return e.in(name) }); i >= 0 {
		return nil, fmt.Errorf("line %d has an MCP server %s already", expressions(text)[i].line, quoted(name))
	}
	table := s.TOML(name)
	added, err := decoded(table)
	if err != nil {
		return nil, err
	}
	return checked(text, after(text, len(text), string(table)), keyOf(name), func(any) any { return get(added, keyOf(name)) })
}

// Without removes the tables of a server from text. Comments above and below them stay.
func Without(text []byte, name string) ([]byte, error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	all := expressions(text)
	for i, e := range slices.Backward(all) {
		if !e.in(name) {
			continue
		}
		first, end := e.line-1, lastLine(lines, all, i)
		if i+1 < len(all) && all[i+1].in(name) {
			end = max(end, min(all[i+1].line-1, len(lines))) // what stands between two parts of it
		}
		// A blank line on either side is one too many.
		if first > 0 && blank(lines[first-1]) && (end >= len(lines) || blank(lines[end])) {
			first--
		}
		lines = slices.Delete(lines, first, end)
	}
	return checked(text, bytes.Join(lines, nil), keyOf(name), func(any) any { return nil })
}

// Widened adds the elements of lists to those of a server's table sandbox, each under the name
// of its setting: read, write, allow_hosts, allow_sockets.
func Widened(text []byte, name string, lists map[string][]string) ([]byte, error) {
	out := text
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		if len(lists[key]) > 0 {
			out = withElements(out, append(keyOf(name), "sandbox", key), lists[key])
		}
	}
	return checked(text, out, keyOf(name), func(was any) any {
		if was, is := was.(map[string]any); is { // else there is no such server
			for key, values := range lists {
				list, _ := get(was, []string{"sandbox", key}).([]any)
				for _, v := range values {
					list = append(list, v)
				}
				if len(list) > 0 {
					put(was, []string{"sandbox", key}, list)
				}
			}
		}
		return was
	})
}

// withElements adds elements to the list with this key, or adds the list.
func withElements(text []byte, key, values []string) []byte {
	var written []string
	for _, v := range values {
		one, _ := toml.Marshal(map[string]string{"v": v}) // a string can always be written
		written = append(written, strings.TrimSpace(strings.TrimPrefix(string(one), "v = ")))
	}
	add := strings.Join(written, ", ")
	all := expressions(text)
	if i := slices.IndexFunc(all, func(e expression) bool { return slices.Equal(e.key, key) }); i >= 0 {
		if at := all[i].lastElement; at > 0 {
			return slices.Concat(text[:at], []byte(", "+add), text[at:])
		}
		at := all[i].end + bytes.IndexByte(text[all[i].end:], '[') + 1
		return slices.Concat(text[:at], []byte(add), text[at:])
	}
	end, lines := len(text), bytes.SplitAfter(text, []byte("\n"))
	for i, e := range all {
		if e.in(key[2]) {
			end = offset(lines, lastLine(lines, all, i))
		}
	}
	return withPair(text, key[:len(key)-1], key[len(key)-1]+" = ["+add+"]\n", end)
}

// withPair adds a pair to a table: below its header, or at end with a header of its own. One outside all
// tables goes below the last that is there.
func withPair(text []byte, table []string, pair string, end int) []byte {
	all, lines := expressions(text), bytes.SplitAfter(text, []byte("\n"))
	begin := len(text) - len(bytes.TrimPrefix(text, mark))
	at := len(text) // of nothing but comments
	header := slices.IndexFunc(all, func(e expression) bool { return e.header && (len(table) == 0 || slices.Equal(e.key, table)) })
	switch {
	case len(table) > 0 && header < 0:
		return after(text, end, "["+strings.Join(table, ".")+"]\n"+pair)
	case len(table) > 0:
		at = offset(lines, all[header].line)
	case header == 0:
		at = begin
	case header > 0:
		at = offset(lines, lastLine(lines, all, header-1))
	case len(all) > 0:
		at = offset(lines, lastLine(lines, all, len(all)-1))
	}
	if at > begin && text[at-1] != '\n' {
		pair = "\n" + pair
	}
	return slices.Concat(text[:at], asIn(text, pair), text[at:])
}

// offset is where line n ends, counted from 1.
func offset(lines [][]byte, n int) int { return len(bytes.Join(lines[:n], nil)) }

// after puts a table behind the line that ends at a place of text, with a blank line between.
func after(text []byte, at int, table string) []byte {
	gap := "\n"
	switch {
	case at == 0 || bytes.HasSuffix(text[:at], []byte("\n\n")) || bytes.HasSuffix(text[:at], []byte("\n\r\n")):
		gap = ""
	case text[at-1] != '\n':
		gap = "\n\n"
	}
	return slices.Concat(text[:at], asIn(text, gap+table), text[at:])
}

// asIn writes lines with the ends that those of text have.
func asIn(text []byte, lines string) []byte {
	if bytes.Contains(text, []byte("\r\n")) {
		lines = strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return []byte(lines)
}

// Names lists the names of the servers in the text of a settings file.
func Names(text []byte) ([]string, error) {
	tree, err := decoded(text)
	servers, _ := get(tree, []string{"mcp", "servers"}).(map[string]any)
	return slices.Sorted(maps.Keys(servers)), err
}

// mark is the byte order mark that some editors put before UTF-8.
var mark = []byte("\xEF\xBB\xBF")

// errLayout: a person wrote the server in a form that is not edited.
var errLayout = errors.New("the server is written in a form that codeagent does not edit (a table in braces, or keys with dots)")

// checked returns edited, if it is text with nothing changed but the value of key, which became what
// change makes of it; nil: it is gone.
func checked(text, edited []byte, key []string, change func(was any) any) ([]byte, error) {
	want, err := decoded(text)
	if err != nil {
		return nil, err
	}
	got, err := decoded(edited)
	if err != nil {
		return nil, errLayout
	}
	put(want, key, change(get(want, key)))
	put(got, key, get(got, key))
	if !reflect.DeepEqual(want, got) {
		return nil, errLayout
	}
	return edited, nil
}

func decoded(text []byte) (map[string]any, error) {
	tree := map[string]any{}
	return tree, toml.Unmarshal(bytes.TrimPrefix(text, mark), &tree)
}

// keyOf is the key of the table of a server.
func keyOf(server string) []string { return []string{"mcp", "servers", server} }

// get returns the value of a key, or nil.
func get(tree map[string]any, key []string) any {
	for _, table := range key[:len(key)-1] {
		tree, _ = tree[table].(map[string]any)
	}
	return tree[key[len(key)-1]]
}

// put sets the value of a key, and makes the tables around it. nil removes it, and tables that are empty then.
func put(tree map[string]any, key []string, value any) {
	if len(key) > 1 {
		inner, _ := tree[key[0]].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
		}
		put(inner, key[1:], value)
		if value = inner; len(inner) == 0 {
			value = nil
		}
	}
	if tree[key[0]] = value; value == nil {
		delete(tree, key[0])
	}
}

// expression is the header of a table, or a value.
type expression struct {
	key    []string // whole
	line   int      // its first one, from 1
	header bool
	// end is where its key ends, and lastElement where the last element of a list does; 0 if
	// absent. Both are offsets.
	end, lastElement int
	text             [2]int // where its value, a string, a number or a bool, begins and ends
}

// in reports whether e belongs to the server name alone.
func (e expression) in(name string) bool {
	return len(e.key) >= 3 && slices.Equal(e.key[:3], keyOf(name))
}

// expressions lists those of a valid file, in order.
func expressions(text []byte) (out []expression) {
	data := bytes.TrimPrefix(text, mark)
	skipped := len(text) - len(data)
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		e := expression{header: n.Kind != unstable.KeyValue}
		if !e.header {
			e.key = slices.Clone(table)
		}
		for it := n.Key(); it.Next(); {
			part := it.Node()
			e.key = append(e.key, string(part.Data))
			if shape := p.Shape(part.Raw); e.line == 0 {
				e.line = shape.Start.Line
			}
			e.end = skipped + int(part.Raw.Offset+part.Raw.Length)
		}
		if e.header {
			table = e.key
			out = append(out, e)
			continue
		}
		switch v := n.Value(); v.Kind {
		case unstable.String, unstable.Integer, unstable.Bool:
			at := v.Raw
			if v.Kind == unstable.Bool { // which has no Raw
				at = p.Range(v.Data)
			}
			e.text[0] = skipped + int(at.Offset)
			e.text[1] = e.text[0] + int(at.Length)
		case unstable.Array:
			for it := v.Children(); it.Next(); {
				e.lastElement = skipped + int(it.Node().Raw.Offset+it.Node().Raw.Length)
			}
		}
		out = append(out, e)
	}
	return out
}

// lastLine is the number of the last line of an expression, without the comments and blank lines
// that lead to the next one.
func lastLine(lines [][]byte, all []expression, i int) int {
	end := len(lines)
	if i+1 < len(all) {
		end = min(all[i+1].line-1, len(lines))
	}
	for end > all[i].line { // which stays in any case
		if line := bytes.TrimSpace(lines[end-1]); len(line) > 0 && line[0] != '#' {
			break
		}
		end--
	}
	return end
}

func blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }
