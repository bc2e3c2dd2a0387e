package named

import (
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

// TestTarget: a text, what was refused, and whether the text names it.
func TestTarget(t *testing.T) {
	links := func(p string) string {
		if rest, ok := strings.CutPrefix(p, "/link/"); ok {
			return "/real/" + rest
		}
		return p
	}
	for _, row := range []struct {
		text, target string
		want         bool
	}{
		{"echo x > /srv/a", "/srv/a", true},
		{"echo x >/srv/a", "/srv/a", true},
		{"echo x > /srv/a", "/srv/ab", false},
		{"echo x > /srv/ab", "/srv/a", false},
		{"touch ~/x", "/home/u/x", true},
		{"touch $HOME/x", "/home/u/x", true},
		{"touch \"${HOME}/x y\"", "/home/u/x y", true},
		{`touch ~/x\ y`, "/home/u/x y", true},
		{"cp a ../out/b", "/home/u/out/b", true},
		{"cd ../out && touch b", "/home/u/out/b", true},
		{"cd ~/one && cd two && touch b", "/home/u/one/two/b", true},
		{"for f in a b; do touch ~/$f; done", "/home/u/b", true},
		{"for f in a b; do touch ~/$f; done", "/home/u/c", false},
		{"d=/srv/x; touch $d/y", "/srv/x/y", true},
		{"touch $1/y", "/srv/x/y", true},
		{"touch $1/y", "/srv/x/z", false},
		{"touch $1/$2", "/srv/x/z", false},
		{"touch $1", "/srv/x", false},
		{"touch ~/out/*", "/home/u/out/a", true},
		{"touch ~/out/*", "/home/u/other/a", false},
		{"touch ~/{a,b}.txt", "/home/u/a.txt", true},
		{"dd of=/srv/x", "/srv/x", true},
		{"gcc -o/srv/x y.c", "/srv/x", true},
		{"tool --out=/srv/x", "/srv/x", true},
		{"mkdir -p ~/a/b/c", "/home/u/a", true},
		{"mkdir -p ~/a/b/c", "/home/u", false},
		{"cp a ~/backup/", "/home/u/backup/a", true},
		{"cp a /srv/ || true", "/srv/a", true},
		{"cp dist/a.js /srv", "/srv/a.js", true},
		{"cp a /srv/", "/srv/b", false},
		{"python3 /srv/tool.py", "/srv/__pycache__", false},
		{"sed -i s/a/b/ /srv/conf", "/srv/sedX1y2Z3", true},
		{"git config -f /srv/conf a.b c", "/srv/conf.lock", true},
		{"touch /srv/conf", "/srv/config", false},
		{"less ~/notes", "/home/u/.lesshsQ", false},
		{"(echo x > /srv/a) 2>&1 | cat", "/srv/a", true},
		{"python3 -c 'open(\"/srv/a\", \"w\")'", "/srv/a", true},
		{"python3 -c 'import os; open(os.path.expanduser(\"~/a\"), \"w\")'", "/home/u/a", true},
		{"if then '", "/srv/a", false},
		{"if then ' /srv/a", "/srv/a", true},
		{"echo x > /link/a", "/real/a", true},
		{"go vet ./...", "/home/u/.config/go/telemetry/x", false},
		{"less README", "/home/u/.lesshst", false},
		{"ls ~", "/home/u/.x", false},
		{"cat /", "/x", false},
		{"echo x > ./.envrc", "/home/u/ws/.envrc", true},
	} {
		d := sandbox.Denial{Kind: sandbox.KindWrite, Target: row.target}
		if got := Read(row.text, "/home/u/ws", "/home/u", links).Target(d); got != row.want {
			t.Errorf("%s: %s named: %v", row.text, row.target, got)
		}
	}
	for _, row := range []struct {
		text, target string
		want         bool
	}{
		{"curl https://example.org/x", "example.org:443", true},
		{"curl https://EXAMPLE.org", "example.org", true},
		{"curl https://example.org.evil.net", "example.org:443", false},
		{"curl https://my-example.org", "example.org:443", false},
		{"curl https://my.example.org", "example.org:443", false},
		{"See example.org.", "example.org:443", true},
		{"npm run x", "registry.npmjs.org:443", false},
		{"nc 192.0.2.1 80", "192.0.2.1:80", true},
		{"nc 192.0.2.11 80", "192.0.2.1:80", false},
	} {
		d := sandbox.Denial{Kind: sandbox.KindNetwork, Target: row.target}
		if got := Read(row.text, "/home/u/ws", "/home/u", nil).Target(d); got != row.want {
			t.Errorf("%s: %s named: %v", row.text, row.target, got)
		}
	}
}

// FuzzRead: every text is read in bounded work.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"a=$a$a; b=$a$a; $b", "for x in $x $x; do $x; done", "{{{[[[", `\`, "cd $(cd $x)", "~", "$HOME"} {
		f.Add(s, "/x")
	}
	f.Fuzz(func(t *testing.T, text, target string) {
		read := Read(text, "/w", "/h", nil)
		read.Target(sandbox.Denial{Kind: sandbox.KindWrite, Target: target})
		read.Target(sandbox.Denial{Kind: sandbox.KindNetwork, Target: target})
	})
}

// TestMark: the words of a command name targets, and so does the text that a shell among them runs.
func TestMark(t *testing.T) {
	for _, row := range []struct {
		argv []string
		want bool
	}{
		{[]string{"bash", "-c", "(echo x > /srv/data/a) 2>&1 | cat"}, true},
		{[]string{"bash", "-c", "cd /srv/data && echo x > a"}, true},
		{[]string{"env", "-i", "sh", "-ec", "cd /srv; for d in data; do touch $d/a; done"}, true},
		{[]string{"cp", "a", "/srv/data/"}, true},
		{[]string{"bash", "-c", "tool run"}, false},
		{nil, false},
	} {
		denials := []sandbox.Denial{{Kind: sandbox.KindWrite, Target: "/srv/data/a"}, {Kind: sandbox.KindWrite, Target: "/srv/state/count"}}
		Mark(denials, row.argv, "/w", "/home/u", nowhere{})
		if denials[0].Named != row.want || denials[1].Named {
			t.Errorf("%q: %v, %v", row.argv, denials[0].Named, denials[1].Named)
		}
	}
}

// nowhere is a file system in which nothing exists.
type nowhere struct{}

func (nowhere) Lstat(string) (fs.FileMode, error) { return 0, fs.ErrNotExist }
func (nowhere) Readlink(string) (string, error)   { return "", fs.ErrNotExist }

// costly are short texts that name many things.
func costly() map[string]string {
	fill := func(size int, part func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(part(i))
		}
		return b.String()[:size]
	}
	variables := "for v in " + fill(120, func(i int) string { return fmt.Sprintf("%c ", 'a'+i%26) }) + "; do :; done; w=" + strings.Repeat("x", 120) + "; "
	double := "v0=xxxxxxxx; "
	for i := range 22 {
		double += fmt.Sprintf("v%d=$v%d$v%d; ", i+1, i, i)
	}
	return map[string]string{
		"many folders":         fill(maxParsed, func(i int) string { return fmt.Sprintf("cd /a%d;a/%d;", i, i) }),
		"one folder, often":    fill(maxParsed, func(int) string { return "cd /tmp; ls a/b; " }),
		"relative folders":     fill(maxParsed, func(i int) string { return fmt.Sprintf("cd x;./%d;", i) }),
		"the same word":        fill(MaxText, func(int) string { return "/a/b " }),
		"another word":         fill(MaxText, func(i int) string { return fmt.Sprintf("/a/%d ", i) }),
		"deep paths":           fill(MaxText, func(i int) string { return strings.Repeat("/a", 2000) + fmt.Sprintf("%d ", i) }),
		"parts of a word":      fill(MaxText, func(i int) string { return fmt.Sprintf("/a/%d=", i) }),
		"one word":             strings.Repeat("a/", MaxText/2),
		"doubled values":       double,
		"values of values":     variables + fill(maxParsed-len(variables), func(i int) string { return fmt.Sprintf("/%d$v$w ", i) }),
		"patterns and folders": fill(maxParsed, func(i int) string { return fmt.Sprintf("cd /%d;%d*;", i, i) }),
		"brackets":             fill(maxParsed, func(int) string { return "{[" }),
	}
}

// TestBounded: however much a text names, the number of names and of queries to the file system
// stays small.
func TestBounded(t *testing.T) {
	for name, text := range costly() {
		asked, steps := map[string]int{}, 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read := Read(text, "/home/u/ws", "/home/u", func(p string) string {
			asked[p]++
			steps += strings.Count(p, "/")
			return p
		})
		runtime.ReadMemStats(&after)
		if most := slices.Max(append(slices.Collect(maps.Values(asked)), 0)); most > 1 {
			t.Errorf("%s: a path was resolved %d times", name, most)
		}
		if steps > maxSteps {
			t.Errorf("%s: %d folders were looked at", name, steps)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 32 {
			t.Errorf("%s: %d MB", name, used)
		}
		if n := len(read.Paths()); n > maxNames {
			t.Errorf("%s: %d paths", name, n)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for name, text := range costly() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Read(text, "/home/u/ws", "/home/u", func(p string) string {
					to, err := sandbox.Canonical(hostfile.OS{}, "/", p)
					if err != nil {
						return ""
					}
					return to
				})
			}
		})
	}
}
