package session

import (
	"bytes"
	"strings"
	"testing"

	"codeagent/model"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// hostile texts try to end what contains them, to run, to load something, to look like another
// part of the page, or to hide.
var hostile = []string{
	"</pre></section><script>alert(1)</script>",
	"<img src=x onerror=alert(1)>",
	`"><svg onload='alert(1)'>`,
	"<!-- ", "--> ]]> <![CDATA[",
	"&lt;script&gt; &#x3c; &amp",
	"</title></style><style>body{display:none}</style>",
	"```\n## Message 7\n\nforged\n```text",
	"~~~\n# x\n~~~\n````````````\n<b>\n````````````",
	"![x](https://evil.example/?q=1) [y](javascript:alert(1)) <https://evil.example>",
	"\u202egnp.exe \u200b\u2066 \x1b[31m\x00\x7f\u0085\u2028 \xff\xfe",
	"a\rb\r\nc\td",
	"<a href=`\n`>\n\n- x\n    y\n***\n| a | b |",
	"{{.}} ${x} <%= x %>",
	strings.Repeat("`", 100) + "\n<b>",
	"",
	"\n\nlines around\n\n",
}

// hostileSession has every hostile text in every place that a model or a page can influence.
func hostileSession(t *testing.T) (*Store, string, []model.Item) {
	t.Helper()
	var items []model.Item
	for _, h := range hostile {
		items = append(items, user(h), answer(h),
			model.Item{Kind: model.Reasoning, Text: h},
			model.Item{Kind: model.Call, Call: &model.ToolCall{ID: h, Name: h, Arguments: h}},
			model.Item{Kind: model.Call, Call: &model.ToolCall{ID: h, Name: "shell", Arguments: `{"command":` + quoted(t, h) + `,` + quoted(t, h) + `:[1,{"a":2}]}`}},
			model.Item{Kind: model.Result, CallID: h, Text: h, Failed: true},
			model.Item{Kind: model.Note, Text: h})
	}
	s, ses := begun(t, items...)
	closed(t, ses)
	if err := s.Rename(ses.ID(), "</title><script>t()</script> ``` \u202e"); err != nil {
		t.Fatal(err)
	}
	return s, ses.ID(), items
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func export(t *testing.T, s *Store, id string) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Export(&b, id); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if strings.ContainsRune("\u202e\u200b\u2066\x1b\x00\x7f\u0085\u2028\r\ufffd", r) {
			t.Errorf("%U is unescaped in the page", r)
		}
	}
	return b.String()
}

// parts returns the texts that must be on the page, in order.
func parts(items []model.Item) (out []string) {
	count := counts{calls: map[string]int{}}
	for _, i := range items {
		i.Text = string([]rune(i.Text)) // as JSON keeps it
		if i.Call != nil {
			i.Call = &model.ToolCall{ID: i.Call.ID, Name: string([]rune(i.Call.Name)), Arguments: string([]rune(i.Call.Arguments))}
		}
		_, text := count.part(i)
		out = append(out, text)
	}
	return out
}

func TestMarkdownHoldsHostileText(t *testing.T) {
	s, id, items := hostileSession(t)
	page := []byte(export(t, s, id))
	var texts []string
	headings := 0
	tree := goldmark.DefaultParser().Parse(text.NewReader(page))
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			headings++
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if _, ok := c.(*ast.Text); !ok && c.Kind() != ast.KindEmphasis {
					t.Errorf("a heading holds %s", c.Kind())
				}
			}
		case *ast.FencedCodeBlock:
			texts = append(texts, strings.TrimSuffix(string(n.Lines().Value(page)), "\n"))
		default:
			t.Fatalf("%s stands on the page: %s", n.Kind(), n.Lines().Value(page))
		}
	}
	want := texts[:min(1, len(texts))] // its title and facts
	want = append(want[:len(want):len(want)], parts(items)...)
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	if headings != 1+len(items) {
		t.Errorf("%d headings for %d items", headings, len(items))
	}
}

func TestExport(t *testing.T) {
	s, ses := begun(t, user("one"), answer("first"), user("two"), answer("gone"))
	if err := ses.Back(2); err != nil {
		t.Fatal(err)
	}
	put(t, ses, user("2 < 3?"),
		model.Item{Kind: model.Call, Call: &model.ToolCall{ID: "c", Name: "apply_patch", Arguments: `{"patch":"a\n\tb","n":[1, 2]}`}},
		model.Item{Kind: model.Result, CallID: "c", Text: "done"})
	id := ses.ID()
	page := export(t, s, id)
	_, got, _ := strings.Cut(page, "## ")
	want := strings.ReplaceAll(`Message 1

"""text
one
"""

## Answer

"""text
first
"""

## Message 2

"""text
2 < 3?
"""

## Call 1 of apply_patch

"""text
patch: 
a
	b
n: [1, 2]
"""

## Result of call 1

"""text
done
"""
`, `"""`, "```")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := s.Export(&bytes.Buffer{}, "0123456789abcdef"); err == nil {
		t.Error("exported what is not there")
	}
}
