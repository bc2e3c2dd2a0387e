package exec_test

import (
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
)

// traced is a command of a shell that was refused one thing, and how it ended.
type traced struct {
	name, text string
	status     int
	says       string
	denial     sandbox.Denial
	exits      []sandbox.Exit
	denied     bool
}

// refusedTo is the refusal of /home/u/out/x to a program, which the processes of
// the chain started, the nearest first.
func refusedTo(program string, pid int, chain ...sandbox.Ancestor) sandbox.Denial {
	return sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: "/home/u/out/x", Program: program, PID: pid, Chain: chain,
		Order: 1, Errno: "EACCES", Evidence: sandbox.EvidenceKernel, Count: 1}
}

// TestBlame: who was refused something, who failed after that, and what the
// shell's text makes of it.
func TestBlame(t *testing.T) {
	bash, make, sh := sandbox.Ancestor{Program: "bash", PID: 10}, sandbox.Ancestor{Program: "make", PID: 11}, sandbox.Ancestor{Program: "sh", PID: 12}
	exit := func(pid, parent int, program string, status, order int) sandbox.Exit {
		return sandbox.Exit{PID: pid, Parent: parent, Comm: program, Status: status, Order: order}
	}
	ended := func(status int) sandbox.Exit { return exit(10, 9, "bash", status, 9) }
	for _, row := range []traced{
		{"its own failure", "touch ~/out/x", 1, "", refusedTo("touch", 10), []sandbox.Exit{exit(10, 9, "touch", 1, 2)}, true},
		{"a child's failure", "touch ~/out/x; exit $?", 1, "", refusedTo("touch", 11, bash), []sandbox.Exit{exit(11, 10, "touch", 1, 2), ended(1)}, true},
		{"ignored", "touch ~/out/x; false", 1, "", refusedTo("touch", 11, bash), []sandbox.Exit{exit(11, 10, "touch", 1, 2), ended(1)}, false},
		{"missed later", "touch ~/out/x; test -f ~/out/x", 1, "", refusedTo("touch", 11, bash), []sandbox.Exit{exit(11, 10, "touch", 1, 2), ended(1)}, true},
		{"could do without", "tool ~/out/x", 1, "", refusedTo("tool", 11, bash), []sandbox.Exit{exit(11, 10, "tool", 0, 2), ended(1)}, false},
		{"a redirection", "echo x >~/out/x", 1, "", refusedTo("bash", 10), []sandbox.Exit{ended(1)}, true},
		{"a redirection before", "echo x >~/out/x; grep y a", 1, "", refusedTo("bash", 10), []sandbox.Exit{exit(11, 10, "grep", 1, 2), ended(1)}, false},
		{"said something else", "python3 t.py", 1, "AssertionError: 1 != 2\n", refusedTo("python3", 11, bash), []sandbox.Exit{exit(11, 10, "python3", 1, 2), ended(1)}, false},
		{"said it in words", "python3 t.py", 1, "t.py: Zugriff verweigert\n", refusedTo("python3", 11, bash), []sandbox.Exit{exit(11, 10, "python3", 1, 2), ended(1)}, true},
		{"named it", "python3 t.py", 1, "giving up: /home/u/out/x\n", refusedTo("python3", 11, bash), []sandbox.Exit{exit(11, 10, "python3", 1, 2), ended(1)}, true},
		{"named another", "python3 t.py", 1, "giving up: /home/u/out/xx\n", refusedTo("python3", 11, bash), []sandbox.Exit{exit(11, 10, "python3", 1, 2), ended(1)}, false},
		{"in a target", "make", 2, "", refusedTo("touch", 12, make, bash),
			[]sandbox.Exit{exit(12, 11, "touch", 1, 2), exit(11, 10, "make", 2, 3), ended(2)}, true},
		{"in a target, ignored", "make", 2, "", refusedTo("touch", 12, make, bash),
			[]sandbox.Exit{exit(12, 11, "touch", 1, 2), exit(13, 11, "false", 1, 3), exit(11, 10, "make", 2, 4), ended(2)}, false},
		{"two levels down", "make", 2, "", refusedTo("touch", 13, sh, make, bash),
			[]sandbox.Exit{exit(13, 12, "touch", 1, 2), exit(12, 11, "sh", 1, 3), exit(11, 10, "make", 2, 4), ended(2)}, true},
		{"a script that did without", "make", 2, "", refusedTo("touch", 13, sh, make, bash),
			[]sandbox.Exit{exit(13, 12, "touch", 1, 2), exit(12, 11, "sh", 0, 3), exit(11, 10, "make", 2, 4), ended(2)}, false},
		{"the same program again", "git -C ~/out init; git log", 128, "", refusedTo("git", 11, bash),
			[]sandbox.Exit{exit(11, 10, "git", 1, 2), exit(10, 9, "git", 128, 3)}, false},
		{"a script in a file", "bash build.sh", 1, "", refusedTo("bash", 11, bash), []sandbox.Exit{exit(11, 10, "bash", 1, 2), ended(1)}, true},
		{"through env", "env A=b touch ~/out/x", 1, "", refusedTo("touch", 11, bash), []sandbox.Exit{exit(11, 10, "touch", 1, 2), ended(1)}, true},
		{"feeds nothing", "tee ~/out/x | grep y", 1, "", refusedTo("tee", 11, bash), []sandbox.Exit{exit(11, 10, "tee", 1, 2), exit(12, 10, "grep", 1, 3), ended(1)}, false},
		{"text that cannot be read", "touch ~/out/x (", 1, "", refusedTo("touch", 11, bash), []sandbox.Exit{exit(11, 10, "touch", 1, 2), ended(1)}, true},
	} {
		o := exec.Outcome{Status: sandbox.Status{Exit: row.status}, Argv: []string{"/bin/bash", "-c", row.text},
			Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{row.denial}, Exits: row.exits}}
		o.Output = exec.Printed(row.says)
		v := classify(sandbox.WorkspaceWrite("/home/u/ws"), o)
		if v.Denied != row.denied || v.Evidence != sandbox.EvidenceFull || v.Denied && (v.Confidence != sandbox.Certain || suggestion(v.Suggest) != "w:/home/u/out/x") {
			t.Errorf("%s: %q: %+v", row.name, row.text, v)
		}
	}
}

// With full evidence and nothing refused, no words make it a denial.
func TestBlameNoWords(t *testing.T) {
	o := said("touch: cannot touch '/home/u/out/x': Permission denied\ncurl: (7) Failed to connect to 192.0.2.1 port 80: Permission denied\n")
	o.Trace.Evidence = sandbox.EvidenceFull
	if v := classify(sandbox.WorkspaceWrite("/home/u/ws"), o); v.Denied || len(v.Denials) > 0 {
		t.Errorf("%+v", v)
	}
}

// What is suggested, by what was refused.
func TestSuggested(t *testing.T) {
	for _, row := range []struct {
		text, program, operation string
		kind                     sandbox.DenialKind
		targets                  []string
		want                     string
	}{
		{"sed -i s/a/b/ ~/out/f", "sed", "openat", sandbox.KindWrite, []string{"/home/u/out/sedAb12Cd"}, "w:/home/u/out"},
		{"npm i", "npm install", "mkdir", sandbox.KindWrite, []string{"/home/u/.npm/_cacache"}, "w:/home/u/.npm/_cacache"},
		{"git config --global a.b c", "git", "openat", sandbox.KindWrite, []string{"/home/u/.gitconfig.lock"}, "w:/home/u/.gitconfig w:/home/u/.gitconfig.lock"},
		{"git -C ~/out/r commit", "git", "mkdir", sandbox.KindWrite, []string{"/home/u/out/r/.git/objects/ab"}, "w:/home/u/out/r/.git"},
		{"sqlite3 ~/out/d x", "sqlite3", "openat", sandbox.KindWrite, []string{"/home/u/out/d"}, "w:/home/u/out/d w:/home/u/out/d-journal"},
		{"rm -r ~/out/dir", "rm", "unlinkat", sandbox.KindWrite, []string{"/home/u/out/dir/g"}, "w:/home/u/out/dir"},
		{"mv ~/out/f ~/out/g", "mv", "renameat2", sandbox.KindWrite, []string{"/home/u/out/g", "/home/u/out/f"}, "w:/home/u/out/g w:/home/u/out/f"},
		{"chmod -R a ~/out/dir", "chmod", "fchmodat", sandbox.KindMetadata, []string{"/home/u/out/dir", "/home/u/out/dir/g"}, "w:/home/u/out/dir"},
		{"tool", "tool", "openat", sandbox.KindWrite, []string{"/home/u/out/a", "/home/u/out/b", "/home/u/out/c", "/home/u/out/d", "/home/u/out/e"}, "w:/home/u/out"},
		{"tool", "tool", "openat", sandbox.KindWrite, []string{"/home/u/tmp.AbCdEf12"}, "w:/home/u/tmp.AbCdEf12"},
		{"tool", "tool", "rmdir", sandbox.KindWrite, []string{"/home/u"}, ""},
		{"curl https://example.com/x", "curl", "lookup", sandbox.KindNetwork, []string{"example.com"}, "h:example.com:443"},
		{"curl http://example.com:81/x", "curl", "lookup", sandbox.KindNetwork, []string{"example.com", "example.com:81"}, "h:example.com:81"},
		{"tool", "tool", "lookup", sandbox.KindNetwork, []string{"example.com"}, "h:example.com"},
		{"tool", "tool", "lookup", sandbox.KindNetwork, []string{"example.invalid"}, ""},
		{"tool", "tool", "connect", sandbox.KindSocket, []string{"/run/s"}, "s:/run/s"},
		{"tool", "tool", "mount", sandbox.KindSyscall, []string{"mount"}, "!"},
	} {
		o := exec.Outcome{Status: sandbox.Status{Exit: 1}, Argv: []string{"/bin/bash", "-c", row.text}, Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull}}
		for _, target := range row.targets {
			d := refusedTo(row.program, 11, sandbox.Ancestor{Program: "bash", PID: 10})
			d.Kind, d.Operation, d.Target = row.kind, row.operation, target
			o.Trace.Denials = append(o.Trace.Denials, d)
		}
		if v := classify(sandbox.WorkspaceWrite("/home/u/ws"), o); suggestion(v.Suggest) != row.want {
			t.Errorf("%s, %v: suggests %q, want %q", row.text, row.targets, suggestion(v.Suggest), row.want)
		}
	}
}

// Where only the network is seen, words tell of files, and of nothing else.
func TestBlameNetworkOnly(t *testing.T) {
	o := said("touch: cannot touch '/home/u/out/x': Permission denied\ncurl: (7) Failed to connect to 192.0.2.1 port 80: Permission denied\n")
	o.Trace.Evidence = sandbox.EvidenceNetworkOnly
	v := classify(sandbox.WorkspaceWrite("/home/u/ws"), o)
	if !v.Denied || v.Confidence != sandbox.Likely || v.Evidence != sandbox.EvidenceNetworkOnly || suggestion(v.Suggest) != "w:/home/u/out/x" {
		t.Errorf("%+v", v)
	}
	o.Argv = []string{"curl", "http://192.0.2.1/"}
	o.Trace.Denials = []sandbox.Denial{{Kind: sandbox.KindNetwork, Operation: "connect", Target: "192.0.2.1:80", Program: "curl", PID: 10, Order: 1, Evidence: sandbox.EvidenceKernel, Count: 1}}
	if v = classify(sandbox.WorkspaceWrite("/home/u/ws"), o); !v.Denied || v.Confidence != sandbox.Certain || suggestion(v.Suggest) != "h:192.0.2.1:80" || len(v.Denials) != 2 {
		t.Errorf("%+v", v)
	}
}
