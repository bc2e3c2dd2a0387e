package mention

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// do does what a menu asks for, as a screen does it.
func do(intent part.Intent) {
	switch w := intent.(type) {
	case part.All:
		for _, one := range w {
			do(one)
		}
	case part.Beside:
		do(w(context.Background())())
	}
}

func sources(names ...string) Sources {
	return Sources{Now: func() time.Time { return time.Unix(0, 0) }, Files: func(context.Context) ([]string, bool, error) { return names, false, nil }}
}

// TestMenu: the list is read once beside what is typed, and what is chosen names a file.
func TestMenu(t *testing.T) {
	var m Menu
	shows := func(want string) {
		t.Helper()
		if got := ansi.Strip(strings.Join(m.View(paint.New(true), 60), "\n")); !strings.Contains(got, want) {
			t.Errorf("shows %q, want %q", got, want)
		}
	}
	s := sources("README.md", "src/parser.go", "src/a b.go")
	s.Resources = func(context.Context) ([]string, error) { return []string{"booking:rules"}, nil }
	word := Word{From: 4, Query: "s"}
	read := m.Follow(word, true, s)
	shows("reading the names")
	if again := m.Follow(Word{4, "sr"}, true, s); again != nil {
		t.Error("the files are read twice at once")
	}
	m.Follow(word, true, s)
	do(read)
	shows("parser.go")
	if _, handled := m.Key(keys.Down, Word{4, "other"}, true); handled {
		t.Error("a key is taken for a word that is not the one that was followed")
	}
	m.Key(keys.Down, word, true)
	m.Key(keys.Up, word, true)
	intent, handled := m.Key(keys.Send, word, true)
	if got, ok := intent.(Name); !handled || !ok || got.From != 4 || !strings.Contains(got.Path, "s") {
		t.Errorf("names %v", intent)
	}
	m.Follow(Word{4, "booking"}, true, s)
	shows("booking:rules")
	if _, handled := m.Key(keys.Back, Word{4, "booking"}, true); !handled || m.View(paint.New(true), 60) != nil {
		t.Error("Esc does not close it")
	}
	if m.Follow(Word{4, "bookings"}, true, s); m.View(paint.New(true), 60) != nil {
		t.Error("it opens again for the word that Esc closed it for")
	}
	m.Follow(Word{}, false, s)
	s.Files = func(context.Context) ([]string, bool, error) { return nil, false, errors.New("no sandbox") }
	s.Now = func() time.Time { return time.Unix(60, 0) }
	do(m.Follow(word, true, s))
	shows("files cannot be listed: no sandbox")
}

// TestMenuLines: lines of a file are written after # or :, if no file has that in its name.
func TestMenuLines(t *testing.T) {
	for query, want := range map[string]any{
		"src/a.go#20-45": "send only those lines", "src/a.go:20-45": "only those lines", "src/a.go:20": "only those lines",
		"pars:7": Name{0, "src/parser.go", "#7"}, "pars#7": Name{0, "src/parser.go", "#7"},
		"note:1": Name{0, "t:note:12", ""}, "zz:7": "no file matches", "src/a.go:x": "no file matches",
	} {
		var m Menu
		do(m.Follow(Word{0, query}, true, sources("src/a.go", "src/parser.go", "t:note:12")))
		var got any = strings.Join(m.View(paint.New(true), 60), "\n")
		if name, ok := want.(Name); ok {
			if got, _ = m.Key(keys.Send, Word{0, query}, true); got != name {
				t.Errorf("%s names %v, want %v", query, got, want)
			}
		} else if !strings.Contains(got.(string), want.(string)) {
			t.Errorf("%s shows %q, want %q", query, got, want)
		}
	}
}

// TestMenuIsNarrow: names of any length stay within the screen, their ends visible.
func TestMenuIsNarrow(t *testing.T) {
	for _, w := range []int{10, 40, 120} {
		var m Menu
		do(m.Follow(Word{0, "x.go"}, true, sources(strings.Repeat("deep/", 800)+"x.go", strings.Repeat("漢", 300)+"x.go", "a\u0301x.go")))
		rows := m.View(paint.New(true), w)
		if len(rows) != 3 {
			t.Errorf("%d columns: %q", w, rows)
		}
		for _, row := range rows {
			if ansi.StringWidth(row) >= w || !strings.HasSuffix(ansi.Strip(row), "x.go") {
				t.Errorf("%d columns: %q", w, row)
			}
		}
	}
}
