package approvals

import (
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// TestHeldQuestionNamesWhoWasRefused: it names the program's file, and not what the command or
// the process says about itself.
func TestHeldQuestionNamesWhoWasRefused(t *testing.T) {
	for _, c := range []struct {
		command string
		d       sandbox.Denial
		want    string
	}{
		{"npm install", sandbox.Denial{Program: "node", Executable: "/usr/bin/node", Comm: "npm"}, "/usr/bin/node"},
		{"git status", sandbox.Denial{Program: "git", Executable: "/work/git"}, "/work/git"},
		{"echo x > /etc/b", sandbox.Denial{Program: "bash", Executable: "/usr/bin/bash", Comm: "git"}, "/usr/bin/bash"},
		{"git status", sandbox.Denial{Comm: "git", PID: 7}, sandbox.Unexamined},
		{"./x", sandbox.Denial{Program: "git", Executable: "/w/git (recorded by the kernel)"}, `"/w/git (recorded by the kernel)"`},
		{"./x", sandbox.Denial{Program: "e\x1bvil", Executable: "/w/e\x1bvil"}, "/w/e?vil"},
		{"./x", sandbox.Denial{Program: "x", Executable: "/w/" + strings.Repeat("usr/", 40) + "x"}, "/w/" + strings.Repeat("usr/", 9) + "u…sr" + strings.Repeat("/usr", 9) + "/x"},
	} {
		c.d.Kind, c.d.Target, c.d.Evidence = sandbox.KindWrite, "/etc/b", sandbox.EvidenceKernel
		g := newGate(OnRequest, confined())
		_, r, err := g.DecideHeld(command(c.command, Wish{Justification: "for something else"}), c.d, HeldAnswers{})
		if r == nil || r.Title != c.want+" wants to write /etc/b" || r.Justification != "" {
			t.Errorf("%s by %q: %+v %v", c.command, c.d.Who(), r, err)
		}
	}
}

// TestAfterFailureTheTitleNamesWhoWasRefused: the title names the programs that the kernel
// recorded, and not the first program of the command's text. It leaves out denials that made no
// difference.
func TestAfterFailureTheTitleNamesWhoWasRefused(t *testing.T) {
	by := func(file string, evidence sandbox.Evidence, moot bool) sandbox.Denial {
		return sandbox.Denial{Kind: sandbox.KindWrite, Target: "/home/u/.npm/x", Executable: file, Evidence: evidence, Moot: moot}
	}
	node, sh := by("/usr/bin/node", sandbox.EvidenceKernel, false), by("/bin/sh", sandbox.EvidenceKernel, false)
	for want, denials := range map[string][]sandbox.Denial{
		"/usr/bin/node was refused by the sandbox":             {by("/bin/true", sandbox.EvidenceKernel, true), node, node},
		"/usr/bin/node and 1 more were refused by the sandbox": {node, sh, node},
		"\"/w/git (recorded)\" was refused by the sandbox":     {by("/w/git (recorded)", sandbox.EvidenceKernel, false)},
		"npm install was refused by the sandbox":               {by("/usr/bin/node", sandbox.EvidenceOutput, false), by("", sandbox.EvidenceKernel, false)},
	} {
		v := sandbox.Verdict{Denied: true, Evidence: sandbox.EvidenceFull, Suggest: sandbox.Grant{Write: []string{"/home/u/.npm"}}, Denials: denials}
		if r := newGate(OnFailure, confined()).AfterDenial(command("npm install", Wish{}), v, nil); r == nil || r.Title != want {
			t.Errorf("%+v, want the title %q", r, want)
		}
	}
}

// TestHeldQuestionOfABackgroundCommand says how long a yes lasts: longer than the call that
// the person sees.
func TestHeldQuestionOfABackgroundCommand(t *testing.T) {
	for _, mode := range Modes() {
		for _, background := range []bool{false, true} {
			g := newGate(mode, confined())
			a := command("server", Wish{})
			a.Background = background
			_, r, err := g.DecideHeld(a, sandbox.Denial{Kind: sandbox.KindWrite, Target: "/etc/b"}, HeldAnswers{})
			if refusal, ok := AsRefusal(err); ok {
				r = refusal.Request
			}
			if r == nil {
				t.Fatalf("%s: %v", mode, err)
			}
			const warning = "it keeps this until it ends or codeagent ends; typing to it needs an answer each time"
			if slices.Contains(r.Warnings, warning) != background {
				t.Errorf("%s, background %v: warnings %q", mode, background, r.Warnings)
			}
		}
	}
}

// TestHeldWriteOfACache: the question is widened only to folders that a standard keeps free of
// settings and programs, not to anything else called a cache.
func TestHeldWriteOfACache(t *testing.T) {
	for target, want := range map[string]string{
		"/home/u/.cache/tool/0a/x":         "/home/u/.cache/tool",
		"/home/u/.cache/absent/x":          "/home/u/.cache/absent/x",
		"/home/u/.cache/runs/x":            "/home/u/.cache/runs/x",
		"/home/u/.cache/x":                 "/home/u/.cache/x",
		"/home/u/.ccache/ccache.conf":      "/home/u/.ccache/ccache.conf",
		"/home/u/.ccache/0/1/x":            "/home/u/.ccache/0/1/x",
		"/home/u/.pub-cache/bin/tool":      "/home/u/.pub-cache/bin/tool",
		"/home/u/.pub-cache/hosted/x":      "/home/u/.pub-cache/hosted/x",
		"/home/u/.npm/_npx/1/node_modules": "/home/u/.npm/_npx/1/node_modules",
	} {
		_, r, err := newGate(OnRequest, confined()).DecideHeld(command("make", Wish{}), sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: target}, HeldAnswers{})
		if r == nil || !slices.Equal(r.Grant.Write, []string{want}) {
			t.Errorf("%s: %+v %v, want %s", target, r, err, want)
		}
	}
}

// TestLoss: every policy except never asks about changes that undo cannot reverse, for one command.
// Only a yes lets them happen.
func TestLoss(t *testing.T) {
	d := sandbox.Denial{Kind: sandbox.KindLoss, Target: "/w/data/\x1bbig", Executable: "/usr/bin/rm", Why: "undo could not bring it back: over 64 MiB", Evidence: sandbox.EvidenceKernel}
	a := command("rm -rf data", Wish{Justification: "it is small"})
	for _, mode := range Modes() {
		g := newGate(mode, confined())
		ask := func() *Request {
			_, r, err := g.DecideHeld(a, d, HeldAnswers{})
			if (r == nil) != (mode == Never) || (err == nil) != (mode != Never) {
				t.Fatalf("%s: %+v, %v", mode, r, err)
			}
			return r
		}
		r := ask()
		if r == nil {
			continue
		}
		var keys []string
		for _, o := range r.Options {
			keys = append(keys, o.Key+" "+string(o.Decision))
		}
		if got := strings.Join(keys, ", "); got != "1 once, n , s stop" || !r.Held || r.Justification != "" || !r.Grant.Empty() {
			t.Errorf("%s: %s, %+v", mode, got, r)
		}
		if r.Title != "/usr/bin/rm wants to delete or replace what /undo cannot bring back" || r.Warnings[0] != "the first file: \"/w/data/\\x1bbig\"; undo could not bring it back: over 64 MiB" {
			t.Errorf("%q, %q", r.Title, r.Warnings)
		}
		for ans, yes := range map[Answer]bool{{Decision: Once}: true, {}: false, {Decision: Session}: false, {Decision: Outside}: false, {Decision: Stop}: false, {Decision: Unanswered}: false} {
			if grant, err := g.SettleHeld(ask(), ans); (err == nil) != yes || !grant.Empty() {
				t.Errorf("%s: %q: %v, %v", mode, ans.Decision, grant, err)
			}
		}
		r = ask()
		g.SetMode(Never)
		if _, err := g.SettleHeld(r, Answer{Decision: Once}); err == nil {
			t.Errorf("%s: a yes counts after the policy became never", mode)
		}
	}
}

// TestLossIsNotRetried: after a command, no question offers to run it again because of a loss.
func TestLossIsNotRetried(t *testing.T) {
	v := sandbox.Verdict{Denied: true, Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{{Kind: sandbox.KindLoss, Target: "/w/big", Evidence: sandbox.EvidenceKernel}}}
	g := newGate(OnFailure, confined())
	if r := g.AfterDenial(command("rm -rf data", Wish{}), v, nil); r != nil {
		t.Errorf("%+v", r)
	}
	if refusal := g.Unmet(command("rm -rf data", Wish{}), v); refusal == nil || refusal.Hint != "codeagent exec -c undo.unkept=allow …" {
		t.Errorf("%+v", refusal)
	}
}
