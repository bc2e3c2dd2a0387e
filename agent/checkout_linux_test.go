package agent_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/internal/scripted"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
)

// undecided gives one answer after the other, after what happens while it is asked.
type undecided struct {
	*answerer
	says  []approvals.Decision
	while func()
}

func (u *undecided) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	if u.while != nil {
		u.while()
	}
	u.say = approvals.Answer{Decision: u.says[min(len(u.asked), len(u.says)-1)]}
	return u.answerer.Ask(ctx, r)
}

// The commit of the branch unseen is known to no history: "1" of main's shell file is.
const unseenOwner = `export HOME=/nonexistent GIT_AUTHOR_NAME=o GIT_AUTHOR_EMAIL=o@o GIT_COMMITTER_NAME=o GIT_COMMITTER_EMAIL=o@o
git init -qb main .; git config user.name o; git config user.email o@o; printf 1 > {shell}; echo a > a; mkdir sub; echo s > sub/s; git add .; git commit -qm 1; git switch -qc unseen
mkdir -p {editor/}; printf 'a\r\n\n\342\200\256+ \\ No newline\n*** End Patch\n\tlast' > {editor}; printf evil > {shell}; echo b > a; git add .; git commit -qm 2
printf 'a\0b' > {shell}; git commit -qam 3; git branch binary; git reset -q --hard HEAD~1; chmod +x {shell}; git commit -qam 4; git branch executable; git switch -q main; git branch -f unseen executable~1`

type checkoutRow struct {
	name  string
	says  []approvals.Decision
	calls []string
	while string // a script of somebody else, while the question is open
	// want are the files with their contents afterwards, "" for an absent one; questions is how many were asked.
	want      map[string]string
	questions int
	failed    bool
	text      string // is in the result of the last call
}

const odd = "a\r\n\n\u202e+ \\ No newline\n*** End Patch\n\tlast"

var once, no = []approvals.Decision{approvals.Once}, []approvals.Decision{approvals.Deny}

var checkoutRows = []checkoutRow{
	{"a yes", once, []string{"git switch -q unseen", "git status --porcelain"}, "", map[string]string{"{shell}": "evil", "{editor}": odd, "a": "b\n"}, 1, false, "no output"},
	{"a no", no, []string{"git switch -q unseen"}, "", map[string]string{"{shell}": "", "{editor}": "", "a": "b\n"}, 1, true, "the user said no"},
	{"a no, and back", no, []string{"git switch -q unseen", "git switch -q main; git status --porcelain"}, "", map[string]string{"{shell}": "1", "{editor}": "", "a": "a\n"}, 1, false, "no output"},
	{"nobody", []approvals.Decision{approvals.Unattended}, []string{"git switch -q unseen"}, "", map[string]string{"{shell}": "", "{editor}": "", "a": "b\n"}, 1, true, "nobody could be asked"},
	{"there, back and there", once, []string{"git switch -q unseen", "git switch -q main; git status --porcelain", "git switch -q unseen; git status --porcelain"}, "", map[string]string{"{shell}": "evil", "{editor}": odd}, 1, false, "no output"},
	{"merge, stash and reset", once, []string{"git merge -q unseen", "git rm -q {shell}; git stash -q; git stash pop -q; git reset -q --hard; git status --porcelain"}, "", map[string]string{"{shell}": "evil", "{editor}": odd}, 1, false, "no output"},
	{"a clone", once, []string{"git clone -q -b unseen . sub/c", "git -C sub/c status --porcelain"}, "", map[string]string{"sub/c/{shell}": "evil", "{shell}": "1"}, 1, false, "no output"},
	{"a worktree and a failure beside", once, []string{"git worktree add -q sub/w unseen; false"}, "", map[string]string{"sub/w/{shell}": "evil", "{shell}": "1"}, 1, true, "codeagent wrote them"},
	{"no text", once, []string{"git switch -q binary"}, "", map[string]string{"{shell}": "", "{editor}": odd}, 1, true, "{shell}"},
	{"a mode", once, []string{"git switch -q executable"}, "", map[string]string{"{shell}": "evil"}, 1, false, "not executable"},

	{"what was allowed, at another path", []approvals.Decision{approvals.Once, approvals.Deny}, []string{"git switch -q unseen", ": > .git/index.lock; cp {shell} sub/{shell}"}, "", map[string]string{"{shell}": "evil", "sub/{shell}": ""}, 2, true, "{shell}"},
	{"what was allowed, and more", []approvals.Decision{approvals.Once, approvals.Deny}, []string{"git switch -q unseen", "printf 'evil more' > a; rm {shell}; : > .git/index.lock; cp a {shell}"}, "", map[string]string{"{shell}": ""}, 2, true, "{shell}"},
	{"another content while asked", once, []string{"git switch -q unseen"}, "b=$(git rev-parse unseen:{shell}); o=$(git rev-parse main:a); rm -f .git/objects/${b:0:2}/${b:2}; cp .git/objects/${o:0:2}/${o:2} .git/objects/${b:0:2}/${b:2}", map[string]string{"{shell}": "evil"}, 1, false, ""},
	{"a file while asked", once, []string{"git switch -q unseen"}, "printf owner > {shell}", map[string]string{"{shell}": "owner", "{editor}": ""}, 1, true, "could not be written"},
	{"a link while asked", once, []string{"git switch -q unseen"}, "rm -rf {editor/}; ln -s ../outside {editor/}", map[string]string{"../outside/{/editor}": "", "{shell}": ""}, 1, true, "became something else"},
}

// versions is a history in which the shell file was "1".
func versions(_, name string) (v sandbox.Versions) {
	if name == protecttest.In("{shell}") {
		v.Blobs = map[sandbox.Blob]bool{{ID: "56a6051ca2b02b04ef92d5150c9ef600403cb1de"}: true}
	}
	return v
}

// TestCheckout: one question shows all protected files of a checkout that no commit of the user's had, a yes writes
// exactly them, and without one the call has failed.
func TestCheckout(t *testing.T) {
	for _, row := range checkoutRows {
		t.Run(row.name, func(t *testing.T) {
			in := protecttest.In
			face := &undecided{says: row.says}
			f := newField(t, approvals.OnRequest, approvals.Answer{Decision: row.says[0]}, func(string) (out []scripted.Reply) {
				for i, c := range row.calls {
					out = append(out, scripted.Reply{Calls: []scripted.Call{{ID: fmt.Sprint(i), Name: "shell", Arguments: fmt.Sprintf(`{"command":%q}`, in(c))}}})
				}
				return append(out, scripted.Reply{Text: "Done."})
			}, func(c *agent.Config) {
				face.answerer = c.Frontend.(*answerer)
				c.Frontend = face
			})
			run := func(script string) {
				owner := exec.Command("/bin/bash", "-euc", in(script))
				owner.Dir = f.workspace
				if out, err := owner.CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
			}
			run(unseenOwner)
			if row.while != "" {
				face.while = func() { run(row.while); face.while = nil }
			}
			if err := f.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			last := f.History()[len(f.History())-2]
			if last.Failed != row.failed || !strings.Contains(last.Text, in(row.text)) {
				t.Errorf("failed %v: %s", last.Failed, last.Text)
			}
			for _, q := range face.asked {
				if q.Justification != "" || len(q.Facts) != 1 {
					t.Errorf("the model says %q, codeagent %q", q.Justification, q.Facts)
				}
			}
			if len(face.asked) != row.questions {
				t.Errorf("asked %d times: %+v", len(face.asked), face.asked)
			}
			for _, name := range slices.Sorted(maps.Keys(row.want)) {
				text, err := os.ReadFile(filepath.Join(f.workspace, in(name)))
				if string(text) != row.want[name] || os.IsNotExist(err) != (row.want[name] == "") {
					t.Errorf("%s holds %q (%v), want %q", in(name), text, err, row.want[name])
				}
			}
		})
	}
}

// TestEditOfSettings: an allowed edit of git's settings that would name a program says why it was refused.
func TestEditOfSettings(t *testing.T) {
	for line, why := range map[string]string{
		"[core]\n+\tfsmonitor = evil": "core.fsmonitor", "[alias]\n+\tx = !evil": "alias.x", "[filter \"x\"]\n+\tclean = evil": "filter.x.clean", "[core]\n+\thooksPath = evil": "core.hookspath",
	} {
		f := newField(t, approvals.OnRequest, approvals.Answer{Decision: approvals.Once}, func(outside string) []scripted.Reply {
			text := fmt.Sprintf("*** Begin Patch\n*** Update File: %s/work/.git/config\n@@\n [x]\n+%s\n*** End Patch\n", filepath.Dir(outside), line)
			owner := exec.Command("/bin/bash", "-euc", "git init -q .; echo '[x]' > .git/config")
			owner.Dir = filepath.Join(filepath.Dir(outside), "work")
			if out, err := owner.CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			return []scripted.Reply{{Calls: []scripted.Call{{ID: "a", Name: "apply_patch", Arguments: fmt.Sprintf(`{"patch":%q,"justification":"needed"}`, text)}}}, {Text: "Done."}}
		})
		if err := f.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		if got := f.results()["a"]; !strings.Contains(strings.ToLower(got), why) || strings.Contains(got, "Done:") {
			t.Errorf("%q: %s", line, got)
		}
	}
}
