package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/servers"
	"codeagent/config/server"
	"codeagent/event"
	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/mcp/inquiry"
	"codeagent/model"
	"codeagent/sandbox/protect/protecttest"
)

// Questions beside a hostile job. The job changes what it can while each question is open, or between the
// yes and the start; the person says yes to the first question of a call, and no to what is asked again.
// Whatever happens, the other folder stays as it is and unread, no edit is applied to what was not shown,
// and nothing runs outside or as a server that was not there when the question was shown.

// mostQuestions is how many there are as root and as a user, and questionSeed chooses them. In each other
// setting there are fewQuestions.
const mostQuestions, fewQuestions, questionSeed = 200, 60, 20261128

// TestQuestionsBesideAJob asks them in every setting.
func TestQuestionsBesideAJob(t *testing.T) { inSettings(t, "^TestQuestionsInSetting$") }

// The folder top/sub is what the calls are about: a script, what it reads, notes, and a protected file. other
// belongs to the person alone. Words of protecttest stand for protected names.
const (
	questionStage = `rm -rf top evil old other e x; mkdir -p top/sub other
printf '#!/bin/sh\necho fine >> "$HOME/ran"\n. ./settings\n' > top/sub/deploy.sh; chmod +x top/sub/deploy.sh
echo : > top/sub/settings; echo theirs > top/sub/note; echo mine | tee other/{shell} > other/note; : > "$HOME/ran"`
	evilLine = `printf ':\necho owned >> "$HOME/ran"\n'`
	exchange = `python3 -c 'import ctypes, sys; a, b = (x.encode() for x in sys.argv[1:]); ctypes.CDLL(None).renameat2(-100, a, -100, b, 2)' `
)

// jobChanges are what the job does, and whether a script that is run after it is not what was shown, or
// where a write to top/sub/{shell} goes to other/{shell}.
var jobChanges = []struct {
	name, script       string
	script2, leadsAway bool
}{
	{"the script rewritten", `printf '#!/bin/sh\n` + `echo owned >> "$HOME/ran"\n' > top/sub/deploy.sh`, true, false},
	{"the script replaced", `printf '#!/bin/sh\necho owned >> "$HOME/ran"\n' > x && chmod +x x && mv x top/sub/deploy.sh`, true, false},
	{"what it reads rewritten", evilLine + ` > top/sub/settings`, true, false},
	{"what it reads replaced", evilLine + ` > e && mv e top/sub/settings`, true, false},
	{"what it reads exchanged", evilLine + ` > e && ` + exchange + `e top/sub/settings`, true, false},
	{"a link to what it reads", evilLine + ` > e && rm top/sub/settings && ln -s ../../e top/sub/settings`, true, false},
	{"a hard link to what it reads", evilLine + ` > e && rm top/sub/settings && ln e top/sub/settings`, true, false},
	{"written through a hard link", `ln top/sub/settings e && ` + evilLine + ` > e`, true, false},
	{"written through a descriptor of before", evilLine + ` >&9`, true, false},
	{"the folder replaced by a link", `mv top/sub old && ln -s ../other top/sub`, false, true},
	{"the folder moved away, another in its place", `cp -r top/sub evil; ` + evilLine + ` > evil/settings && mv top/sub old && mv evil top/sub`, true, false},
	{"the folder replaced by a link to a copy", `cp -r top/sub evil; ` + evilLine + ` > evil/settings && mv top/sub old && ln -s ../evil top/sub`, true, false},
	{"the folder above exchanged", `cp -r top evil; ` + evilLine + ` > evil/sub/settings && ` + exchange + `evil top`, true, false},
	{"the folder above replaced, a link in it", `mv top old && mkdir top && ln -s ../other top/sub`, false, true},
	{"the named path replaced by a link", `rm -f top/sub/{shell}; ln -s ../../other/{shell} top/sub/{shell}`, false, true},
	{"the named path replaced by a hard link", `rm -f top/sub/{shell}; ln other/{shell} top/sub/{shell}`, false, true},
}

// questionModel makes the call that is next, and keeps what it reads about it.
type questionModel struct {
	mu   sync.Mutex
	call model.ToolCall
	text string
}

func (m *questionModel) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if last := r.Items[len(r.Items)-1]; last.Kind == model.Result {
			m.text = last.Text
			_ = yield(model.TextDelta{Text: "done"}, nil) && yield(model.Finished{Reason: model.StopEnd}, nil)
			return
		}
		m.mu.Lock()
		call := m.call
		m.mu.Unlock()
		_ = yield(model.CallDone{Call: call}, nil) && yield(model.Finished{Reason: model.StopCalls}, nil)
	}
}

// questionPerson says yes to the first question of a call and no to what is asked again. The job makes its
// change while the first question is open, or late, between the yes and the start.
type questionPerson struct {
	change func()
	late   bool
	choose func(options []approvals.Option) approvals.Decision
	asked  int
	yes    approvals.Decision
	shown  string // the warnings of the last question
	again  string // those where it was asked again
}

func (p *questionPerson) Ask(_ context.Context, r approvals.Request) (approvals.Answer, error) {
	p.shown = strings.Join(r.Warnings, "; ")
	if p.asked++; p.asked > 1 {
		p.again = p.shown
		return approvals.Answer{}, nil
	}
	if !p.late {
		p.change()
	}
	p.yes = p.choose(r.Options)
	return approvals.Answer{Decision: p.yes}, nil
}

func (p *questionPerson) Emit(e event.Event) {
	if _, answered := e.(event.PermissionAnswered); answered && p.late && p.asked == 1 {
		p.change()
	}
}

func (*questionPerson) Steer() (agent.Input, bool) { return agent.Input{}, false }

func (*questionPerson) Inquire(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return inquiry.Reply{Action: inquiry.Declined}, nil
}

// TestQuestionsInStage is the body of TestQuestionsBesideAJob, in a process of its user.
func TestQuestionsInSetting(t *testing.T) {
	setting, stage := attack.CurrentSetting(t, "TestQuestionsBesideAJob"), os.Getenv(attack.EnvStage)
	work, home, ran := stage+"/work", stage+"/home", stage+"/home/ran"
	for _, dir := range []string{work, home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "USER=u", "TERM=dumb", "CODEAGENT_HOME=" + stage + "/own", "OPENAI_BASE_URL=http://127.0.0.1:1/v1"}
	bare := func(script string) string {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", protecttest.In(script))
		cmd.Dir, cmd.Env = work, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v %s", script, err, out)
		}
		return string(out)
	}
	read := func(name string) string {
		data, _ := os.ReadFile(protecttest.In(name))
		return string(data)
	}
	// Each change does harm where nothing compares.
	for _, c := range jobChanges {
		bare(questionStage + "; exec 9>>top/sub/settings; " + c.script + "; cd top/sub; ./deploy.sh || true; echo hers > {shell}")
		if owned, away := strings.Contains(read(ran), "owned"), read(work+"/other/{shell}") != "mine\n"; owned != c.script2 || away != c.leadsAway {
			t.Fatalf("%s, without codeagent: owned %v, away %v", c.name, owned, away)
		}
	}
	t.Setenv("HOME", home)
	devnull, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer devnull.Close()
	bare(questionStage)
	stdio := cli.Stdio{In: devnull, Out: devnull, Err: devnull, Environ: env, Text: &cli.Output{W: devnull}}
	placed := questionServer(t, work)
	placed()
	set, problem := server.Settings{Command: "/bin/sh", Args: []string{"srv/sub/deploy.sh"}, Env: map[string]string{"KEY": "k"}, Origin: server.OfEditor}.Complete("")
	if problem != "" {
		t.Fatal(problem)
	}
	base, err := Open(t.Context(), stdio, cli.Flags{Folder: work, Model: "test"},
		Options{Audience: Audience{Attended: true}, Beginning: Beginning{HasPrompt: true, Ephemeral: true}, Scope: Scope{Servers: map[string]server.Settings{"srv": set}}})
	if err != nil {
		t.Skipf("no session here: %v", err)
	}
	defer base.Close()
	if why := base.Workspace.NotHeld(); why != "" {
		t.Skipf("calls cannot be held here: %s", why)
	}
	play := &questionModel{}
	random := rand.New(rand.NewPCG(questionSeed, uint64(os.Getuid())))
	person := &questionPerson{choose: func(options []approvals.Option) approvals.Decision {
		var yes []approvals.Decision
		for _, o := range options {
			if o.Decision.Yes() && o.Decision != approvals.Always {
				yes = append(yes, o.Decision)
			}
		}
		return yes[random.IntN(len(yes))]
	}}
	base.chosen.Model = play
	ses := Join(base, person)
	ses.Begin()
	turn := func(name string, arguments map[string]any) {
		data, _ := json.Marshal(arguments)
		play.mu.Lock()
		play.call = model.ToolCall{ID: fmt.Sprintf("call-%d", random.Uint64()), Name: name, Arguments: protecttest.In(string(data))}
		play.mu.Unlock()
		if err := ses.Turn(t.Context(), agent.Input{Text: "next"}); err != nil {
			t.Fatal(err)
		}
	}
	// The job waits for orders in a file, and keeps the settings open.
	order, did := work+"/order", work+"/did"
	await := func(is func() bool) {
		for !is() {
			time.Sleep(time.Millisecond) // ends with the test
		}
	}
	tell := func(script string) {
		if err := os.WriteFile(order+".new", []byte(script+"\n: > did\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(order+".new", order); err != nil {
			t.Fatal(err)
		}
		await(func() bool { _, err := os.Lstat(did); return err == nil })
		if err := os.Remove(did); err != nil {
			t.Fatal(err)
		}
	}
	turn("shell", map[string]any{"background": true, "wait_for": "ready", "command": "echo ready; while :; do if [ -e order ]; then mv order now; . ./now; fi; sleep 0.005; done"})

	justified := func(a map[string]any, what string) map[string]any {
		a["justification"] = "the command " + what + " needs this to do its work"
		return a
	}
	kinds := map[string]func(sub string) (string, map[string]any){
		"path": func(sub string) (string, map[string]any) {
			return "shell", justified(map[string]any{"command": "echo hers > " + sub + "/{shell}", "sandbox_permissions": "with_additional_permissions",
				"additional_permissions": map[string]any{"write": []string{work + "/" + sub + "/{shell}"}}}, "echo hers > "+sub+"/{shell}")
		},
		"folder": func(sub string) (string, map[string]any) {
			return "shell", justified(map[string]any{"command": "cd " + sub + " && mkdir -p {editor/} && echo {} > {editor}; echo hers > {shell}", "sandbox_permissions": "with_additional_permissions",
				"additional_permissions": map[string]any{"write": []string{work + "/" + sub + "/{editor/}"}}}, "mkdir -p {editor/} in "+sub)
		},
		"outside": func(sub string) (string, map[string]any) {
			return "shell", justified(map[string]any{"command": "./deploy.sh", "workdir": sub, "sandbox_permissions": "require_escalated"}, "./deploy.sh")
		},
		"edit": func(sub string) (string, map[string]any) {
			return "apply_patch", map[string]any{"patch": "*** Begin Patch\n*** Add File: " + sub + "/{shell}\n+hers\n*** End Patch\n"}
		},
		"edit under untrusted": func(sub string) (string, map[string]any) {
			return "apply_patch", map[string]any{"patch": "*** Begin Patch\n*** Update File: " + sub + "/settings\n@@\n :\n+# hers\n*** End Patch\n"}
		},
		"server call": func(sub string) (string, map[string]any) {
			return "srv__deploy", map[string]any{"file": sub + "/note"}
		},
	}
	kinds["server described"] = kinds["server call"]
	kinds["server start"] = kinds["server call"]
	names := []string{"path", "folder", "outside", "edit", "edit under untrusted", "server call", "server described", "server start"}
	ranServer := func() string {
		list, _ := filepath.Glob(stage + "/own/*/srv.editor/*/ran")
		return strings.Join(list, "") + read(strings.Join(list, ""))
	}
	sample := machine.Sample(t, 10)
	counts, applied, late := map[string]int{}, map[string]int{}, map[string]int{}
	most := mostQuestions
	if setting.Surroundings != attack.SurroundPlain {
		most = fewQuestions
	}
	for i := range most {
		kind, change := names[random.IntN(len(names))], jobChanges[random.IntN(len(jobChanges))]
		if !sample.Has(i) {
			continue
		}
		// Each question is about folders of its own, so that no answer for the session is in the way.
		top, other := fmt.Sprintf("top%d", i), fmt.Sprintf("other%d", i)
		written, called := "{shell}", strings.HasPrefix(kind, "server")
		if called { // a server has no need of a protected file
			written = "note"
		}
		bare(strings.NewReplacer("top", top, "other", other).Replace(questionStage))
		if kind == "server start" {
			top = "srv"
		}
		named := strings.NewReplacer("top", top, "other", other, "{shell}", written).Replace
		sub := top + "/sub"
		person.late = random.IntN(2) == 0
		what := fmt.Sprintf("question %d (seed %d): %s, %s, late %v", i, questionSeed, kind, change.name, person.late)
		if called {
			placed()
			if err := ses.Servers.Restart(t.Context(), "srv"); err != nil {
				t.Fatal(err)
			}
		}
		tell(named("exec 9>>top/sub/settings 8<>srv/sub/orders"))
		person.asked, person.yes, person.again, person.change = 0, "", "", func() {
			tell(named(change.script))
			if kind == "server start" {
				tell("echo end >&8")
				await(func() bool { return ses.Servers.Status()[0].State != servers.Running })
			}
			if kind == "server described" {
				tell("echo other >&8")
				await(func() bool { return ses.Servers.Status()[0].Tools[0].Description != "deploys" })
			}
		}
		if kind == "edit under untrusted" {
			ses.Gate.SetMode(approvals.Untrusted)
		}
		tool, arguments := kinds[kind](sub)
		turn(tool, arguments)
		ses.Gate.SetMode(approvals.OnRequest)
		for _, e := range ses.Gate.Ledger().List() {
			ses.Gate.Ledger().Revoke(e.ID)
		}
		if person.asked == 0 {
			t.Errorf("%s: nobody was asked", what)
		}
		counts[kind]++
		if strings.Contains(read(work+"/"+sub+"/{shell}"), "hers") || strings.Contains(read(ran), "fine") || strings.Contains(play.text, "theirs") || strings.Contains(read(work+"/"+sub+"/settings"), "hers") ||
			read(work+"/"+sub+"/{editor}") != "" {
			applied[kind]++
		}
		when := " while the question was open"
		if person.late {
			when = " after the answer"
		}
		if kind == "outside" && !strings.HasPrefix(change.name, "the folder") && !strings.Contains(person.again, when) {
			t.Errorf("%s: asked %d times, %q", what, person.asked, person.again)
		}
		if strings.Contains(person.again, " after the answer") {
			late[kind]++
		}
		if settings := read(work + "/" + sub + "/settings"); strings.Contains(read(ran), "owned") || kind != "server start" && strings.Contains(settings, "owned") && strings.Contains(settings, "hers") || called && strings.Contains(ranServer(), "owned") ||
			kind == "server described" && strings.Contains(play.text, "theirs") {
			t.Errorf("%s: the yes %q ran what was not shown", what, person.yes)
		}
		if got := read(work+"/"+other+"/{shell}") + read(work+"/"+other+"/note"); got != "mine\nmine\n" || called && strings.Contains(play.text, "mine") {
			t.Errorf("%s: the yes %q reached another file: %q", what, person.yes, got)
		}
	}
	// A server that ended is started by a yes to a question that says what changed.
	placed()
	if err := ses.Servers.Restart(t.Context(), "srv"); err != nil {
		t.Fatal(err)
	}
	tell("exec 8<>srv/sub/orders; echo new > srv/sub/note; echo end >&8")
	await(func() bool { return ses.Servers.Status()[0].State != servers.Running })
	for _, asked := range []int{1, 0} {
		person.asked, person.change = 0, func() {}
		person.choose = func([]approvals.Option) approvals.Decision { return approvals.Session }
		turn("srv__deploy", map[string]any{"file": "srv/sub/note"})
		if named := strings.Contains(person.shown, "this session changed what it loads or reads: "); person.asked != asked || !strings.Contains(play.text, "new") || !named || !strings.Contains(person.shown, "srv/sub/note (by job 1") {
			t.Errorf("asked %d times, %q, %q", person.asked, person.shown, play.text)
		}
	}
	testSessionYes(t, sessionYes{turn: turn, person: person, bare: bare, ran: func() string { return read(ran) }})
	t.Logf("seed %d, questions by kind: %v; a yes was enough: %v; asked again after the answer: %v", questionSeed, counts, applied, late)
	for _, kind := range names { // every change is about the script or its folder
		bound := kind == "outside" || kind == "server described" || kind == "server start"
		if bound && applied[kind] > 0 || !bound && sample.All() && applied[kind] == 0 {
			t.Errorf("%s: a yes was enough for %d", kind, applied[kind])
		}
	}
}

// sessionYes is what the rows of a yes for the session need of the stage.
type sessionYes struct {
	turn   func(tool string, arguments map[string]any)
	person *questionPerson
	bare   func(script string) string
	ran    func() string
}

// yesRows: a script is run outside by a yes for the session; then the session makes a change and asks for
// the same again. folder is where the script is, in the workspace. A row without a change is the control.
var yesRows = []struct{ name, folder, change string }{
	{"nothing changed", "plain", ""},
	{"in an agent's folder, what it reads above", "{agent2}/tools", evilLine + ` > settings`},
	{"in git's hooks, what it reads above", ".git/hooks", evilLine + ` > settings`},
	{"a file beside it that nothing named", "plain2", evilLine + ` > settings; echo x > beside`},
	{"made, removed and made anew", "plain3", `mv settings s2; ` + evilLine + ` > settings`},
	{"by a link", "plain4", evilLine + ` > s3; rm settings; ln -s s3 settings`},
	{"by a job that ended", "plain5", `(sleep 0.01; ` + evilLine + ` > settings) & wait`},
	{"what it finds in the folder for temporary files", "plain6", evilLine + ` > "$TMPDIR/tool"`},
	{"what it finds in a cache of the session", "plain7", `mkdir -p "${GOCACHE:-$TMPDIR}"; ` + evilLine + ` > "${GOCACHE:-$TMPDIR}/tool"`},
}

// testSessionYes plays them. The job of the questions is ended first: beside it no yes lasts.
func testSessionYes(t *testing.T, s sessionYes) {
	t.Helper()
	var offered []string
	s.person.choose = func(options []approvals.Option) approvals.Decision {
		for _, o := range options {
			offered = append(offered, string(o.Decision))
		}
		return approvals.Outside
	}
	call := func(folder string) map[string]any {
		return map[string]any{"command": "sh ./deploy.sh", "workdir": folder, "sandbox_permissions": "require_escalated", "justification": "sh ./deploy.sh deploys, which only works outside"}
	}
	stage := func(folder string) {
		s.bare(`mkdir -p ` + folder + `; printf 'echo fine >> "$HOME/ran"\n. "$HOME/../work/settings"\n. "${TMPDIR:-/nowhere}/tool" 2>/dev/null; . "${GOCACHE:-/nowhere}/tool" 2>/dev/null; true\n' > ` + folder + `/deploy.sh; rm -f settings; echo : > settings; : > "$HOME/ran"`)
	}
	stage("beside")
	s.person.asked, s.person.change = 0, func() {}
	if s.turn("shell", call("beside")); slices.Contains(offered, string(approvals.OutsideSession)) {
		t.Errorf("a yes for the session is offered beside a job that waits: %q", offered)
	}
	s.turn("background", map[string]any{"action": "kill", "session_id": 1})
	s.person.choose = func([]approvals.Option) approvals.Decision { return approvals.OutsideSession }
	for _, row := range yesRows {
		stage(row.folder)
		s.person.asked = 0
		if s.turn("shell", call(row.folder)); s.person.asked != 1 || s.ran() != "fine\n" {
			t.Errorf("%s: %d questions, ran %q", row.name, s.person.asked, s.ran())
			continue
		}
		if row.change != "" {
			s.turn("shell", map[string]any{"command": row.change})
		}
		s.person.asked = 1 // so that what is asked now gets a no
		s.turn("shell", call(row.folder))
		switch asked := s.person.asked > 1; {
		case strings.Contains(s.ran(), "owned"):
			t.Errorf("%s: the yes ran what was not shown", row.name)
		case asked != (row.change != ""):
			t.Errorf("%s: asked again %v, ran %q", row.name, asked, s.ran())
		}
	}
}
