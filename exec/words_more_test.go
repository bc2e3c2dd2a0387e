package exec_test

import (
	"slices"
	"strings"
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
)

// said is the outcome of a command that failed with these words on stderr.
func said(words string) exec.Outcome {
	return exec.Outcome{Status: sandbox.Status{Exit: 1}, Output: exec.Output{Head: []byte(words), Total: int64(len(words))}}
}

func judged(p sandbox.Policy, o exec.Outcome) sandbox.Verdict {
	return exec.Judge(p, o, newPaper(true), "/home/u/ws")
}

func TestJudgeProtected(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	p.Protected.Paths = []string{"/home/u/ws/.git/config"}
	p.Protected.Own = []string{"/home/u/ws/bin/codeagent"}
	v := judged(p, said("error: could not lock config file .git/config: Permission denied\n"))
	if !v.Denied || v.Denials[0].Kind != sandbox.KindProtected || suggestion(v.Suggest) != "write /home/u/ws/.git/config" {
		t.Errorf("verdict %+v", v)
	}
	v = judged(p, said(protecttest.In("cp: cannot create regular file '{editor}': Permission denied\n")))
	if !v.Denied || v.Denials[0].Kind != sandbox.KindProtected {
		t.Errorf("verdict %+v", v)
	}
	// codeagent's own files are never opened, so nothing is suggested.
	v = judged(p, said("rm: cannot remove 'bin/codeagent': Permission denied\n"))
	if !v.Denied || v.Denials[0].Kind != sandbox.KindProtected || !v.Suggest.Empty() {
		t.Errorf("verdict %+v", v)
	}
}

// A path that no command may read is reported, nothing is suggested, and no other denial is
// guessed.
func TestJudgeRecords(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	p.Protected.Own, p.Protected.Hidden = []string{"/home/u/out"}, []string{"/home/u/out/secret"}
	v := judged(p, said("cat: /home/u/out/secret: Permission denied\n"))
	if !v.Denied || v.Confidence != sandbox.Likely || len(v.Denials) != 1 || v.Denials[0].Kind != sandbox.KindRead ||
		!strings.Contains(v.Denials[0].Why, "codeagent's own records") || !v.Suggest.Empty() {
		t.Errorf("verdict %+v", v)
	}
	p.Protected, p.DenyRead = sandbox.ProtectedNames{}, []string{"/home/u/out/secret"}
	v = judged(p, said("cat: /home/u/out/secret: Permission denied\n"))
	if len(v.Denials) != 1 || v.Denials[0].Why != "" || suggestion(v.Suggest) != "read /home/u/out/secret" {
		t.Errorf("verdict %+v", v)
	}
}

// A shell begins a message with its own name, which nothing was refused: root could write it.
func TestJudgeNameOfTheShell(t *testing.T) {
	o := said("/bin/bash: line 1: /home/u/out/x: Read-only file system\n")
	o.Argv = []string{"/bin/bash", "-c", "echo > /home/u/out/x"}
	v := exec.Judge(sandbox.WorkspaceWrite("/home/u/ws"), o, newPaper(true), "/home/u/ws")
	if !v.Denied || !slices.Equal(targets(v), []string{"/home/u/out/x"}) {
		t.Errorf("verdict %+v", v)
	}
}

// A suggestion never opens the root, a top-level folder or somebody's home.
func TestJudgeSuggestsNothingBroad(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	for _, words := range []string{
		"touch: setting times of '/home/u': Permission denied", "rm: cannot remove '/home': Permission denied", "rm: cannot remove '/etc': Permission denied",
		"mktemp: failed to create file via template '/home/u/tmp.XXXXXXXXXX': Permission denied", "chmod: changing permissions of '/': Operation not permitted",
		"touch: cannot touch '/Users/u': Permission denied", "touch: cannot touch '../..': Permission denied",
	} {
		v := judged(p, said(words))
		for _, path := range v.Suggest.Write {
			if slices.Contains([]string{"/", "/home", "/home/u", "/etc", "/Users", "/Users/u"}, path) {
				t.Errorf("%s: suggests %q", words, path)
			}
		}
	}
}

func TestJudgeIsSilentWhenNothingFailed(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	words := "touch: cannot touch '/home/u/out/x': Permission denied\n"
	record := sandbox.Denial{Kind: sandbox.KindProtected, Operation: "restored", Target: "/home/u/ws/bin/x", Evidence: sandbox.EvidenceBackend, Count: 1}
	passed, interrupted := said(words), said(words)
	passed.Status.Exit, passed.Trace.Denials = 0, []sandbox.Denial{record}
	interrupted.Interrupted = true
	for name, o := range map[string]exec.Outcome{"exit 0": passed, "interrupted": interrupted} {
		if v := judged(p, o); v.Denied || v.Confidence != sandbox.NoConfidence || !v.Suggest.Empty() || len(v.Denials) != len(o.Trace.Denials) {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := judged(sandbox.FullAccess(), said(words)); v.Denied || v.Evidence != sandbox.EvidenceNothing {
		t.Errorf("unconfined: %+v", v)
	}
	timedOut := said(words)
	timedOut.TimedOut = true
	if v := judged(p, timedOut); !v.Denied {
		t.Errorf("timed out: %+v", v)
	}
}

func TestJudgeBackendRecords(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	o := said("something went wrong\n")
	o.Trace.Denials = []sandbox.Denial{{Kind: sandbox.KindProtected, Operation: "restored", Target: "/home/u/ws/bin/x", Evidence: sandbox.EvidenceBackend, Count: 1}}
	if v := judged(p, o); v.Denied || len(v.Denials) != 1 || v.Evidence != sandbox.EvidencePartial {
		t.Errorf("put back, which the command did not notice: %+v", v)
	}
	o = said("it cannot be\n")
	o.Trace.Denials = []sandbox.Denial{{Kind: sandbox.KindWrite, Operation: "openat", Target: "/home/u/out/x", Evidence: sandbox.EvidenceKernel, Count: 2}}
	if v := judged(p, o); !v.Denied || v.Confidence != sandbox.Likely || suggestion(v.Suggest) != "write /home/u/out/x" {
		t.Errorf("a denial that the kernel reported: %+v", v)
	}
	o.Trace.Denials[0].Moot = true
	if v := judged(p, o); v.Denied {
		t.Errorf("moot: %+v", v)
	}
}

func TestJudgeKilledByTheFilter(t *testing.T) {
	o := exec.Outcome{Status: sandbox.Status{Exit: -1, Signal: 31}}
	v := judged(sandbox.ReadOnly(), o)
	if !v.Denied || v.Denials[0].Kind != sandbox.KindSyscall || !v.Suggest.Unsandboxed {
		t.Errorf("verdict %+v", v)
	}
}

func TestJudgeAllowedHosts(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	p.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "example.com", Port: 443}}}
	for words, denied := range map[string]bool{
		"curl: (6) Could not resolve host: example.com":       false,
		"curl: (6) Could not resolve host: other.example.com": true,
	} {
		if v := judged(p, said(words)); v.Denied != denied {
			t.Errorf("%s: %+v", words, v)
		}
	}
}

// The words are hostile: for any text the verdict is bounded, names only what the policy
// denies, and nothing panics.
func checkHostile(t *testing.T, words string) {
	t.Helper()
	p := sandbox.WorkspaceWrite("/home/u/ws")
	p.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "example.com", Port: 443}}}
	o := said(words)
	o.Argv = []string{"bash", "-c", words}
	v := judged(p, o)
	if len(v.Denials) > 50 {
		t.Errorf("%d denials", len(v.Denials))
	}
	for _, d := range v.Denials {
		switch d.Kind {
		case sandbox.KindWrite, sandbox.KindProtected:
			if p.JudgeWrite(d.Target).Allowed {
				t.Errorf("%q is allowed, and was called denied", d.Target)
			}
		case sandbox.KindRead:
			t.Errorf("everything is readable, and %q was called denied", d.Target)
		}
	}
	for _, path := range v.Suggest.Write {
		if strings.Count(path, "/") < 2 {
			t.Errorf("suggests %q", path)
		}
	}
	for _, h := range v.Suggest.Hosts {
		if p.JudgeHost(h).Allowed {
			t.Errorf("suggests %v, which is allowed", h)
		}
	}
}

var hostileWords = []string{
	"", "\n\n", "Permission denied", ": Permission denied", "'': Permission denied", "'\x00': Permission denied", "\x1b[31m\x1b]0;x", "\x1b",
	"x: '/home/u/out/\x1b[31m': Permission denied", "cp: '/home/u/out/a' -> '/home/u/out/b': Permission denied",
	"dial tcp 999.1.1.1:99999: connect: network is unreachable", "Failed to connect to [::1] port 70000", "getaddrinfo EAI_AGAIN ..", "ssh: Could not resolve hostname -", "a: ~/x: Permission denied",
	"open " + strings.Repeat("/a", 5000) + ": permission denied", strings.Repeat("touch: cannot touch '/home/u/out/x': Permission denied\n", 300),
	"a: /proc/self/root/etc/hosts: Permission denied", "a: /../../home/u/out: Permission denied", "\xff\xfe: /home/u/out/\xff: Permission denied",
}

func TestJudgeHostileWords(t *testing.T) {
	for _, words := range hostileWords {
		checkHostile(t, words)
	}
	var many strings.Builder
	for i := range 400 {
		many.WriteString("touch: cannot touch '/home/u/out/" + strings.Repeat("x", i%9) + string(rune('a'+i%26)) + "': Permission denied\n")
	}
	checkHostile(t, many.String())
}

func FuzzJudgeWords(f *testing.F) {
	for _, words := range hostileWords {
		f.Add(words)
	}
	for _, c := range outputCases {
		f.Add(c.script)
	}
	f.Fuzz(checkHostile)
}

func BenchmarkJudge(b *testing.B) {
	o := said(strings.Repeat("compiling something: /home/u/ws/a.go:12: note\n", 400) + "touch: cannot touch '/home/u/out/x': Permission denied\n")
	for b.Loop() {
		if v := judged(sandbox.WorkspaceWrite("/home/u/ws"), o); !v.Denied {
			b.Fatal(v)
		}
	}
}
