package verdict

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/sandbox"
)

// bare is a file system in which nothing exists and everything is permitted.
type bare struct{}

func (bare) Lstat(string) (fs.FileMode, error)    { return 0, fs.ErrNotExist }
func (bare) Readlink(string) (string, error)      { return "", fs.ErrNotExist }
func (bare) Access(path string, write bool) error { return nil }

var (
	bash  = sandbox.Ancestor{Program: "bash", PID: 10}
	maker = sandbox.Ancestor{Program: "make", PID: 11}
	inner = sandbox.Ancestor{Program: "sh", PID: 12}
)

// refusedTo returns the denial of /home/u/out/x to a program, which the processes of the
// chain started, the nearest first.
func refusedTo(program string, pid int, chain ...sandbox.Ancestor) sandbox.Denial {
	return sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: "/home/u/out/x", Program: program, PID: pid, Chain: chain,
		Order: 1, Errno: "EACCES", Evidence: sandbox.EvidenceKernel, Count: 1}
}

// exits parses "PID<PARENT NAME STATUS", in order.
func exits(t *testing.T, list ...sandbox.Exit) []sandbox.Exit {
	t.Helper()
	for i := range list {
		list[i].Order = i + 2
	}
	return list
}

func exit(pid, parent int, comm string, status int) sandbox.Exit {
	return sandbox.Exit{PID: pid, Parent: parent, By: parent, ByComm: "bash", Comm: comm, Status: status}
}

// TestCause: which process was denied something, which failed after that, and what the shell's
// text implies. The last exit is the shell's.
func TestCause(t *testing.T) {
	touch := refusedTo("touch", 11, bash)
	failed, passed := exit(11, 10, "touch", 1), exit(11, 10, "touch", 0)
	for _, row := range []struct {
		name, text string
		status     int
		denial     sandbox.Denial
		exits      []sandbox.Exit
		want       sandbox.Confidence
	}{
		{"its own failure", "touch ~/out/x", 1, refusedTo("touch", 10), []sandbox.Exit{exit(10, 9, "touch", 1)}, sandbox.Certain},
		{"other operands", "touch ~/out/x other", 1, refusedTo("touch", 10), []sandbox.Exit{exit(10, 9, "touch", 1)}, sandbox.Likely},
		{"a program of the workspace", "./touch ~/out/x", 1, refusedTo("touch", 10), []sandbox.Exit{exit(10, 9, "touch", 1)}, sandbox.Likely},
		{"behind a pipe", "cat a | touch ~/out/x", 1, refusedTo("touch", 10), []sandbox.Exit{exit(10, 9, "touch", 1)}, sandbox.Likely},
		{"fed by a file", "touch ~/out/x <a", 1, refusedTo("touch", 10), []sandbox.Exit{exit(10, 9, "touch", 1)}, sandbox.Likely},
		{"a child's failure", "touch ~/out/x; exit $?", 1, touch, []sandbox.Exit{failed}, sandbox.Certain},
		{"and more would have run", "touch ~/out/x && tests", 1, touch, []sandbox.Exit{failed}, sandbox.Likely},
		{"ignored", "touch ~/out/x; false", 1, touch, []sandbox.Exit{failed}, sandbox.NoConfidence},
		{"a test of another", "touch ~/out/x; test -e missing", 1, touch, []sandbox.Exit{failed}, sandbox.NoConfidence},
		{"missed later", "touch ~/out/x; test -f ~/out/x", 1, touch, []sandbox.Exit{failed}, sandbox.Likely},
		{"could do without", "tool ~/out/x", 1, refusedTo("tool", 11, bash), []sandbox.Exit{exit(11, 10, "tool", 0)}, sandbox.NoConfidence},
		{"a redirection", "echo x >~/out/x", 1, refusedTo("bash", 10), nil, sandbox.Certain},
		{"a redirection of what may fail", "grep x a >~/out/x", 1, refusedTo("bash", 10), nil, sandbox.Likely},
		{"a redirection before", "echo x >~/out/x; grep y a", 1, refusedTo("bash", 10), []sandbox.Exit{exit(11, 10, "grep", 1)}, sandbox.NoConfidence},
		{"swallowed or not", "python3 t.py", 1, refusedTo("python3", 11, bash), []sandbox.Exit{exit(11, 10, "python3", 1)}, sandbox.Likely},
		{"in a target", "make", 2, refusedTo("touch", 12, maker, bash), []sandbox.Exit{exit(12, 11, "touch", 1), exit(11, 10, "make", 2)}, sandbox.Likely},
		{"in a target, ignored", "make", 2, refusedTo("touch", 12, maker, bash), []sandbox.Exit{exit(12, 11, "touch", 1), exit(13, 11, "false", 1), exit(11, 10, "make", 2)}, sandbox.NoConfidence},
		{"two levels down", "make", 2, refusedTo("touch", 13, inner, maker, bash), []sandbox.Exit{exit(13, 12, "touch", 1), exit(12, 11, "sh", 1), exit(11, 10, "make", 2)}, sandbox.Likely},
		{"a script that did without", "make", 2, refusedTo("touch", 13, inner, maker, bash), []sandbox.Exit{exit(13, 12, "touch", 1), exit(12, 11, "sh", 0), exit(11, 10, "make", 2)}, sandbox.NoConfidence},
		{"became another program", "x >(", 1, touch, []sandbox.Exit{failed, exit(10, 9, "grep", 1)}, sandbox.NoConfidence},
		{"a child failed since", "x >(", 1, refusedTo("bash", 10), []sandbox.Exit{exit(11, 10, "grep", 1), exit(10, 9, "bash", 1)}, sandbox.NoConfidence},
		{"a child failed before", "x >(", 1, refusedTo("bash", 10), []sandbox.Exit{exit(11, 10, "grep", 0), exit(10, 9, "bash", 1)}, sandbox.Likely},
		{"a shell in a shell", "bash -c 'touch ~/out/x; false'", 1, touch, []sandbox.Exit{failed}, sandbox.NoConfidence},
		{"behind another program", "timeout 5 sh -c 'touch ~/out/x; exit 3'", 3, refusedTo("touch", 13, inner, sandbox.Ancestor{Program: "timeout", PID: 11}, bash),
			[]sandbox.Exit{exit(13, 12, "touch", 1), exit(12, 11, "sh", 3), exit(11, 10, "timeout", 3)}, sandbox.NoConfidence},
		{"a script in a file", "bash build.sh", 1, refusedTo("bash", 11, bash), []sandbox.Exit{exit(11, 10, "bash", 1)}, sandbox.Likely},
		{"through env", "env A=b touch ~/out/x", 1, touch, []sandbox.Exit{failed}, sandbox.Likely},
		{"under set -e", "set -e; touch ~/out/x; tests", 1, touch, []sandbox.Exit{failed}, sandbox.Likely},
		{"under set -e, looked at", "set -e; touch ~/out/x || true; grep y a", 1, touch, []sandbox.Exit{failed, exit(12, 10, "grep", 1)}, sandbox.NoConfidence},
		{"a pipe that does not look", "touch ~/out/x | cat; grep y a", 1, touch, []sandbox.Exit{failed, exit(12, 10, "grep", 1)}, sandbox.NoConfidence},
		{"a fallback that fails too", "touch ~/out/x || touch other/x", 1, touch, []sandbox.Exit{failed, exit(12, 10, "touch", 1)}, sandbox.Certain},
		{"a fallback", "touch ~/out/x || touch y; exit 4", 4, touch, []sandbox.Exit{failed, exit(12, 10, "touch", 0)}, sandbox.NoConfidence},
		{"who says no", "touch ~/out/x || exit 4; tests", 4, touch, []sandbox.Exit{failed}, sandbox.Likely},
		{"not", "! touch ~/out/x; grep y a", 1, touch, []sandbox.Exit{failed, exit(12, 10, "grep", 1)}, sandbox.NoConfidence},
		{"if", "if ! touch ~/out/x; then exit 3; fi", 3, touch, []sandbox.Exit{failed}, sandbox.Certain},
		{"kept", "touch ~/out/x; s=$?; cat a; exit $s", 1, touch, []sandbox.Exit{failed}, sandbox.Certain},
		{"counted", "e=0; touch ~/out/x || e=$((e+1)); exit $e", 1, touch, []sandbox.Exit{failed}, sandbox.Certain},
		{"counted for another", "e=0; touch ~/out/x; false || e=$((e+1)); exit $e", 1, touch, []sandbox.Exit{failed}, sandbox.NoConfidence},
		{"noted", "ok=yes; touch ~/out/x || ok=no; test $ok = yes", 1, touch, []sandbox.Exit{failed}, sandbox.Likely},
		{"in the background", "touch ~/out/x & wait $!", 1, touch, []sandbox.Exit{failed}, sandbox.Certain},
		{"in the background, not waited for", "touch ~/out/x & wait; test -e missing", 1, touch, []sandbox.Exit{failed}, sandbox.NoConfidence},
		{"a function", "f() { touch ~/out/x || return 5; }; f", 5, touch, []sandbox.Exit{failed}, sandbox.Certain},
		{"a loop", "for i in 1 2; do touch ~/out/x && exit 0; done; false", 1, touch, []sandbox.Exit{failed}, sandbox.Certain},
		{"did without, and failed", "touch ~/out/x; test -e missing", 1, touch, []sandbox.Exit{passed}, sandbox.NoConfidence},
		{"a launcher", "./tool.js && ls", 1, refusedTo("node", 11, bash), []sandbox.Exit{exit(11, 10, "node", 1)}, sandbox.Likely},
		{"a launcher, after others", "cat a; ./gradlew -q; exit $?", 1, refusedTo("java", 12, bash), []sandbox.Exit{exit(11, 10, "cat", 0), exit(12, 10, "java", 1)}, sandbox.Likely},
		{"a launcher, ignored", "./tool.js; ./other", 1, refusedTo("node", 11, bash), []sandbox.Exit{exit(11, 10, "node", 1), exit(12, 10, "perl", 1)}, sandbox.NoConfidence},
		{"a launcher as the last command", "./tool.js", 1, refusedTo("node", 10), []sandbox.Exit{exit(10, 9, "node", 1)}, sandbox.Likely},
		{"a launcher in another shell's text", "sh -c './tool.js; exit 2'", 2, refusedTo("node", 13, inner, bash), []sandbox.Exit{exit(13, 12, "node", 1), exit(12, 10, "sh", 2)}, sandbox.NoConfidence},
		{"another's child of that name", "./all && make y", 2, refusedTo("touch", 13, maker, bash), []sandbox.Exit{exit(13, 11, "touch", 1), exit(11, 10, "make", 0), exit(14, 10, "make", 2)}, sandbox.NoConfidence},
		{"ended by a signal", "touch ~/out/x; exit $?", 139, touch, nil, sandbox.Likely},
		{"while", "while ! touch ~/out/x; do exit 5; done", 5, touch, []sandbox.Exit{failed}, sandbox.Certain},
		{"until, three times", "until make; do [ $n -lt 3 ] || exit 4; done", 4, refusedTo("touch", 15, sandbox.Ancestor{Program: "make", PID: 14}, bash),
			[]sandbox.Exit{exit(11, 10, "make", 2), exit(13, 10, "make", 2), exit(15, 14, "touch", 1), exit(14, 10, "make", 2)}, sandbox.Likely},
		{"while, ignored", "while touch ~/out/x; do :; done; grep y a", 1, touch, []sandbox.Exit{failed, exit(12, 10, "grep", 1)}, sandbox.NoConfidence},
		{"a sourced script that executed another", ". ./run.sh", 1, refusedTo("python3", 10), []sandbox.Exit{exit(10, 9, "python3", 1)}, sandbox.Likely},
		{"case", "case x in y) cat a;; *) touch ~/out/x;; esac", 1, touch, []sandbox.Exit{failed}, sandbox.Likely},
		{"time", "time touch ~/out/x; exit $?", 1, touch, []sandbox.Exit{failed}, sandbox.Certain},
		{"a text that is not read", "touch ~/out/x # \\\nfalse", 1, touch, []sandbox.Exit{failed}, sandbox.Likely},
	} {
		e := Evidence{Policy: sandbox.WorkspaceWrite("/home/u/ws"), Dir: "/home/u/ws", Argv: []string{"/bin/bash", "-c", row.text}, Status: sandbox.Status{Exit: row.status},
			Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{row.denial}, Exits: exits(t, row.exits...)}}
		v := Judge(e, bare{})
		if v.Confidence != row.want || v.Denied != (row.want != sandbox.NoConfidence) {
			t.Errorf("%s: %q: denied=%v %s, want %q", row.name, row.text, v.Denied, v.Confidence, row.want)
		}
		e.Trace.Evidence = sandbox.EvidencePartial
		if v := Judge(e, bare{}); v.Confidence == sandbox.Certain {
			t.Errorf("%s: certain, where not all was seen", row.name)
		}
	}
}

// TestWentOn: a program that worked for longer after a refusal than before it went on without it, unless the
// output says that this failed, or nothing.
func TestWentOn(t *testing.T) {
	for _, row := range []struct {
		name         string
		before, used time.Duration
		output       string
		host, forked bool
		want         bool
	}{
		{name: "a cache, then tests", before: 20 * time.Millisecond, used: time.Second, output: "3 tests failed"},
		{name: "another file is missing", before: 2 * time.Millisecond, used: 5 * time.Millisecond, output: "/home/u/ws/x: No such file or directory"},
		{name: "an update check, then lint", host: true, before: 80 * time.Millisecond, used: 9 * time.Second, output: "12 problems"},
		{name: "it says that another file was refused", before: time.Millisecond, used: time.Second, output: "/etc/other: Permission denied"},
		{name: "its message and its end", before: 20 * time.Millisecond, used: 25 * time.Millisecond, output: "3 tests failed", want: true},
		{name: "all other files were copied", before: time.Millisecond, used: time.Second, output: "cp: cannot create '/home/u/out/x': Permission denied", want: true},
		{name: "the host", host: true, before: time.Millisecond, used: time.Second, output: "cannot resolve pkg.example", want: true},
		{name: "silent", before: time.Millisecond, used: time.Second, output: " ", want: true},
		{name: "not known", used: time.Second, output: "3 tests failed", want: true},
		{name: "a fork that began just before", before: time.Millisecond, used: time.Second, output: "3 tests failed", forked: true, want: true},
	} {
		d, x := refusedTo("tool", 11, bash), exit(11, 10, "tool", 1)
		if row.host {
			d.Kind, d.Operation, d.Target = sandbox.KindNetwork, "lookup", "pkg.example"
		}
		d.Used, x.Used, x.Forked = row.before, row.used, row.forked
		e := Evidence{Policy: sandbox.WorkspaceWrite("/home/u/ws"), Argv: []string{"make"}, Status: sandbox.Status{Exit: 1}, Output: []string{row.output},
			Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{d}, Exits: exits(t, x)}}
		if v := Judge(e, bare{}); v.Denied != row.want {
			t.Errorf("%s: denied %v", row.name, v.Denied)
		}
	}
}

// Something that another process was denied and did without stopped no process: all Go
// programs record their use below one folder.
func TestDispensable(t *testing.T) {
	e := Evidence{Policy: sandbox.WorkspaceWrite("/home/u/ws"), Argv: []string{"bash", "-c", "go vet"}, Status: sandbox.Status{Exit: 1}, Trace: sandbox.Trace{
		Evidence: sandbox.EvidenceFull,
		Denials:  []sandbox.Denial{refusedTo("compile", 12, sandbox.Ancestor{Program: "go", PID: 10}), refusedTo("go", 10)},
		Exits:    exits(t, exit(12, 10, "compile", 0), exit(10, 9, "go", 1)),
	}}
	if v := Judge(e, bare{}); v.Denied {
		t.Errorf("%+v", v)
	}
}

// A command that succeeded is never denied, nor is one that was interrupted or reached a limit
// of its own. What it was denied is suggested.
func TestPassed(t *testing.T) {
	for name, e := range map[string]Evidence{
		"passed": {}, "interrupted": {Interrupted: true, Status: sandbox.Status{Exit: -1, Signal: 2}}, "memory": {Limit: sandbox.LimitMemory, Status: sandbox.Status{Exit: 1}},
	} {
		e.Policy, e.Argv, e.Trace.Denials = sandbox.WorkspaceWrite("/home/u/ws"), []string{"touch", "/home/u/out/x"}, []sandbox.Denial{refusedTo("touch", 10)}
		e.Output = []string{"touch: cannot touch '/home/u/out/y': Permission denied"}
		v := Judge(e, bare{})
		if v.Denied || v.Confidence != sandbox.NoConfidence || len(v.Suggest.Write) != 1 || len(v.Denials) != 1 || v.Denials[0].Moot {
			t.Errorf("%s: %+v", name, v)
		}
	}
	e := Evidence{TimedOut: true, Argv: []string{"bash", "-c", "tool; false"}, Policy: sandbox.ReadOnly(), Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{refusedTo("tool", 11, bash)}}}
	if v := Judge(e, bare{}); v.Confidence != sandbox.Likely {
		t.Errorf("it may have waited for what was refused: %+v", v)
	}
	for count, want := range map[int]bool{1: false, 2: true} { // it tried once and went on, or again and again
		e.Trace.Denials[0].Count, e.Trace.Exits = count, []sandbox.Exit{exit(11, 10, "tool", 1)}
		if v := Judge(e, bare{}); v.Denied != want {
			t.Errorf("refused %d times before the time-out: %+v", count, v)
		}
	}
	e.Policy = sandbox.FullAccess()
	if v := Judge(e, bare{}); v.Denied || v.Evidence != sandbox.EvidenceNothing {
		t.Errorf("nothing confined it: %+v", v)
	}
}

// Words do not count if a broker observed the denials, except for reads, which no kernel
// reports. They are at most likely, and the evidence says which it is.
func TestWords(t *testing.T) {
	lines := []string{"touch: cannot touch '/home/u/out/x': Permission denied", "curl: (7) connect to 192.0.2.1 port 80 failed: Network is unreachable", "cat: /home/u/out/secret: Permission denied"}
	for level, want := range map[sandbox.EvidenceLevel]string{
		sandbox.EvidenceFull: "/home/u/out/secret", sandbox.EvidenceNetworkOnly: "/home/u/out/x /home/u/out/secret", sandbox.EvidenceNothing: "/home/u/out/x 192.0.2.1:80 /home/u/out/secret",
	} {
		e := Evidence{Policy: sandbox.WorkspaceWrite("/home/u/ws"), Dir: "/home/u/ws", Argv: []string{"x"}, Status: sandbox.Status{Exit: 1}, Output: lines, Trace: sandbox.Trace{Evidence: level}}
		e.Policy.DenyRead = []string{"/home/u/out/secret"}
		v := Judge(e, bare{})
		var got []string
		for _, d := range v.Denials {
			got = append(got, d.Target)
		}
		if strings.Join(got, " ") != want || v.Confidence != sandbox.Likely || v.Evidence != sandbox.EvidenceOutputOnly {
			t.Errorf("%s: %q %s %s, want %q", level, got, v.Confidence, v.Evidence, want)
		}
	}
}

// TestMeans: a word of a text, and what it can stand for.
func TestMeans(t *testing.T) {
	for _, row := range []struct {
		word, target string
		want         bool
	}{
		{"/out/x", "/out/x", true}, {"*/x", "/out/x", true}, {"x", "/out/x", true}, {"../out/x", "/ws/out/x", true}, {"x", "/out/xx", false},
		{"of=*/x", "/out/x", true}, {"~/out/x", "/home/out/x", true}, {".envrc", "/ws/.envrc", true}, {"*/d/e/f", "/out/d", true}, {"*/out", "/out/x", true},
		{"a", "/out/x", false}, {"x/y", "/out/y", false}, {"*", "/out/x", false}, {"", "/out/x", false}, {"/", "/out/x", false},
	} {
		if got := means(row.word, &sandbox.Denial{Kind: sandbox.KindWrite, Target: row.target}); got != row.want {
			t.Errorf("%q and %s: %v", row.word, row.target, got)
		}
	}
}

// TestNotRead: text that the parser and a shell read differently.
func TestNotRead(t *testing.T) {
	tr := newTree(Evidence{}, nil)
	for _, text := range []string{"ls # \\\nrm x", "ls\r\nrm x", "ls\x00", "a (", "'", strings.Repeat("x", maxScript+1)} {
		if tr.statements(text) != nil {
			t.Errorf("%.20q: read", text)
		}
	}
}

// FuzzJudge: for every text the verdict takes bounded work.
func FuzzJudge(f *testing.F) {
	for _, text := range []string{"a; b", "set -e; a | b", "f() { f; }; f", "x=$(a `b`)", "if ! a; then exit $?; fi", "bash -c 'bash -c \"a\"'", "case x in x) a;; esac", "x= a", "a[1]=2",
		"for ((;;)); do f; done", "f() { f & f; }; f", "${x[@]:1}; wait $!; exit ${y:-3}", "until [ a ]; do break; done", "function f { bash -c f; }; f >$x", "let x=1; ((x)); [[ -f x ]]", ">x", "a <<E\nx\nE"} {
		f.Add(text, "x")
	}
	f.Fuzz(func(t *testing.T, text, target string) {
		d := refusedTo("a", 11, bash)
		d.Target = "/" + target
		Judge(Evidence{Policy: sandbox.WorkspaceWrite("/home/u/ws"), Dir: "/home/u/ws", Argv: []string{"bash", "-c", text}, Status: sandbox.Status{Exit: 1},
			Output: strings.Split(text, "\n"), Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{d}, Exits: []sandbox.Exit{exit(11, 10, "a", 1)}}}, bare{})
	})
}

// TestLost: a command that passed lost the targets that its text names, and only these are
// suggested.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		named bool
		exit  int
		lost  int
		want  []string
	}{
		{true, 0, 1, []string{"/srv/data/a"}},
		{false, 0, 0, []string{"/srv/data/a", "/srv/state/count"}},
		{true, 1, 0, []string{"/srv/data/a", "/srv/state/count"}},
	} {
		first := sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: "/srv/data/a", Evidence: sandbox.EvidenceKernel, PID: 2, Order: 1, Count: 1, Named: c.named}
		besides := first
		besides.Target, besides.Order, besides.Named = "/srv/state/count", 2, false
		v := Judge(Evidence{
			Policy: sandbox.WorkspaceWrite("/w"), Dir: "/w", Argv: []string{"tool"}, Status: sandbox.Status{Exit: c.exit},
			Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{first, besides}},
		}, bare{})
		if len(v.Lost()) != c.lost || v.Denied && c.exit == 0 || !slices.Equal(v.Suggest.Write, c.want) {
			t.Errorf("named %v, exit %d: lost %v, suggests %q", c.named, c.exit, v.Lost(), v.Suggest.Write)
		}
	}
}

// TestUnwritten: a checkout without its protected files has failed, whatever its status. To run it again would not help.
func TestUnwritten(t *testing.T) {
	git := sandbox.Denial{Kind: sandbox.KindProtected, Operation: "openat", Target: "/home/u/w/x", Program: "git", PID: 11, Chain: []sandbox.Ancestor{bash},
		Order: 1, Evidence: sandbox.EvidenceKernel, Count: 1, Unwritten: &sandbox.Unwritten{}}
	moot := git
	moot.Moot = true
	for _, row := range []struct {
		name    string
		denials []sandbox.Denial
		status  int
		sure    sandbox.Confidence
		writes  []string
	}{
		{"status 0", []sandbox.Denial{git}, 0, sandbox.Certain, nil},
		{"status 0 after another refusal", []sandbox.Denial{git, refusedTo("touch", 12, bash)}, 0, sandbox.Certain, []string{"/home/u/out/x"}},
		{"another failure", []sandbox.Denial{git}, 3, sandbox.Certain, nil},
		{"written since", []sandbox.Denial{moot}, 0, sandbox.NoConfidence, nil},
	} {
		e := Evidence{Policy: sandbox.WorkspaceWrite("/home/u/w"), Dir: "/home/u/w", Home: "/home/u", Argv: []string{"bash", "-c", "git switch x; false"}, Status: sandbox.Status{Exit: row.status},
			Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: row.denials, Exits: exits(t, exit(11, 10, "git", 0), exit(10, 9, "bash", row.status))}}
		v := Judge(e, bare{})
		if v.Confidence != row.sure || v.Denied != (row.sure != sandbox.NoConfidence) || !slices.Equal(v.Suggest.Write, row.writes) {
			t.Errorf("%s: %v %q, suggests %+v", row.name, v.Denied, v.Confidence, v.Suggest)
		}
	}
}
