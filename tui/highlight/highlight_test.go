package highlight

import (
	"strings"
	"testing"

	"codeagent/tui/tuitest"
)

// shown writes the classes of code as letters below it, a space for plain text.
func shown(language, code string) string {
	r := For(language)
	var out strings.Builder
	for line := range strings.Lines(code) {
		for _, tok := range r.Line(strings.TrimSuffix(line, "\n")) {
			letter := " ksn#fad"[tok.Class : tok.Class+1]
			out.WriteString(strings.Repeat(letter, len(tok.Text)))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func TestLanguages(t *testing.T) {
	for _, c := range []struct{ language, code, want string }{
		{"go", "func f(a int) { return \"x\\\"\" + `r", "kkkk f   kkk    kkkkkk sssss   ss"},
		{"go", "x := 'a' // it's", "     sss #######"},
		{"go", "`one\ntwo` + 0x1f", "ssss\nssss   nnnn"},
		{"go", "/* a\nb */ T{}", "####\n#### f  "},
		{"python", "def f(x): # c", "kkk f     ###"},
		{"python", "'''doc\nmore''' 1.5", "ssssss\nsssssss nnn"},
		{"sh", "echo \"$A\" # no#t $#", "kkkk ssss #########"},
		{"sh", "a#b", "   "},
		{"rust", "fn f<'a>(x: &'a str) {}", "kk          "},
		{"json", "{\"k\": [true, \"v\", 1]}", " fff   kkkk  sss  n  "},
		{"yaml", "- name: \"x\" # c\n  on:\n  url: http://h", "  ffff  sss ###\n  ff \n  fff "},
		{"toml", "[a.b]\nkey = 'v'", "kkkkk\nfff   sss"},
		{"html", "<a href=\"x\">it's</a><!-- c -->", "        sss         ##########"},
		{"diff", "@@ -1 +1 @@\n-a\n+b\n c", "fffffffffff\ndd\naa\n  "},
		{"sql", "SELECT 'it' FROM t -- c", "kkkkkk ssss kkkk   ####"},
		{"nosuch", "func", "    "},
		{"", "func", "    "},
	} {
		got := shown(c.language, c.code)
		for i, line := range strings.Split(c.want, "\n") {
			have := strings.Split(got, "\n")[i]
			if !strings.HasPrefix(have, strings.TrimRight(line, " ")) {
				t.Errorf("%s: %q is read as\n%q, want\n%q", c.language, c.code, have, line)
			}
		}
	}
}

// The tokens of a line are the line, in every language, and an unreadable line keeps
// what was open.
func TestTokensAreTheLine(t *testing.T) {
	texts := append(tuitest.Nasty(), "\"\\", "'\\", "/*", "<a b='", "`${`}`", "-- [[", strings.Repeat("(", maxLine+1), "0x", "#", "<", "</", "<!", "\xff'\xfe'", "- - a: b:")
	for _, l := range table() {
		name, _, _ := strings.Cut(l.names, " ")
		for _, text := range texts {
			r := For(name)
			for line := range strings.SplitSeq(text, "\n") {
				got := ""
				for _, tok := range r.Line(line) {
					got += tok.Text
				}
				if got != line {
					t.Fatalf("%s: %q became %q", name, line, got)
				}
			}
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("go", "x := `\n/*")
	f.Fuzz(func(t *testing.T, name, code string) {
		r := For(name)
		for line := range strings.SplitSeq(code, "\n") {
			got := ""
			for _, tok := range r.Line(line) {
				got += tok.Text
			}
			if got != line {
				t.Fatalf("%s: %q became %q", name, line, got)
			}
		}
	})
}

// A name stands for one language.
func TestNamesAreUnique(t *testing.T) {
	of := map[string]string{}
	for _, l := range table() {
		for n := range strings.FieldsSeq(l.names) {
			if of[n] != "" {
				t.Errorf("%s stands for two languages: %s, and %s", n, of[n], l.names)
			}
			of[n] = l.names
		}
	}
}

func BenchmarkGo(b *testing.B) {
	line := "	for i, tok := range r.Line(line) { // reads \"strings\" and 12 numbers"
	r := For("go")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		r.Line(line)
	}
}
