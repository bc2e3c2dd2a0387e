package approvals

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/content"
	"codeagent/event/word"
)

// contents is a content.Source of a test.
type contents struct {
	sums    map[string]string // "-": the file cannot be read
	ids     map[string]uint64 // inodes; 0: the entry cannot be looked at
	changed []content.Change
	unknown bool // not all changes are recorded
	lost    bool // the list of changes is incomplete
	writers []content.Writer
}

func (d *contents) Digest(path string) (string, error) {
	switch sum := d.sums[path]; sum {
	case "":
		return "", fs.ErrNotExist
	case "-":
		return "", errors.New("permission denied")
	default:
		return sum, nil
	}
}
func (d *contents) Mark() (int64, bool) { return int64(len(d.changed)), !d.unknown }
func (d *contents) Changed(mark int64) ([]content.Change, bool) {
	return d.changed[mark:], !d.lost
}
func (d *contents) Identity(path string) (content.Identity, error) {
	switch n, ok := d.ids[path]; {
	case !ok:
		return content.Identity{}, fs.ErrNotExist
	case n == 0:
		return content.Identity{}, errors.New("permission denied")
	default:
		return content.Identity{Device: 1, Inode: n}, nil
	}
}
func (d *contents) Pauses() bool              { return true }
func (d *contents) Writers() []content.Writer { return d.writers }

func (d *contents) change(path, by string) {
	d.changed = append(d.changed, content.Change{Path: path, By: by})
}

// counted makes a gate know the changes of the session, which has none.
func counted(o *Options) { o.Content = &contents{} }

// bound returns a gate that knows the content of files, among them programs of PATH.
func bound(d *contents) world {
	base := confined()
	base.Temp = "/scratch"
	g := newGate(OnRequest, base, func(o *Options) { o.Content, o.Path = d, []string{"/usr/local/sbin", "/usr/bin"} })
	for _, name := range []string{"/usr/bin/make", "/usr/bin/rake", "/usr/bin/docker", workspace + "/main.go"} {
		g.disk[name] = "x"
	}
	return g
}

func fixed() *contents {
	return &contents{
		sums: map[string]string{workspace + "/main.go": "1", "/usr/bin/make": "m", "/usr/bin/rake": "r", "/usr/bin/docker": "d"},
		ids:  map[string]uint64{workspace: 1, workspace + "/main.go": 2, workspace + "/.claude": 3, workspace + "/.git/hooks": 4, "/srv": 5, "/srv/data": 6, workspace + "/build": 7},
	}
}

// anything changes what a yes outside depends on: each row is another way.
var changes = []struct {
	name, folder, text string
	then               func(world, *contents)
	want               string // in the warnings; "": not asked again
}{
	{"nothing", workspace, "make deploy", func(world, *contents) {}, ""},
	{"above a protected folder", workspace + "/.claude", "rake deploy", func(_ world, d *contents) { d.change(workspace+"/Rakefile", "job 2 (sed)") }, "this session changed " + workspace + "/Rakefile (by job 2 (sed))"},
	{"above the folder of hooks", workspace + "/.git/hooks", "rake deploy", func(_ world, d *contents) { d.change(workspace+"/Rakefile", "an edit") }, "(by an edit)"},
	{"in a protected folder", "/srv", "docker ps", func(_ world, d *contents) { d.change(workspace+"/.git/hooks/x", "the server docs") }, "(by the server docs)"},
	{"in the folder for temporary files", "/srv", "docker ps", func(_ world, d *contents) { d.change("/scratch/x", "") }, "this session changed /scratch/x since your yes at "},
	{"in a root that it does not name", "/srv", "docker ps", func(_ world, d *contents) { d.change(workspace+"/x", "") }, "this session changed"},
	{"more than is listed", workspace, "make deploy", func(_ world, d *contents) { d.lost = true }, "more files than are listed"},
	{"no counter any more", workspace, "make deploy", func(_ world, d *contents) { d.unknown = true }, "not all changes of the session are recorded"},
	{"read-only since", workspace, "make deploy", func(g world, d *contents) { d.change(workspace+"/x", ""); _ = g.SetReadOnly(true) }, "this session changed"},
	{"the program", workspace, "make deploy", func(_ world, d *contents) { d.sums["/usr/bin/make"] = "n" }, "/usr/bin/make changed since"},
	{"another program", workspace, "make deploy", func(g world, d *contents) { g.disk["/usr/local/sbin/make"] = "x" }, "make means another program: /usr/local/sbin/make"},
	{"the program is gone", workspace, "./main.go x", func(_ world, d *contents) { delete(d.sums, workspace+"/main.go") }, workspace + "/main.go was removed"},
	{"the folder is another", workspace, "make deploy", func(_ world, d *contents) { d.ids[workspace] = 9 }, workspace + " became something else"},
	{"a named entry is another", workspace, "rm -rf build", func(_ world, d *contents) { d.ids[workspace+"/build"] = 9 }, workspace + "/build became something else"},
	{"a named entry appeared", "/srv", "docker run -v/x --env-file=vars image", func(_ world, d *contents) { d.ids["/srv/vars"] = 9 }, "/srv/vars became something else"},
	{"a redirection's entry", "/srv", "docker ps > out", func(_ world, d *contents) { d.ids["/srv/out"] = 9 }, "/srv/out became something else"},
	{"an entry that cannot be looked at", workspace, "rm -rf build", func(_ world, d *contents) { d.ids[workspace+"/build"] = 0 }, "became something else"},
	{"a writer started", "/srv", "docker ps", func(_ world, d *contents) { d.writers = []content.Writer{{Name: "job 3 (npm)"}} }, "job 3 (npm) is running"},
}

// TestBound: a yes for the session to run outside holds while nothing that it depends on changes.
func TestBound(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			d := fixed()
			g := bound(d)
			a := outsideOf(c.folder, c.text)
			if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: OutsideSession}); err != nil {
				t.Fatal(err)
			}
			if p, again, err := g.Decide(a); again != nil || err != nil || !p.policy.Unconfined {
				t.Fatalf("asked again at once: %+v, %v", again, err)
			}
			c.then(g, d)
			_, again, err := g.Decide(a)
			if err != nil || (again != nil) != (c.want != "") {
				t.Fatalf("asked again %v, %v", again != nil, err)
			}
			if again != nil && !slices.ContainsFunc(again.Warnings, func(w string) bool { return strings.Contains(w, c.want) }) {
				t.Errorf("%q, want %q", again.Warnings, c.want)
			}
		})
	}
}

// TestChangedWhileAsked: a yes applies to what was there when the question was shown. A difference is
// asked about again, for every answer that runs the command.
func TestChangedWhileAsked(t *testing.T) {
	for _, answer := range []Decision{Outside, OutsideSession} {
		for _, c := range changes {
			d := fixed()
			g := bound(d)
			r := mustAsk(t, g, outsideOf(c.folder, c.text))
			writers := len(d.writers)
			c.then(g, d)
			p, err := g.Settle(r, Answer{Decision: answer})
			if c.want == "" || c.name == "no counter any more" || len(d.writers) > writers || c.name == "a writer started" {
				if err != nil {
					t.Errorf("%s, %s: %v", answer, c.name, err)
				}
				continue
			}
			refusal, _ := AsRefusal(err)
			if refusal == nil || refusal.Again == nil || p.minted {
				t.Errorf("%s, %s: %v", answer, c.name, err)
				continue
			}
			if again, err := refusal.Again(); err != nil || !strings.Contains(again.Warnings[0], "while the question was open") {
				t.Errorf("%s, %s: %+v, %v", answer, c.name, again, err)
			}
		}
	}
}

// TestGrantedPathWhileAsked: a granted path is the one that the question showed.
func TestGrantedPathWhileAsked(t *testing.T) {
	for name, c := range map[string]struct {
		wish Wish
		then func(*contents)
		asks bool
	}{
		"unchanged":           {Wish{Write: []string{"/srv/data"}}, func(*contents) {}, false},
		"its content":         {Wish{Write: []string{"/srv/data"}}, func(d *contents) { d.change("/srv/data/x", "") }, false},
		"a written folder":    {Wish{Write: []string{"/srv/data"}}, func(d *contents) { d.ids["/srv/data"] = 9 }, true},
		"it was removed":      {Wish{Write: []string{"/srv/data"}}, func(d *contents) { delete(d.ids, "/srv/data") }, true},
		"its folder":          {Wish{Write: []string{"/srv/new"}}, func(d *contents) { d.ids["/srv"] = 9 }, true},
		"it appeared":         {Wish{Write: []string{"/srv/new"}}, func(d *contents) { d.ids["/srv/new"] = 9 }, true},
		"not to be looked at": {Wish{Write: []string{"/srv/data"}}, func(d *contents) { d.ids["/srv/data"] = 0 }, true},
		"what is read":        {Wish{Read: []string{"/home/u/.ssh"}}, func(d *contents) { d.ids["/home/u/.ssh"] = 9 }, true},
	} {
		for _, answer := range []Decision{Once, Session} {
			d := fixed()
			g := bound(d)
			r := mustAsk(t, g, command("x", c.wish))
			c.then(d)
			p, err := g.Settle(r, Answer{Decision: answer})
			refusal, _ := AsRefusal(err)
			if c.asks != (refusal != nil && refusal.Again != nil) || c.asks == p.minted || c.asks == (len(g.Ledger().List()) > 0) && answer == Session {
				t.Errorf("%s, %s: %v", name, answer, err)
			}
		}
	}
}

// TestShownEdit: an edit is applied to the content that the question showed it changed.
func TestShownEdit(t *testing.T) {
	file := workspace + "/main.go"
	for name, c := range map[string]struct {
		then func(*contents)
		asks bool
	}{
		"unchanged":        {func(*contents) {}, false},
		"another file":     {func(d *contents) { d.sums[workspace+"/x"] = "9" }, false},
		"its content":      {func(d *contents) { d.sums[file] = "9" }, true},
		"it was removed":   {func(d *contents) { delete(d.sums, file) }, true},
		"the same content": {func(d *contents) { d.ids[file] = 9 }, true},
		"its folder":       {func(d *contents) { d.ids[workspace] = 9 }, true},
	} {
		for _, late := range []bool{false, true} {
			d := fixed()
			g := bound(d)
			g.SetMode(Untrusted)
			r := mustAsk(t, g, Action{Kind: word.KindEdit, Folder: workspace, Paths: []string{file}})
			if !late {
				c.then(d)
			}
			p, err := g.Settle(r, Answer{Decision: Once})
			if late && err == nil {
				c.then(d)
				err = p.Check()()
			}
			if refusal, _ := AsRefusal(err); c.asks != (refusal != nil && refusal.Again != nil) {
				t.Errorf("%s, late %v: %v", name, late, err)
			}
		}
	}
}

// TestNamedByACall: what the arguments of a server's tool name is what the question was about. Where they
// are too many to look at, every change counts.
func TestNamedByACall(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		then      func(*contents)
		asks      bool
	}{
		"unchanged":       {`{"file": "build"}`, func(*contents) {}, false},
		"not named":       {`{"file": "build"}`, func(d *contents) { d.ids[workspace+"/main.go"] = 9 }, false},
		"named":           {`{"file": "build"}`, func(d *contents) { d.ids[workspace+"/build"] = 9 }, true},
		"named in a list": {`{"files": [{"path": "/srv/data"}]}`, func(d *contents) { d.ids["/srv/data"] = 9 }, true},
		"its content":     {`{"file": "build"}`, func(d *contents) { d.change(workspace+"/build/x", "job 1 (x)") }, false},
		"huge":            {`{"x": "` + strings.Repeat("x", 16<<10) + `", "file": "build"}`, func(d *contents) { d.change(workspace+"/build", "job 1 (x)") }, true},
	} {
		d := fixed()
		g := bound(d)
		a := serverCall("delete")
		a.Server.Arguments = c.arguments
		r := mustAsk(t, g, a)
		c.then(d)
		_, err := g.Settle(r, Answer{Decision: Session})
		if refusal, _ := AsRefusal(err); c.asks != (refusal != nil && refusal.Again != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAskedAgainTwice: what changes again and again is offered once, and what changes even then ends in
// a refusal. It does not matter whether a change came while the question was open or after the answer.
func TestAskedAgainTwice(t *testing.T) {
	d := fixed()
	g := bound(d)
	offered := func(r *Request) bool {
		return slices.ContainsFunc(r.Options, func(o Option) bool { return o.Decision == OutsideSession })
	}
	a := outsideOf(workspace, "make deploy")
	for i := range 4 {
		r := mustAsk(t, g, a)
		if offered(r) != (i < 3) {
			t.Fatalf("question %d: withheld %q", i, r.Withheld)
		}
		if i == 3 {
			break
		}
		if _, err := g.Settle(r, Answer{Decision: OutsideSession}); err != nil {
			t.Fatal(err)
		}
		d.change(workspace+"/Makefile", "job 1 (x)")
	}
	for _, late := range []func(int) bool{
		func(int) bool { return false }, func(int) bool { return true }, func(i int) bool { return i%2 == 0 },
	} {
		g := bound(d)
		r := mustAsk(t, g, outsideOf(workspace, "make other"))
		for i := range 4 {
			if offered(r) != (i < 3) {
				t.Fatalf("question %d: withheld %q", i, r.Withheld)
			}
			when := " while the question was open"
			change := func() { d.change(workspace+"/Makefile", "job 1 (x)") }
			if !late(i) {
				change()
			}
			p, err := g.Settle(r, Answer{Decision: Outside})
			if late(i) {
				when = " after the answer"
				if err != nil || p.Check()() != nil {
					t.Fatalf("answer %d: %v", i, err)
				}
				change()
				err = p.Check()()
			}
			refusal, _ := AsRefusal(err)
			if refusal == nil || (refusal.Again != nil) != (i < 3) || refusal.Reason != "this session changed "+workspace+"/Makefile (by job 1 (x))"+when {
				t.Fatalf("answer %d: %v", i, err)
			}
			if i < 3 {
				if r, err = refusal.Again(); err != nil || r.Warnings[0] != refusal.Reason {
					t.Fatalf("answer %d: %+v, %v", i, r, err)
				}
			}
		}
	}
}

// TestAskedAgainIsForThePerson: an answer for the session that was given before the change does not
// answer what is asked again because of the change, and is not kept: a no to that is the last word.
func TestAskedAgainIsForThePerson(t *testing.T) {
	d := fixed()
	g := bound(d)
	p, err := g.Settle(mustAsk(t, g, command("x", Wish{Write: []string{"/srv/data"}})), Answer{Decision: Session})
	if err != nil {
		t.Fatal(err)
	}
	d.ids["/srv/data"] = 9
	refusal, _ := AsRefusal(p.Check()())
	if refusal == nil || refusal.Again == nil {
		t.Fatalf("%v", refusal)
	}
	r, err := refusal.Again()
	if err != nil {
		t.Fatal(err)
	}
	if _, ruled := g.Ruled(r); ruled {
		t.Error("nobody was asked")
	}
	if _, err := g.Settle(r, Answer{}); err == nil || len(g.Ledger().List()) > 0 {
		t.Errorf("after a no: %v, open is %+v", err, g.Ledger().List())
	}
	if _, q, err := g.Decide(command("x", Wish{Write: []string{"/srv/data"}})); q == nil && err == nil {
		t.Error("the yes of before applies after a no")
	}
}

// TestWriters: the question names what still runs and what it holds open. No yes for the session is
// offered meanwhile.
func TestWriters(t *testing.T) {
	d := fixed()
	d.writers = []content.Writer{{Name: "the server docs", Holds: []string{workspace + "/.claude/run.sh"}}}
	r := mustAsk(t, bound(d), outsideOf(workspace, "make deploy"))
	if !slices.Contains(r.Warnings, "the server docs runs, and can change what this runs or reads; it holds open for writing: "+workspace+"/.claude/run.sh") {
		t.Errorf("%q", r.Warnings)
	}
	var offered []Decision
	for _, o := range r.Options {
		offered = append(offered, o.Decision)
	}
	if !slices.Equal(offered, []Decision{Outside, Deny, Stop}) || len(r.Withheld) != 1 {
		t.Errorf("%q, %q", offered, r.Withheld)
	}
}

// TestNotBound: a session answer is withheld if some change would not be noticed.
func TestNotBound(t *testing.T) {
	for name, more := range map[string]func(*contents, *Action){
		"changes are not recorded": func(d *contents, _ *Action) { d.unknown = true },
		"a program is unread":      func(d *contents, a *Action) { d.sums[workspace+"/main.go"], a.Command = "-", "./main.go" },
	} {
		d, a := fixed(), outsideOf(workspace, "make deploy")
		more(d, &a)
		r := mustAsk(t, bound(d), a)
		if slices.ContainsFunc(r.Options, func(o Option) bool { return o.Decision == OutsideSession }) || len(r.Withheld) == 0 {
			t.Errorf("%s: offered", name)
		}
	}
	if r := mustAsk(t, newGate(OnRequest, confined()), outsideOf("/srv", "docker ps")); len(r.Withheld) == 0 {
		t.Error("offered where nothing is known")
	}
}
