package answers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// letters is an embedding of which the nearest texts have the same letters.
func letters(_ context.Context, text string) ([]float32, error) {
	v := make([]float32, 384)
	for _, r := range strings.ToLower(text) {
		v[r%384]++
	}
	return v, nil
}

// place is a project with a store, an hour after its files were made.
type place struct {
	t       testing.TB
	dir     string
	opt     Options
	notices []string
}

func newPlace(t testing.TB) *place {
	p := &place{t: t, dir: t.TempDir()}
	for name, text := range map[string]string{"main.go": "package main\n", "sub/a.go": "package sub\n", "sub/b.go": "package sub\n"} {
		p.write(name, text)
	}
	p.opt = Options{
		File: filepath.Join(t.TempDir(), "answers", "store"), Embed: letters, By: "letters", Threshold: 0.9, TopK: 5,
		Mask:   func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") },
		Notice: func(s string) { p.notices = append(p.notices, s) },
	}
	return p
}

func (p *place) write(name, text string) {
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) session() *Memory {
	m := New(p.opt)
	m.now = func() time.Time { return time.Now().Add(time.Hour) }
	return m
}

var here = Scope{Project: "/p", Model: "m", Agent: "exec", Instructions: "i", Policy: "ro"}

// keep has a session answer text after its tools looked up names; those that end in "?" are not opened.
func (p *place) keep(s Scope, text, answer string, names ...string) {
	m := p.session()
	m.Find(p.t.Context(), s, text, true)
	for _, name := range names {
		path, stat := strings.CutSuffix(name, "?")
		m.Looked(filepath.Join(p.dir, path), !stat)
	}
	m.Keep(p.t.Context(), answer)
}

// find returns the answer that another session gets, or "".
func (p *place) find(s Scope, text string) Hit {
	hit, _ := p.session().Find(p.t.Context(), s, text, false)
	return hit
}

// TestStale: an answer is found while everything that was read for it is unchanged.
func TestStale(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *place)
		stale  bool
	}{
		{"nothing", func(*place) {}, false},
		{"another file", func(p *place) { p.write("sub2/x", "x") }, false},
		{"the same content again", func(p *place) { p.write("main.go", "package main\n") }, false},
		{"a new file with the same content", func(p *place) {
			p.write("new", "package main\n")
			if err := os.Rename(p.dir+"/new", p.dir+"/main.go"); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a file", func(p *place) { p.write("main.go", "package mine\n") }, true},
		{"a file is gone", func(p *place) { os.Remove(p.dir + "/main.go") }, true},
		{"a file became a link", func(p *place) { os.Remove(p.dir + "/main.go"); os.Symlink("sub/a.go", p.dir+"/main.go") }, true},
		{"a new name in a listed folder", func(p *place) { p.write("sub/c.go", "") }, true},
		{"a name left a listed folder", func(p *place) { os.Remove(p.dir + "/sub/b.go") }, true},
		{"a name came and went", func(p *place) { p.write("sub/c.go", ""); os.Remove(p.dir + "/sub/c.go") }, false},
		{"an absent name", func(p *place) { p.write("absent", "") }, true},
		{"a link leads elsewhere", func(p *place) { os.Remove(p.dir + "/link"); os.Symlink("main.go", p.dir+"/link") }, true},
	} {
		p := newPlace(t)
		if err := os.Symlink("sub", p.dir+"/link"); err != nil {
			t.Fatal(err)
		}
		p.keep(here, "What is in main.go?", "it", "main.go", "sub", "absent", "link?", "sub/a.go", "sub/a.go?")
		c.change(p)
		hit := p.find(here, "What is in main.go?")
		if (hit.Answer == "") != c.stale || !c.stale && (hit.Files != 2 || hit.Score != 1) {
			t.Errorf("%s: %+v", c.name, hit)
		}
		if len(p.notices) > 0 {
			t.Errorf("%s: %q", c.name, p.notices)
		}
	}
}

// TestNotKept: what changed while the turn ran, what is too much, and what holds a secret, is not kept.
func TestNotKept(t *testing.T) {
	during := func(do func(p *place, m *Memory)) func(*place) {
		return func(p *place) {
			m := p.session()
			m.Find(t.Context(), here, "What is it?", false)
			m.Looked(p.dir+"/main.go", true)
			do(p, m)
			m.Keep(t.Context(), "it")
		}
	}
	for name, do := range map[string]func(p *place){
		"a file that changed meanwhile": during(func(p *place, _ *Memory) { p.write("main.go", "package mine\n") }),
		"what no file shows":            during(func(_ *place, m *Memory) { m.Forget() }),
		"what the kernel makes up":      during(func(_ *place, m *Memory) { m.Looked("/proc/self/status", true) }),
		"no text":                       during(func(_ *place, m *Memory) { m.Looked("/tmp/\xff", true) }),
		"a file that changed just now": during(func(p *place, m *Memory) {
			m.now = func() time.Time { return time.Time{} }
			m.Looked(p.dir+"/sub", true)
		}),
		"a name that came between looks": during(func(p *place, m *Memory) { m.Looked(p.dir+"/x", false); p.write("x", ""); m.Looked(p.dir+"/x", true) }),
		"more names than are compared": during(func(p *place, m *Memory) {
			for i := range maxReads {
				m.Looked(fmt.Sprint(p.dir, "/", i), false)
			}
		}),
		"a file too large to be compared": during(func(p *place, m *Memory) {
			p.write("big", "")
			os.Truncate(p.dir+"/big", maxFile+1)
			m.Looked(p.dir+"/big", true)
		}),
		"a secret in the answer":           func(p *place) { p.keep(here, "What is it?", "hunter2") },
		"an answer that is too long":       func(p *place) { p.keep(here, "What is it?", strings.Repeat("x", maxAnswer+1)) },
		"an answer that nobody asked for":  func(p *place) { p.session().Keep(t.Context(), "it") },
		"another answer after one is kept": func(p *place) { (*Memory)(nil).Keep(t.Context(), "it"); (*Memory)(nil).Looked("/x", true) },
	} {
		p := newPlace(t)
		do(p)
		if hit := p.find(here, "What is it?"); hit.Answer != "" {
			t.Errorf("%s: %+v", name, hit)
		}
	}
	p := newPlace(t)
	p.opt.Embed = func(context.Context, string) ([]float32, error) { t.Error("a secret was sent"); return nil, nil }
	p.keep(here, "Is hunter2 good?", "no")
	if _, err := os.Stat(p.opt.File); p.find(here, "Is hunter2 good?").Answer != "" || err == nil {
		t.Error("a secret was kept")
	}
}

// TestScopes: an answer of another project, model, agent, policy or of other instructions does not exist.
func TestScopes(t *testing.T) {
	p := newPlace(t)
	p.keep(here, "What is it?", "it", "main.go")
	for i, change := range []func(*Scope){
		func(s *Scope) { s.Project = "/p2" }, func(s *Scope) { s.Model = "n" }, func(s *Scope) { s.Agent = "acp" },
		func(s *Scope) { s.Instructions = "j" }, func(s *Scope) { s.Policy = "rw" },
		func(s *Scope) { s.Project, s.Model = "/pm", "" },
	} {
		s := here
		change(&s)
		if hit := p.find(s, "What is it?"); hit.Answer != "" {
			t.Errorf("%d: %+v", i, hit)
		}
		p.keep(s, "What is it?", fmt.Sprint("other ", i))
	}
	if hit := p.find(here, "What is it?"); hit.Answer != "it" {
		t.Errorf("%+v", hit)
	}
	p.keep(here, "what is it", "it again")
	if hit := p.find(here, "What is it?"); hit.Answer != "it again" {
		t.Errorf("the later answer has not replaced the earlier one: %+v", hit)
	}
}

// TestMeaning: another text hits with an embedding alone, near enough, and with the same content words.
func TestMeaning(t *testing.T) {
	const said, asked = "Please explain the parser of main.go.", "Could you please explain the parser of main.go?"
	p := newPlace(t)
	p.keep(here, said, "it")
	if hit := p.find(here, asked); hit.Answer != "it" || hit.Score < 0.9 || hit.Score >= 1 {
		t.Errorf("%+v", hit)
	}
	for name, change := range map[string]func(*Options){
		"no provider":       func(o *Options) { o.Embed, o.By = nil, "" },
		"a higher bound":    func(o *Options) { o.Threshold = 0.999 },
		"another embedding": func(o *Options) { o.By = "digits" },
		"another length": func(o *Options) {
			o.Embed = func(context.Context, string) ([]float32, error) { return []float32{1}, nil }
		},
	} {
		q := *p
		change(&q.opt)
		if hit := q.find(here, asked); hit.Answer != "" {
			t.Errorf("%s: %+v", name, hit)
		}
		if hit := q.find(here, "please  explain the parser of main.go"); hit.Answer != "it" || hit.Score != 1 {
			t.Errorf("%s: the same text: %+v", name, hit)
		}
	}
	for name, embed := range map[string]func() ([]float32, error){
		"fails": func() ([]float32, error) { return nil, errors.New("no") },
		"zero":  func() ([]float32, error) { return make([]float32, 9), nil },
		"huge":  func() ([]float32, error) { return make([]float32, maxVector+1), nil },
	} {
		q := newPlace(t)
		q.keep(here, said, "it")
		q.opt.Embed = func(context.Context, string) ([]float32, error) { return embed() }
		m := q.session()
		hit, _ := m.Find(t.Context(), here, asked, false)
		m.Keep(t.Context(), "new")
		if hit.Answer != "" || len(q.notices) != 1 || !strings.HasPrefix(q.notices[0], "earlier answers: ") {
			t.Errorf("%s: %+v, %q", name, hit, q.notices)
		}
		if hit := q.find(here, asked); hit.Answer != "new" {
			t.Errorf("%s: not kept for the same text: %+v", name, hit)
		}
	}
	// Nearer ones in the scope leave no room for it; those of other scopes take none.
	p.opt.TopK = 2
	for i := range 3 {
		p.keep(Scope{Project: "/q"}, asked+strings.Repeat(".", i), "other")
	}
	if hit := p.find(here, asked); hit.Answer != "it" {
		t.Errorf("%+v", hit)
	}
	for _, more := range []string{" e", " ee"} {
		p.keep(here, asked+more, "other")
	}
	if hit := p.find(here, asked); hit.Answer != "" {
		t.Errorf("%+v", hit)
	}
}

// TestStore: the file is private, holds 200 answers at most, and is set aside if it is damaged.
func TestStore(t *testing.T) {
	p := newPlace(t)
	p.opt.Embed = nil
	for i := range maxEntries + 3 {
		p.keep(here, fmt.Sprint("question ", i), fmt.Sprint(i))
	}
	if p.find(here, "question 2").Answer != "" || p.find(here, "question 3").Answer != "3" || p.find(here, fmt.Sprint("question ", maxEntries+2)).Answer == "" {
		t.Error("the oldest has to leave, and it alone")
	}
	info, err := os.Stat(p.opt.File)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err = os.Stat(filepath.Dir(p.opt.File)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	whole, err := os.ReadFile(p.opt.File)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"cut": string(whole[:len(whole)-9]), "another version": `{"version":2}`, "zeros": string(make([]byte, 100)), "nothing": "",
		"too many": strings.Replace(string(whole), "[{", `[{"scope":"x"},{`, 1), "too large": strings.Repeat("x", maxStore+1),
	} {
		p := newPlace(t)
		p.keep(here, "question", "it")
		if err := os.WriteFile(p.opt.File, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		m := p.session()
		_, ok := m.Find(t.Context(), here, "question", false)
		m.Keep(t.Context(), "new")
		if aside, err := os.ReadFile(p.opt.File + ".damaged"); ok || err != nil || string(aside) != data || len(p.notices) != 1 {
			t.Errorf("%s: hit %v, %v, %q", name, ok, err, p.notices)
		}
		if p.find(here, "question").Answer != "new" {
			t.Errorf("%s: not usable afterwards", name)
		}
	}
	// Large answers leave before there are 200 of them, and the file can be read again.
	q := newPlace(t)
	q.opt.Embed = nil
	q.keep(here, "question", "it")
	large := `{"answer":"` + strings.Repeat("x", maxAnswer) + `"}`
	if err := os.WriteFile(q.opt.File, []byte(`{"version":1,"entries":[`+strings.Repeat(large+",", maxStore/len(large)-1)+large+"]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	q.keep(here, "the latest", strings.Repeat("y", maxAnswer))
	if info, err = os.Stat(q.opt.File); err != nil || info.Size() > maxStore || q.find(here, "the latest").Answer == "" || len(q.notices) > 0 {
		t.Errorf("%d bytes, %v, %q", info.Size(), err, q.notices)
	}
}

// BenchmarkFind: a lookup in a full store in which all answers are of the scope, of a message whose content words are those
// of one.
func BenchmarkFind(b *testing.B) {
	p := newPlace(b)
	for i := range maxEntries {
		p.keep(here, fmt.Sprintf("Please explain step %d of the parser.", i), strings.Repeat("an answer ", 200), "main.go", "sub", "sub/a.go", "sub/b.go", "absent", ".")
	}
	for name, text := range map[string]string{"exact": "please explain step 77 of the parser", "meaning": "Could you please explain step 77 of the parser?", "miss": "Where is the parser?"} {
		b.Run(name, func(b *testing.B) {
			m := p.session()
			m.Load()
			for b.Loop() {
				if hit, _ := m.Find(b.Context(), here, text, false); (hit.Answer == "") != (name == "miss") {
					b.Fatalf("%+v", hit)
				}
			}
		})
	}
}
