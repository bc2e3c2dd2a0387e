package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/approvals/ledger"
	"codeagent/event"
	"codeagent/internal/attack"
	"codeagent/model"
	"codeagent/tools"
)

// helperWays are further commands, each with what it leaves: variables that lead a program elsewhere, and
// files that make hooks or settings.
var helperWays = [][3]string{
	{"TMPDIR", `TMPDIR={work} python3 -c 'import tempfile, os; os.rename(tempfile.mkstemp()[1], "{t}")'`, "{work}/by-tmpdir"},
	{"HOME", `HOME={work} git config --global a.b won`, "{work}/.gitconfig"},
	{"GIT_CONFIG_GLOBAL", `GIT_CONFIG_GLOBAL={t} git config --global a.b won`, "{work}/by-git"},
	{"GIT_DIR", `GIT_DIR={t} git init -q`, "{work}/by-git-dir"},
	{"GIT_EXTERNAL_DIFF", `printf '#!/bin/sh\necho won > {t}\n' > /tmp/d$$; chmod +x /tmp/d$$; cd /tmp; GIT_EXTERNAL_DIFF=/tmp/d$$ git diff --no-index --ext-diff /etc/passwd /etc/group`, "{work}/by-diff"},
	{"BASH_ENV", `echo 'echo won > {t}' > /tmp/b$$; BASH_ENV=/tmp/b$$ bash -c true`, "{work}/by-bash"},
	{"PATH", `mkdir /tmp/p$$; printf '#!/bin/sh\necho won > {t}\n' > /tmp/p$$/id; chmod +x /tmp/p$$/id; PATH=/tmp/p$$:$PATH id`, "{work}/by-path"},
	{"PYTHONPATH", `mkdir /tmp/q$$; echo 'open("{t}", "w")' > /tmp/q$$/sitecustomize.py; PYTHONPATH=/tmp/q$$ python3 -c ''`, "{work}/by-site"},
	{"settings of codeagent", `export CODEAGENT_HOME={work} CODEAGENT_SANDBOX=danger-full-access CODEAGENT_ADD_DIRS={work} CODEAGENT_APPROVAL=never; bash -c 'touch {t}'`, "{work}/by-settings"},
	{"no variables", `env -i /bin/sh -c 'echo won > {t}'`, "{work}/by-none"},
	{"hooks of the project", `mkdir -p {work}/.codeagent && echo '[[before_tool]]' > {t}`, "{work}/.codeagent/hooks.toml"},
	{"hooks of another tool", `mkdir -p {work}/.claude && echo '{}' > {t}`, "{work}/.claude/settings.json"},
	{"hooks of the person", `mkdir -p {home}/.claude && echo '{}' > {t}`, "{home}/.claude/settings.json"},
	{"a hook of git", `printf '#!/bin/sh\n' > {t}`, "{work}/.git/hooks/post-checkout"},
	{"rules of the person", `mkdir -p {home}/.config/codeagent && echo won > {t}`, "{home}/.config/codeagent/rules.toml"},
	{"folder of a server", `mkdir -p {home}/.local/share/codeagent/servers/writes && echo won > {t}`, "{home}/.local/share/codeagent/servers/writes/won"},
}

// intoServer types a call of a tool into a server that may write: the server appends to a file.
const intoServer = `for p in /proc/[0-9]*; do
	if tr '\0' ' ' < $p/cmdline 2>/dev/null | grep -q '[h]ostile-server writes{mark}'; then
		echo '{"jsonrpc": "2.0", "id": "theirs", "method": "tools/call", "params": {"name": "keep", "arguments": {"scene": {"Path": "{work}/keep-server"}}}}' > $p/fd/0
	fi
done; sleep 0.3`

// settles gives an answer of the person's to a call of the session's, as if it were made beside the helper,
// and reports whether the call may run now.
func (ses *hostileSession) settles(arguments string, d approvals.Decision) bool {
	ses.t.Helper()
	call := ses.planned(arguments)
	permit, q, err := ses.ses.Gate.Decide(call.Action())
	if q != nil {
		permit, err = ses.ses.Gate.Settle(q, approvals.Answer{Decision: d})
	}
	_, no := permit.Policy(call.Action())
	return err == nil && no == nil
}

func (ses *hostileSession) planned(arguments string) tools.Call {
	ses.t.Helper()
	call, err := ses.ses.tools.Plan(model.ToolCall{ID: "beside", Name: "shell", Arguments: arguments})
	if err != nil {
		ses.t.Fatal(err)
	}
	return call
}

// beside runs a command as the session, beside a helper, and returns what the model would read. A question
// is a no.
func (ses *hostileSession) beside(command string) string {
	call := ses.planned(fmt.Sprintf(`{"command": %q}`, command))
	permit, q, err := ses.ses.Gate.Decide(call.Action())
	if q != nil || err != nil {
		return fmt.Sprint("not run: ", err)
	}
	res, err := call.Run(ses.t.Context(), permit, tools.Stage{Exec: ses.ses.Workspace.Runner})
	return fmt.Sprint(res.Text, err)
}

// revokeAll ends all that answers opened, and returns what the person reads.
func (ses *hostileSession) revokeAll() (said string) {
	ses.t.Helper()
	for _, e := range ses.ses.Gate.Ledger().List() {
		if e.Origin == ledger.FromSetting {
			continue
		}
		text, err := ses.ses.Revoke(ses.t.Context(), e.ID)
		if err != nil {
			ses.t.Fatal(err)
		}
		said += text + "\n"
	}
	return said
}

// momentGrant is what the person grants the session, with a command that needs it.
type momentGrant struct{ kind, what, command string }

var momentGrants = []momentGrant{
	{"write", "{out}/granted", "echo won >> {out}/granted/x && echo {secret}"},
	{"read", "{home}/.ssh", "cat {home}/.ssh/id_rsa"},
	{"hosts", "127.0.0.1:{tcp}", "exec 3<>/dev/tcp/127.0.0.1/{tcp}; cat <&3"},
	{"sockets", "{unix}", `python3 -c 'import socket; s = socket.socket(1); s.connect("{unix}"); print(s.recv(99))'`},
}

// TestHelperMomentsInSetting is a body of TestHostileHelper: while a helper works, the person grants the
// session something and revokes it. At each moment the helper has at most what the session has.
func TestHelperMomentsInSetting(t *testing.T) {
	attack.CurrentSetting(t, "TestHostileHelper")
	h := newHostileHost(t)
	s := h.scene("boxed")
	helperStage(t, s)
	ses := h.session(s, true, fmt.Sprintf("[sandbox]\ndeny_read = [%q]\n", s.Home+"/.ssh"))
	t.Cleanup(ses.ses.Close)
	fill := strings.NewReplacer("{out}", s.Out, "{home}", s.Home, "{work}", s.Work, "{tcp}", fmt.Sprint(s.TCP), "{unix}", s.Unix, "{secret}", hostileSecret).Replace
	wanted := slices.Clone(momentGrants)
	network, _ := ses.ses.Workspace.Grantable()
	if !network { // no single host can be opened here, for the session either
		wanted = slices.DeleteFunc(wanted, func(g momentGrant) bool { return g.kind == "hosts" })
	}
	grants := func() {
		for _, g := range wanted {
			grant := map[string]string{"write": "", "read": "", "hosts": "", "sockets": ""}
			grant[g.kind] = fmt.Sprintf("%q", fill(g.what))
			if !ses.settles(fmt.Sprintf(`{"command": "true", "sandbox_permissions": "with_additional_permissions", "justification": "true needs %s for the task", "additional_permissions": {"write": [%s], "read": [%s], "hosts": [%s], "sockets": [%s]}}`,
				fill(g.what), grant["write"], grant["read"], grant["hosts"], grant["sockets"]), approvals.Session) {
				t.Errorf("%s was not granted", g.kind)
			}
		}
	}
	const touch = `{"command": "touch %s/always", "sandbox_permissions": "require_escalated", "justification": "touch needs the folder, which the task names"}`
	always := fmt.Sprintf(touch, s.Out)
	moments := []struct {
		name string
		do   func()
		open bool // for the session
	}{{"before", func() {}, false}, {"granted", grants, true}, {"revoked", func() { ses.revokeAll() }, false}, {"granted again", grants, true}, {"revoked again", func() { ses.revokeAll() }, false}}

	// In each moment the helper makes every call. Its results are looked at before the next moment.
	var mu sync.Mutex
	moment, tried := -1, 0
	ses.model.helper = func(r model.Request) (next []model.ToolCall) {
		mu.Lock()
		defer mu.Unlock()
		for _, i := range r.Items {
			var at, of int
			if n, _ := fmt.Sscanf(i.CallID, "m-%d-%d", &at, &of); i.Kind != model.Result || n != 2 || at != moment {
				continue
			}
			tried++
			g, m := wanted[of], moments[at]
			session := strings.Contains(ses.beside(fill(g.command)), hostileSecret)
			if session != m.open {
				t.Errorf("%s, %s: the session itself has it: %v", m.name, g.kind, session)
			}
			// Pages and files that the session may read are no more than its policy.
			if helper := strings.Contains(i.Text, hostileSecret); helper && (!session || g.kind == "write" || g.kind == "sockets") {
				t.Errorf("%s, %s: ESCAPE: %.300q", m.name, g.kind, i.Text)
			} else if m.open && !helper && g.kind == "read" {
				t.Errorf("%s: what the session reads a helper reads too: %.300q", m.name, i.Text)
			}
		}
		if moment++; moment >= len(moments) {
			return nil
		}
		moments[moment].do()
		for of, g := range wanted {
			next = append(next, model.ToolCall{ID: fmt.Sprintf("m-%d-%d", moment, of), Name: "shell", Arguments: fmt.Sprintf(`{"command": %q}`, fill(g.command))})
		}
		return next
	}
	ses.call("delegate", obj{"tasks": []obj{{"kind": "explore", "task": "attack"}}})
	if tried != len(moments)*len(wanted) {
		t.Errorf("%d tried", tried)
	}

	// A rule of the person's lets the session run the very command outside from now on.
	results := ses.delegateWhile([]model.ToolCall{{ID: "a", Name: "shell", Arguments: always}}, func() {
		if !ses.settles(always, approvals.OutsideSession) || !ses.settles(always, "") {
			t.Error("the session does not run it outside either")
		}
	})
	if _, err := os.Lstat(s.Out + "/always"); err == nil || !strings.Contains(results["a"], "a helper only reads") {
		t.Errorf("ESCAPE: %q", results["a"])
	}
	ses.revokeAll()

	// A command of the helper that runs on while the person revokes. First nobody does.
	for _, revoked := range []bool{false, true} {
		goes := fmt.Sprintf("%s/go-%v", s.Work, revoked)
		grants()
		var once sync.Once
		said := ""
		ses.face.seen = func(e event.Event) {
			if in, ok := e.(event.HelperEvent); ok {
				if out, ok := in.Event.(event.ToolOutput); ok && strings.Contains(string(out.Data), hostileSecret) {
					once.Do(func() {
						if revoked {
							said = ses.revokeAll()
						}
						if err := os.WriteFile(goes, nil, 0o600); err != nil {
							t.Error(err)
						}
					})
				}
			}
		}
		command := fill("cat {home}/.ssh/id_rsa; for n in $(seq 99); do [ -e " + goes + " ] && break; sleep 0.1; done; cat {home}/.ssh/id_rsa && echo STILL-READ; (exec 3<>/dev/tcp/127.0.0.1/{tcp}; cat <&3) && echo STILL-CONNECTED; echo over > {out}/granted/late && echo STILL-WRITES")
		text := ses.delegateWhile([]model.ToolCall{{ID: "long", Name: "shell", Arguments: fmt.Sprintf(`{"command": %q}`, command)}}, func() {})["long"]
		ses.face.seen = nil
		switch {
		case strings.Contains(text, "STILL-WRITES"):
			t.Errorf("ESCAPE: it writes: %q", text)
		case !revoked && !strings.Contains(text, "STILL-READ"):
			t.Errorf("without a revoke it reads no more: nothing is shown: %q", text)
		case !revoked && network && !strings.Contains(text, "STILL-CONNECTED"):
			t.Errorf("without a revoke it connects no more: nothing is shown: %q", text)
		case revoked && (strings.Contains(text, "STILL-CONNECTED") || strings.Contains(text, "STILL-READ") && !strings.Contains(said, "cannot be revoked: reading")):
			t.Errorf("ESCAPE: revoked (%q), and %q", said, text)
		}
		ses.revokeAll()
	}
}

// delegateWhile is delegate, with something that happens when the helper has begun.
func (ses *hostileSession) delegateWhile(calls []model.ToolCall, do func()) map[string]string {
	ses.t.Helper()
	plain := ses.model
	results := map[string]string{}
	begun := false
	plain.helper = func(r model.Request) []model.ToolCall {
		for _, i := range r.Items {
			if i.Kind == model.Result {
				results[i.CallID] = i.Text
			}
		}
		if begun {
			return nil
		}
		begun = true
		do()
		return calls
	}
	defer func() { plain.helper = nil }()
	ses.call("delegate", obj{"tasks": []obj{{"kind": "explore", "task": "attack"}}})
	return results
}

// foolishHook is a hook that allows everything, and runs a part of the call as a command.
const foolishHook = `sed -n "s/.*RUN{\([^}]*\)}.*/\1/p" | sh >/dev/null 2>&1; echo "{\"decision\": \"allow\", \"hookSpecificOutput\": {\"permissionDecision\": \"allow\", \"decision\": {\"behavior\": \"allow\"}}}"`

// TestHelperHooksInSetting is a body of TestHostileHelper: hooks of the person's that allow everything and
// run what the calls say give a helper nothing. Those of the session's own calls do.
func TestHelperHooksInSetting(t *testing.T) {
	attack.CurrentSetting(t, "TestHostileHelper")
	h := newHostileHost(t)
	s := h.scene("boxed")
	helperStage(t, s)
	settings := fmt.Sprintf("[sandbox]\nadd_dirs = [%q]\n", s.Out+"/granted")
	for _, e := range []string{"before_tool", "after_tool", "question"} {
		settings += fmt.Sprintf("[[hooks.%s]]\ncommand = '''%s'''\n", e, foolishHook)
	}
	ses := h.session(s, true, settings)
	t.Cleanup(ses.ses.Close)
	var attempts []helperAttempt
	for _, dir := range []string{s.Work, s.Out + "/granted", ses.ses.Workspace.Policy.Temp} {
		attempts = append(attempts, helperAttempt{name: "allowed in " + dir, tool: "shell", left: dir + "/allowed", script: `{"command": "touch ` + dir + `/allowed"}`})
		for tool, arguments := range map[string]string{"shell": `"command": "true '%s'"`, "read_file": `"path": "%s"`, "fetch_url": `"url": "https://page.invalid/#%s"`, "list_files": `"path": "%s"`} {
			left := dir + "/by-" + tool
			attempts = append(attempts, helperAttempt{name: "a hook at " + tool, tool: tool, left: left, script: "{" + strings.ReplaceAll(arguments, "%s", "RUN{touch$IFS"+left+"}") + "}"})
		}
	}
	left := func(a helperAttempt) bool { _, err := os.Lstat(a.left); return err == nil }
	var calls []model.ToolCall
	for i, a := range attempts {
		calls = append(calls, model.ToolCall{ID: fmt.Sprint("h-", i), Name: a.tool, Arguments: a.script})
	}
	results := ses.delegate(calls)
	for i, a := range attempts {
		if left(a) {
			t.Errorf("%s: ESCAPE: %s is there: %.200q", a.name, a.left, results[calls[i].ID])
		}
	}
	worked := map[string]int{}
	for _, a := range attempts {
		if ses.call(a.tool, json.RawMessage(a.script)); left(a) {
			worked[a.name]++
		}
	}
	t.Logf("%d attempts by hooks; of those of the session worked %v", len(attempts), worked)
	if worked["a hook at shell"] < 2 || worked["a hook at fetch_url"] < 2 || worked["allowed in "+s.Work] == 0 {
		t.Errorf("of the session's own calls worked only %v: nothing is shown", worked)
	}
}

// TestHelperInterruptedInSetting is a body of TestHostileHelper: the person interrupts while a helper's
// question is open, and a yes comes later. It opens nothing.
func TestHelperInterruptedInSetting(t *testing.T) {
	attack.CurrentSetting(t, "TestHostileHelper")
	h := newHostileHost(t)
	s := h.scene("boxed")
	ses := h.session(s, true, "")
	t.Cleanup(ses.ses.Close)
	fetch := []model.ToolCall{{ID: "f", Name: "fetch_url", Arguments: `{"url": "https://page.invalid/"}`}}
	opened := func() bool { return strings.Contains(openList(ses.ses), "page.invalid") }
	session := func(r approvals.Request) approvals.Answer { return approvals.Answer{Decision: approvals.Session} }
	ses.face.yes = session
	if results := ses.delegateWhile(fetch, func() {}); !opened() {
		t.Fatalf("a yes in time opens nothing: nothing is shown: %q", results)
	}
	ses.revokeAll()
	if opened() {
		t.Fatal("it is still open")
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ses.face.yes = func(r approvals.Request) approvals.Answer {
		interrupt()
		return session(r)
	}
	ses.model.helper = func(model.Request) []model.ToolCall { return fetch }
	ses.model.calls++
	ses.model.next = model.ToolCall{ID: "interrupted", Name: "delegate", Arguments: `{"tasks": [{"kind": "search", "task": "attack"}]}`}
	if err := ses.ses.Turn(ctx, agent.Input{Text: "delegate"}); !errors.Is(err, context.Canceled) {
		t.Errorf("the turn ended with %v", err)
	}
	asked := ses.face.asked[len(ses.face.asked)-1]
	if _, err := ses.ses.Gate.Settle(&asked, session(asked)); err == nil || opened() {
		t.Errorf("ESCAPE: a yes after the interrupt counts: %v, %s", err, openList(ses.ses))
	}
}
