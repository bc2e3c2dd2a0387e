package mention

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestFind: which path comes first.
func TestFind(t *testing.T) {
	paths := []string{
		"README.md", "docs/", "src/", "src/parser.go", "src/parser_test.go", "src/printer/parse.go", "lib/sparse_array.go", "cmd/app/main.go",
		"internal/fileworker/main.go", "tui/composer/composer.go", "tui/compose.md", "web/UserProfileView.tsx", "web/userprofile.css", "a b/c.txt", "straße/ü.go",
	}
	for _, c := range []struct{ query, want string }{
		{"readme", "README.md"}, {"pars", "src/parser.go"}, {"parsetest", "src/parser_test.go"}, {"parse.go", "src/printer/parse.go"},
		{"srcpa", "src/parser.go"}, {"upv", "web/UserProfileView.tsx"}, {"UP", "web/UserProfileView.tsx"}, {"userp", "web/userprofile.css"},
		{"cam", "cmd/app/main.go"}, {"composer", "tui/composer/"}, {"ifm", "internal/fileworker/main.go"}, {"c.txt", "a b/c.txt"}, {"ü", "straße/ü.go"}, {"docs", "docs/"},
		{"qqq", ""}, {"PARS", ""},
	} {
		got := New(append(slices.Clone(paths), "tui/composer/")).Find(c.query, 3)
		if len(got) == 0 && c.want == "" {
			continue
		}
		if len(got) == 0 || got[0].Path != c.want {
			t.Errorf("%q finds %v first, want %q", c.query, got, c.want)
		}
	}
	if got := New(paths).Find("", 2); len(got) != 2 || got[0].Path != "README.md" {
		t.Errorf("no query finds %v", got)
	}
}

// many are paths as they are in a big repository.
func many(n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("src main test parser handler server client util config model view controller index types schema api internal cmd web assets style component button user session token auth")
	out := make([]string, n)
	for i := range out {
		var parts []string
		for range 2 + r.IntN(5) {
			parts = append(parts, words[r.IntN(len(words))])
		}
		out[i] = fmt.Sprintf("%s_%d.go", strings.Join(parts, "/"), i)
	}
	return out
}

// FuzzFind: whatever the path and the query are, what is found contains the query at the
// places that are named, and a path that contains it is found.
func FuzzFind(f *testing.F) {
	f.Add("src/parser.go", "pag")
	f.Add("\xff/é", "\xff")
	f.Fuzz(func(t *testing.T, path, query string) {
		if path == "" || query == "" {
			return
		}
		for _, m := range New([]string{path}).Find(query, 1) {
			for i, at := range m.At {
				if lower(path[at]) != lower(query[i]) || i > 0 && at <= m.At[i-1] {
					t.Fatalf("%q in %q at %v", query, path, m.At)
				}
			}
		}
		at, q := 0, strings.ToLower(query)
		for p := strings.ToLower(path); at < len(p) && q != ""; at++ {
			if p[at] == q[0] {
				q = q[1:]
			}
		}
		if q == "" && query == strings.ToLower(query) && path == strings.ToLower(path) && len(New([]string{path}).Find(query, 1)) == 0 {
			t.Fatalf("%q is not found in %q", query, path)
		}
	})
}

// BenchmarkKeystroke is one letter of a query in 100,000 paths, as they are typed.
func BenchmarkKeystroke(b *testing.B) {
	paths := many(100_000)
	for _, query := range []string{"e", "srcmainview", "scv", "zzz"} {
		b.Run(query, func(b *testing.B) {
			x := New(paths)
			for i := 0; b.Loop(); i++ {
				x.Find(query[:1+i%len(query)], 10)
			}
		})
	}
}
