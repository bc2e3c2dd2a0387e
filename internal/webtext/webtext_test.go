package webtext

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"codeagent/internal/visible"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, in, contentType, want string }{
		{"utf-8 said", "caf\xc3\xa9", "text/html; charset=UTF-8", "café"},
		{"latin-1 said", "caf\xe9", "text/html; charset=iso-8859-1", "café"},
		{"the page says so", "<meta charset=shift_jis>\x83\x65", "text/html", "<meta charset=shift_jis>テ"},
		{"nothing said", "caf\xe9!", "text/plain", "café!"},
		{"nothing said, utf-8 far in", strings.Repeat("a", 5000) + "é", "text/plain", strings.Repeat("a", 5000) + "é"},
		{"nothing said, cut in a character", "é\xc3", "text/plain", "é\uFFFD"},
		{"utf-8 said and not held", "a\xffb", "text/html; charset=utf-8", "a\uFFFDb"},
		{"utf-16 by its mark", "\xff\xfea\x00b\x00", "", "ab"},
		{"utf-8 by its mark", "\xef\xbb\xbfa", "text/html; charset=latin1", "a"},
		{"an unknown charset", "abc", "text/html; charset=klingon", "abc"},
		{"a type that is broken", "abc", ";;;=", "abc"},
		{"nothing", "", "", ""},
	} {
		if got := Decode([]byte(tt.in), tt.contentType); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc": "a\tb\nc", "a\r\nb\rc": "a\nb\nc", "\x1b]0;x\x07": "␛]0;x␇", "a\u202eb\u2066": "a<U+202E>b<U+2066>",
		"\U000E0049\U000E0067": "<U+E0049><U+E0067>", "👩\u200d💻 rm\u200d": "👩\u200d💻 rm<U+200D>",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]bool{"#!/bin/sh\n": true, "é\xc3": true, "": true, "a\x00b": false, "\x7fELF\x02\x01\x01\x00": false, "%PDF-1.4\n%\xe2\xe3\xcf\xd3": false} {
		if Plain([]byte(in)) != want {
			t.Errorf("%q", in)
		}
	}
}

// hostile returns pages that cost a naive reader its stack, its memory or hours.
func hostile() map[string]string {
	many := strings.Repeat
	var attributes strings.Builder
	var bodies strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&attributes, "a%d ", i)
		fmt.Fprintf(&bodies, "<body a%d>", i)
	}
	var formats strings.Builder
	for i := range 480 {
		fmt.Fprintf(&formats, "<b x=%d>", i)
	}
	return map[string]string{
		"nested":                  many("<div>", 1_000_000) + "x",
		"nested as allowed":       many(many("<blockquote>", 400)+"x\ny"+many("</blockquote>", 400), 200),
		"lists in lists":          many("<ul><li>", 250) + "x",
		"open formatting":         many("<b>", 200_000) + "x",
		"formatting again":        many("<p><b><i><u>", 100) + many("<p>x", 20_000),
		"many bodies":             bodies.String() + "x",
		"formatting for all":      "<p>" + formats.String() + many("<p>a", 240<<10),
		"tags that close nothing": many("<td>", 250) + many("</b></p></li></q>", 300_000) + "x",
		"a wall":                  "<p>" + many("<table>", 250) + many("</p>", 1_000_000),
		"open links":              many("<a href=x>y<p>", 20_000),
		"empty links":             many("<a href=x></a>", 200_000) + "x",
		"cells":                   "<table><tr>" + many("<td>", 100_000) + "x",
		"rows":                    "<table>" + many("<tr><td>x", 100_000),
		"out of the table":        "<table>" + many("x<b>", 400),
		"marks":                   "<p>" + many("*_`[", 500_000),
		"attributes":              "<p " + attributes.String() + ">x",
		"one attribute":           "<a href=\"" + many("a", 2_000_000) + "\">x</a>",
		"one word":                many("x", 5<<20),
		"one line of code":        "<pre>" + many("`", 2_000_000),
		"lines of code":           "<pre>" + many("\n", 2_000_000) + "x",
		"indented code":           many("<ul><li>", 100) + "<pre>" + many("\nx", 1_000_000),
		"code in code":            many("<code>", 500) + many("x ", 100_000),
		"texts in a textarea":     "<textarea>" + many("<p>", 500_000),
		"an open comment":         "<!--" + many("--", 1_000_000),
		"an open script":          "<script>" + many("<script>", 200_000),
		"entities":                many("&#x202e;", 300_000),
		"controls":                many("\x1b", 2_000_000),
		"nothing":                 many(" \n", 2_000_000),
	}
}

// Each takes seconds, or minutes on a slow and busy machine; a nonlinear reader takes hours.
func TestHostilePages(t *testing.T) {
	for name, page := range hostile() {
		begun := time.Now()
		p := HTML(page, "https://site.example/")
		if took := time.Since(begun); took > 5*time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
		if len(p.Text) > 10*maxText {
			t.Errorf("%s: %d bytes of text", name, len(p.Text))
		}
		check(t, p)
	}
}

// check tests that no text contains characters that are interpreted or invisible.
func check(t *testing.T, p Page) {
	t.Helper()
	for _, s := range []string{p.Text, p.Title} {
		if !utf8.ValidString(s) {
			t.Error("not UTF-8")
		}
		for _, r := range s {
			if r != '\n' && r != '\t' && visible.Name(r) != "" && !visible.Joins(r) {
				t.Fatalf("%U is in the text", r)
			}
		}
	}
}

func FuzzHTML(f *testing.F) {
	for _, page := range []string{
		"<title>t</title><h1>a</h1><ul><li>b<ol start=2><li>c</ol></ul><table><tr><td>d<td>e</table><pre>f\n`g`</pre><a href='x'>h</a>",
		"<blockquote><dl><dt>a<dd>b<br>c</dl><hr><img alt=d><code>e</code><p hidden>f", "<base href=//x><a href=?y><svg><a>z</svg><math><mi>", "\x00\xff<a href=\x01>\u202e",
	} {
		f.Add(page, "https://site.example/")
	}
	f.Fuzz(func(t *testing.T, page, base string) {
		check(t, HTML(Decode([]byte(page), ""), base))
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("<meta charset=utf-16be>a\x00"), "text/html; charset=gb18030")
	f.Fuzz(func(t *testing.T, data []byte, contentType string) {
		if s := Decode(data, contentType); !utf8.ValidString(s) || len(s) > 8*len(data)+8 {
			t.Errorf("%d bytes became %d", len(data), len(s))
		}
	})
}
