package approvals

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/content"
)

// contents is a content.Source of a test.
type contents struct {
	sums    map[string]string // "-": the file cannot be read
	changed []string
	unknown bool // changes are not recorded
	busy    bool
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
func (d *contents) Changed(mark int64) (out []content.Change, all bool) {
	for _, p := range d.changed[mark:] {
		out = append(out, content.Change{Path: p})
	}
	return out, true
}
func (d *contents) Identity(path string) (content.Identity, error) {
	return content.Identity{}, fs.ErrNotExist
}
func (d *contents) Writers() []content.Writer {
	if d.busy {
		return []content.Writer{{Name: "job 1 (x)"}}
	}
	return nil
}

// bound returns a gate that knows the content of files, among them programs of PATH.
func bound(d *contents) world {
	base := confined()
	base.Temp = "/scratch"
	g := newGate(OnRequest, base, func(o *Options) { o.Content, o.Path = d, []string{"/usr/local/sbin", "/usr/bin"} })
	for _, name := range []string{"/usr/bin/make", "/usr/bin/docker", workspace + "/main.go"} {
		g.disk[name] = "x"
	}
	return g
}

// TestBound: a session answer to run outside covers the command while its programs, the files that
// it names and the folders that it can read are unchanged.
func TestBound(t *testing.T) {
	const script = workspace + "/main.go"
	start := func() *contents {
		return &contents{sums: map[string]string{script: "1", "/usr/bin/make": "m", "/usr/bin/docker": "d"}}
	}
	for _, c := range []struct {
		name, folder, text string
		then               func(*contents)
		want               string // in the warnings; "": not asked again
	}{
		{"a script, unchanged", workspace, "./main.go x", func(*contents) {}, ""},
		{"a script changed", workspace, "./main.go x", func(d *contents) { d.sums[script] = "2" }, script + " changed since your yes at "},
		{"an argument changed", workspace, "make -f main.go", func(d *contents) { d.sums[script] = "2" }, script + " changed"},
		{"from elsewhere", "/srv", "make -C " + workspace, func(d *contents) { d.changed = append(d.changed, workspace+"/sub/x") }, "this session changed " + workspace + "/sub/x since"},
		{"removed", workspace, "./main.go x", func(d *contents) { delete(d.sums, script) }, script + " was removed"},
		{"beside it", workspace, "./main.go x", func(d *contents) { d.changed = append(d.changed, workspace+"/lib.sh") }, "this session changed " + workspace + "/lib.sh since"},
		{"elsewhere", workspace, "./main.go x", func(d *contents) { d.changed = append(d.changed, "/opt/x") }, ""},
		{"a program that reads its folder", workspace, "make deploy", func(d *contents) { d.changed = append(d.changed, workspace+"/Makefile") }, "this session changed " + workspace + "/Makefile since"},
		{"above its folder", workspace + "/sub", "make deploy", func(d *contents) { d.changed = append(d.changed, workspace+"/Makefile") }, "this session changed"},
		{"the program", workspace, "make deploy", func(d *contents) { d.sums["/usr/bin/make"] = "n" }, "/usr/bin/make changed since"},
		{"a program that reads nothing here", "/srv", "docker ps", func(d *contents) { d.changed = append(d.changed, workspace+"/x") }, ""},
		{"that program", "/srv", "docker ps", func(d *contents) { d.sums["/usr/bin/docker"] = "e" }, "/usr/bin/docker changed since"},
		{"a background command", workspace, "make deploy", func(d *contents) { d.busy = true }, "a background command is running"},
		{"changes are not recorded any more", workspace, "make deploy", func(d *contents) { d.unknown = true }, "outside the sandbox"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := start()
			g := bound(d)
			a := outsideOf(c.folder, c.text)
			if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: OutsideSession}); err != nil {
				t.Fatal(err)
			}
			if p, again, err := g.Decide(a); again != nil || err != nil || !p.minted || !p.policy.Unconfined {
				t.Fatalf("asked again at once: %+v, %v", again, err)
			}
			c.then(d)
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

// TestBoundWhereItIsClosedNow: changes of the session are noticed even where its commands can no
// longer write, or could not write when the answer was given.
func TestBoundWhereItIsClosedNow(t *testing.T) {
	const script = workspace + "/main.go"
	readOnly := func(g world, on bool) {
		if err := g.SetReadOnly(on); err != nil {
			t.Fatal(err)
		}
	}
	changes := func(d *contents) { d.sums[script] = "2"; d.changed = append(d.changed, script) }
	for _, c := range []struct {
		name, folder, text string
		before, after      func(world, *contents)
		want               string
	}{
		{"read-only since", workspace, "make deploy", func(world, *contents) {}, func(g world, d *contents) { changes(d); readOnly(g, true) }, "this session changed " + script},
		{"read-only since, a script", workspace, "./main.go", func(world, *contents) {}, func(g world, d *contents) { changes(d); readOnly(g, true) }, script + " changed"},
		{"read-only since, an argument", workspace, "make -f main.go", func(world, *contents) {}, func(g world, d *contents) { d.sums[script] = "2"; readOnly(g, true) }, script + " changed"},
		{"read-only before", workspace, "make deploy", func(g world, d *contents) { readOnly(g, true) }, func(g world, d *contents) { readOnly(g, false); changes(d); readOnly(g, true) }, "this session changed " + script},
		{"read-only, unchanged", workspace, "make deploy", func(world, *contents) {}, func(g world, d *contents) { readOnly(g, true) }, ""},
		{"revoked since", "/srv/tools", "make deploy", func(g world, d *contents) { sayYes(t, g, command("x", Wish{Write: []string{"/srv/tools"}}), Session) },
			func(g world, d *contents) {
				d.changed = append(d.changed, "/srv/tools/Makefile")
				g.Ledger().Revoke("g1")
			}, "this session changed /srv/tools/Makefile"},
		{"revoked since, a script", "/srv/tools", "./run", func(g world, d *contents) { sayYes(t, g, command("x", Wish{Write: []string{"/srv/tools"}}), Session) },
			func(g world, d *contents) { d.sums["/srv/tools/run"] = "2"; g.Ledger().Revoke("g1") }, "/srv/tools/run changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &contents{sums: map[string]string{script: "1", "/usr/bin/make": "m", "/srv/tools/run": "1"}}
			g := bound(d)
			g.disk["/srv/tools/run"] = "x"
			c.before(g, d)
			a := outsideOf(c.folder, c.text)
			if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: OutsideSession}); err != nil {
				t.Fatal(err)
			}
			c.after(g, d)
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

// TestNotBound: a session answer is withheld if some change would not be noticed.
func TestNotBound(t *testing.T) {
	for name, c := range map[string]struct {
		d    contents
		text string
		more func(*Action)
	}{
		"changes are not recorded":  {contents{unknown: true}, "make deploy", nil},
		"in the background":         {contents{}, "make deploy", func(a *Action) { a.Background = true }},
		"a text that hides it":      {contents{}, "make $X", nil},
		"a script for a shell":      {contents{}, "sh -c 'make x'", nil},
		"a named file is unread":    {contents{sums: map[string]string{workspace + "/main.go": "-"}}, "cat main.go | sh", nil},
		"a folder above the roots":  {contents{}, "run-parts /home/u/src", nil},
		"in the folder for scratch": {contents{}, "make -C /scratch", nil},
	} {
		a := outsideOf(workspace, c.text)
		if c.more != nil {
			c.more(&a)
		}
		g := bound(&c.d)
		r := mustAsk(t, g, a)
		if slices.ContainsFunc(r.Options, func(o Option) bool { return o.Decision == OutsideSession }) {
			t.Errorf("%s: offered", name)
		}
	}
}

// TestChangedWhileAsked: a yes applies to the files as they were when the question was asked.
func TestChangedWhileAsked(t *testing.T) {
	for _, answer := range []Decision{Outside, OutsideSession} {
		d := &contents{sums: map[string]string{workspace + "/main.go": "1"}}
		g := bound(d)
		r := mustAsk(t, g, outsideOf(workspace, "./main.go"))
		d.sums[workspace+"/main.go"] = "2"
		if _, err := g.Settle(r, Answer{Decision: answer}); err == nil || !strings.Contains(err.Error(), "main.go changed while the question was open") {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestSessionChanges: a question about leaving the sandbox names what this session changed.
func TestSessionChanges(t *testing.T) {
	for _, c := range []struct {
		folder, text string
		changed      []string
		want         string
	}{
		{workspace, "make deploy", []string{workspace + "/main.go"}, "this session changed what it can run or read: " + workspace + "/main.go"},
		{workspace, "make deploy", []string{workspace + "/gone"}, ""},
		{"/srv", "docker ps", []string{workspace + "/main.go"}, ""},
		{"/srv", "docker ps $X", []string{workspace + "/main.go"}, "this session changed what it can run or read"},
		{"/srv", "bash " + workspace + "/main.go", []string{workspace + "/main.go"}, "this session changed what it can run or read"},
	} {
		r := mustAsk(t, bound(&contents{changed: c.changed}), outsideOf(c.folder, c.text))
		i := slices.IndexFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "this session changed") })
		if (i >= 0) != (c.want != "") || i >= 0 && !strings.HasPrefix(r.Warnings[i], c.want) {
			t.Errorf("%s$ %s: %q", c.folder, c.text, r.Warnings)
		}
	}
	r := mustAsk(t, bound(&contents{changed: []string{workspace + "/main.go"}}), command("x", Wish{Write: []string{"/srv/x"}}))
	if slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "this session changed") }) {
		t.Errorf("inside the sandbox: %q", r.Warnings)
	}
}
