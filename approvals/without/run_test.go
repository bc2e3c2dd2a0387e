package without

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"codeagent/sandbox"
)

func reach(program, host string) sandbox.Denial {
	return sandbox.Denial{Kind: sandbox.KindNetwork, Executable: program, Target: host}
}

// TestAsks: a refusal is worth a question if a text names its target, if it is a host that a
// program tries again later, or if the memory says so.
func TestAsks(t *testing.T) {
	work := filepath.Dir(room(t))
	for name, text := range map[string]string{"deploy.sh": "cp x /srv/site\n", "binary": "\x00 /srv/hidden"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("deploy.sh", work+"/link.sh"); err != nil {
		t.Fatal(err)
	}
	tool := "/usr/bin/tool"
	log, host := write(tool, "/home/u/.tool/log/1"), reach(tool, "update.example:443")
	for _, row := range []struct {
		name, text string
		wish       string
		learned    []Lesson
		no         *sandbox.Denial
		d          sandbox.Denial
		since      time.Duration // the first contact was so long ago
		want       bool
	}{
		{name: "not named", text: "tool x", d: log},
		{name: "named", text: "tool --log ~/.tool/log/1", d: log, want: true},
		{name: "named in two words", text: "cp a b /srv/", d: write("/bin/cp", "/srv/a")},
		{name: "protected and not named", text: "tool", d: sandbox.Denial{Kind: sandbox.KindProtected, Executable: tool, Target: "/w/.git/config"}},
		{name: "a socket, not named", text: "tool", d: sandbox.Denial{Kind: sandbox.KindSocket, Executable: tool, Target: "/run/nscd/socket"}},
		{name: "a socket, named", text: "tool /run/nscd/socket", d: sandbox.Denial{Kind: sandbox.KindSocket, Executable: tool, Target: "/run/nscd/socket"}, want: true},
		{name: "asked for", text: "tool", wish: "/home/u/.tool/log/1", d: log, want: true},
		{name: "in the justification", text: "tool", wish: "it writes ~/.tool/log/1, which you want", d: log, want: true},
		{name: "in its script", text: "bash deploy.sh", d: write("/bin/cp", "/srv/site"), want: true},
		{name: "in a script that it does not name", text: "bash other.sh", d: write("/bin/cp", "/srv/site")},
		{name: "in a file that is no text", text: "./binary", d: write("/bin/cp", "/srv/hidden")},
		{name: "behind a link out of the workspace", text: "bash /home/u/deploy.sh", d: write("/bin/cp", "/srv/site")},
		{name: "stopped before", text: "tool", learned: []Lesson{{Denial: log, Mattered: true}}, d: write(tool, "/home/u/.tool/log/2"), want: true},
		{name: "another program was stopped", text: "tool", learned: []Lesson{{Denial: write("/bin/x", log.Target), Mattered: true}}, d: log},
		{name: "named, survived unasked", text: "tool ~/.tool/log/1", learned: []Lesson{{Denial: log}}, d: log, want: true},
		{name: "named, survived a no", text: "tool ~/.tool/log/1", learned: []Lesson{{Denial: log, Denied: true}}, d: log},
		{name: "first contact", text: "tool", d: host},
		{name: "first contact, named", text: "curl https://update.example", d: host, want: true},
		{name: "several addresses at once", text: "tool", since: time.Second / 10, d: host},
		{name: "it tries again", text: "tool", since: 2 * time.Second, d: host, want: true},
		{name: "it tries again, and survived that", text: "tool", since: 2 * time.Second, learned: []Lesson{{Denial: host}}, d: host},
		{name: "a probe for writing", text: "tool ~/.tool/log/1", d: sandbox.Denial{Kind: sandbox.KindWrite, Executable: tool, Target: log.Target, Probe: true}},
		{name: "survived", text: "tool", learned: []Lesson{{Denial: host, Denied: true}}, d: reach(tool, "update.example:80")},
		{name: "another program survived", text: "tool", learned: []Lesson{{Denial: reach("/bin/x", host.Target), Denied: true}}, since: time.Minute, d: host, want: true},
		{name: "named, survived where nobody was asked", text: "curl update.example", learned: []Lesson{{Denial: host}}, d: host, want: true},
		{name: "it mattered", text: "tool", learned: []Lesson{{Denial: host, Mattered: true}}, d: host, want: true},
		{name: "after a no to the same program", text: "tool ~/a ~/b", no: ptr(write(tool, "/home/u/a")), d: write(tool, "/home/u/b")},
		{name: "after a no to another program", text: "tool ~/a ~/b", no: ptr(write("/bin/x", "/home/u/a")), d: write(tool, "/home/u/b"), want: true},
		{name: "after a no to another kind", text: "tool ~/b", no: ptr(host), d: write(tool, "/home/u/b"), want: true},
		{name: "after a no to the host", text: "tool", no: ptr(reach("/bin/x", "update.example:80")), d: host},
		{name: "after a no to its address", text: "tool", no: ptr(reach(tool, "192.0.2.1:80")), d: sandbox.Denial{Kind: sandbox.KindNetwork, Executable: tool, Target: "update.example:443", Requested: "192.0.2.1:443"}},
		{name: "after a no to another host", text: "tool", no: ptr(reach(tool, "other.example:80")), since: time.Minute, d: host, want: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := open(t, room(t))
			if err := m.Learn(noon, row.learned); err != nil {
				t.Fatal(err)
			}
			r := m.Begin(t.Context(), Command{Text: row.text, Folder: work, Wishes: []string{row.wish}, Roots: []string{work}})
			if row.no != nil {
				r.Deny(*row.no)
			}
			if row.since > 0 {
				r.met = map[string]time.Time{row.d.Target: time.Now().Add(-row.since)}
			}
			if got := r.Asks(row.d); got != row.want {
				t.Errorf("asks: %v", got)
			}
		})
	}
}

func ptr(d sandbox.Denial) *sandbox.Denial { return &d }

// TestEnd: a command that passed survived its refusals. A certain cause of failure mattered. Any
// other failure teaches nothing.
func TestEnd(t *testing.T) {
	seen := func(d sandbox.Denial) sandbox.Denial { d.Evidence = sandbox.EvidenceKernel; return d }
	d, host := seen(write("/bin/tool", "/home/u/.x/y")), seen(reach("/bin/tool", "x.example:443"))
	moot, guess := seen(write("/bin/tool", "/home/u/.moot/y")), write("/bin/tool", "/home/u/.guess/y")
	moot.Moot = true
	lost, lostHost := seen(write("/bin/tool", "/home/u/.lost/y")), host
	lost.Lost, lostHost.Lost = true, true
	log, other, known := seen(write("/bin/tool", "/home/u/.x/log/z")), seen(write("/bin/other", "/home/u/.o/z")), seen(write("/bin/tool", "/home/u/.known/z"))
	for name, row := range map[string]struct {
		passed  bool
		denials []sandbox.Denial
		cause   []sandbox.Denial
		no      []sandbox.Denial
		want    map[string]Outcome
		denied  int
	}{
		"passed":                           {passed: true, denials: []sandbox.Denial{d, moot, guess}, want: map[string]Outcome{d.Target: Survived}},
		"passed after no":                  {passed: true, denials: []sandbox.Denial{d, host}, no: []sandbox.Denial{reach("/bin/other", "x.example:80")}, want: map[string]Outcome{d.Target: Survived, host.Target: Survived}, denied: 1},
		"failed for it":                    {denials: []sandbox.Denial{d, host}, cause: []sandbox.Denial{d}, want: map[string]Outcome{d.Target: Mattered}},
		"failed for one of two":            {denials: []sandbox.Denial{d, log}, cause: []sandbox.Denial{d, log}},
		"failed for one, and one survived": {denials: []sandbox.Denial{d, known}, cause: []sandbox.Denial{d, known}, want: map[string]Outcome{d.Target: Mattered}},
		"failed for the like, twice":       {denials: []sandbox.Denial{d, d}, cause: []sandbox.Denial{d, d}, want: map[string]Outcome{d.Target: Mattered}},
		"two programs failed for one each": {denials: []sandbox.Denial{d, other}, cause: []sandbox.Denial{d, other}, want: map[string]Outcome{d.Target: Mattered, other.Target: Mattered}},
		"passed, and lost":                 {passed: true, denials: []sandbox.Denial{lost}},
		"passed, lost one, survived one":   {passed: true, denials: []sandbox.Denial{lost, d}, want: map[string]Outcome{d.Target: Survived}},
		"lost after no":                    {passed: true, denials: []sandbox.Denial{lostHost, d}, no: []sandbox.Denial{reach("/bin/other", "x.example:80")}, want: map[string]Outcome{d.Target: Survived}},
		"lost what it had survived":        {passed: true, denials: []sandbox.Denial{lostHost, lost}},
		"failed otherwise":                 {denials: []sandbox.Denial{d, host}},
	} {
		m := open(t, room(t))
		if err := m.Learn(noon, []Lesson{{Denial: known}}); err != nil {
			t.Fatal(err)
		}
		r := m.Unasked()
		for _, no := range row.no {
			r.Deny(no)
		}
		if err := r.End(noon, row.passed, row.denials, row.cause); err != nil {
			t.Fatal(err)
		}
		denied := 0
		for _, one := range []sandbox.Denial{d, host, moot, guess, log, other} {
			if got := m.Of(one); got.Last != row.want[one.Target] {
				t.Errorf("%s: %s %q", name, one.Target, got.Last)
			}
			denied += m.Of(one).Denied
		}
		if denied != row.denied {
			t.Errorf("%s: %d noes", name, denied)
		}
	}
}

// TestKnown: refusals are known if the program survived each of them the last time, and a person said no or a yes
// changed nothing.
func TestKnown(t *testing.T) {
	m := open(t, room(t))
	a, b, c := write("/bin/a", "/home/u/.a/x"), write("/bin/b", "/home/u/.b/x"), write("/bin/c", "/home/u/.c/x")
	a.Evidence, c.Moot = sandbox.EvidenceKernel, true
	if err := m.Learn(noon, []Lesson{{Denial: a}, {Denial: b, Mattered: true}}); err != nil {
		t.Fatal(err)
	}
	r := m.Unasked()
	if r.Known([]sandbox.Denial{a}) {
		t.Error("survived, and nobody was asked about it: it may be all that is left")
	}
	if err := r.Vain(noon, []sandbox.Denial{a, c}); err != nil {
		t.Fatal(err)
	}
	if !r.Known([]sandbox.Denial{a}) || r.Known([]sandbox.Denial{c}) || r.Known([]sandbox.Denial{a, b}) || r.Known([]sandbox.Denial{b}) || r.Known(nil) {
		t.Error(m.List())
	}
}
