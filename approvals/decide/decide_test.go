package decide

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

const workspace = "/home/u/app"

// stateOf is a state with a workspace, the paths that the rows name, and rules.
func stateOf(t *testing.T, mode Mode, text string) State {
	t.Helper()
	list, err := rules.Parse("rules.toml", []byte(text), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	p := sandbox.WorkspaceWrite(workspace)
	p.Protected.Own = []string{"/home/u/.config/codeagent"}
	at := Places{Home: "/home/u", Workspace: workspace, Written: "/home/u", Seen: map[string]Place{}}
	for _, dir := range []string{"/srv", "/srv/data", "/home/u/.config/codeagent", workspace} {
		at.Seen[dir] = Place{Path: dir, Exists: true, Folder: true}
	}
	for _, file := range []string{workspace + "/main.go", "/srv/data/x"} {
		at.Seen[file] = Place{Path: file}
	}
	at.Seen["/link"] = Place{Path: "/srv/data", Exists: true, Folder: true}
	return State{Policy: p, Rules: rules.Join(list), Consent: Consent{Mode: mode}, Places: at, GrantsHosts: true, GrantsSockets: true}
}

func shell(text string, w Wish) Action {
	return Action{Tool: "shell", Kind: word.KindCommand, Command: text, Folder: workspace, Argv: []string{"bash", "-c", text}, Wish: w}
}

// TestDecide: what follows from a state and an action.
func TestDecide(t *testing.T) {
	const (
		allowMake = "[[command]]\nwords = ['make']\ndecision = 'allow'\n"
		askMake   = "[[command]]\nwords = ['make']\ndecision = 'ask'\n"
		noMake    = "[[command]]\nwords = ['make']\ndecision = 'forbid'\nreason = 'not here'\n"
		srv       = "[[path]]\npaths = ['/srv']\naccess = 'write'\n"
	)
	data := Wish{Write: []string{"/srv/data"}}
	edit := func(path string) Action {
		return Action{Tool: "edit", Kind: word.KindEdit, Folder: workspace, Paths: []string{path}}
	}
	outside := shell("make", Wish{Unsandboxed: true})
	call := func(differs func(*ServerCall)) Action {
		p := sandbox.WorkspaceWrite(workspace, "/home/u/own")
		p.Read, p.DenyRead = []sandbox.Root{{Path: "/usr"}, {Path: "/home/u/own/lib"}}, []string{"/home/u/.ssh"}
		c := &ServerCall{Server: "s", Tool: "t", Described: "d", Own: "/home/u/own", Policy: p}
		differs(c)
		return Action{Tool: c.Name(), Kind: word.KindServer, Folder: workspace, Server: c}
	}
	alike := call(func(*ServerCall) {})
	managed := func(s *State) {
		s.Managed = func(g sandbox.Grant, _ bool) string {
			if g.Unsandboxed || len(g.Write) > 0 {
				return "sandbox.add_dirs"
			}
			return ""
		}
	}
	onDraft := func(s *State) { s.Helper, s.Draft = true, []string{workspace} }
	noKeys := func(s *State) { s.Policy.DenyRead = []string{"/home/u/.ssh"} }
	for name, c := range map[string]struct {
		mode    Mode
		rules   string
		action  Action
		asks    []string
		seen    Sight
		change  func(*State)
		want    string // run, ask, or a part of the reason of a refusal
		opens   string // a path that may be written then
		outside bool
	}{
		"a command in the sandbox":           {mode: OnRequest, action: shell("make", Wish{}), want: "run", opens: workspace + "/x"},
		"asked first":                        {mode: Untrusted, action: shell("make", Wish{}), want: "ask"},
		"known to read":                      {mode: Untrusted, action: shell("ls -l", Wish{}), want: "run"},
		"a rule allows it":                   {mode: Untrusted, rules: allowMake, action: shell("make", Wish{}), want: "run"},
		"a rule asks":                        {mode: OnRequest, rules: askMake, action: shell("make", Wish{}), want: "ask"},
		"a rule asks, and nobody is there":   {mode: Never, rules: askMake, action: shell("make", Wish{}), want: "nobody is asked"},
		"a rule forbids":                     {mode: OnRequest, rules: noMake, action: shell("true; make", Wish{}), want: "not here"},
		"a path":                             {mode: OnRequest, action: shell("make", data), want: "ask"},
		"a path that a rule opens":           {mode: OnRequest, rules: srv, action: shell("make", data), want: "run", opens: "/srv/data/x"},
		"a path through a link":              {mode: OnRequest, rules: srv, action: shell("make", Wish{Write: []string{"/link"}}), want: "run", opens: "/srv/data/x"},
		"a path that an answer opened":       {mode: OnRequest, change: answer(ledger.Entry{Grant: sandbox.Grant{Write: []string{"/srv/data"}}}), action: shell("make", data), want: "run", opens: "/srv/data/x"},
		"an answer for a server":             {mode: OnRequest, change: answer(ledger.Entry{Server: "s", Grant: sandbox.Grant{Write: []string{"/srv/data"}}}), action: shell("make", data), want: "ask"},
		"an answer whose path became a link": {mode: OnRequest, change: answer(ledger.Entry{Grant: sandbox.Grant{Write: []string{"/link"}}}), action: shell("make", data), want: "ask"},
		"a path that was not looked at":      {mode: OnRequest, action: shell("make", Wish{Write: []string{"/etc"}}), want: "was not looked at"},
		"codeagent's own":                    {mode: OnRequest, action: shell("make", Wish{Write: []string{"~/.config/codeagent"}}), want: "codeagent itself"},
		"a host":                             {mode: OnRequest, action: shell("make", Wish{Hosts: []string{"a.example:443"}}), want: "ask"},
		"outside, which is managed":          {mode: OnRequest, change: managed, action: outside, want: "the settings do not allow"},
		"a path that is managed":             {mode: OnRequest, change: managed, action: shell("make", data), want: "the settings do not allow"},
		"a managed path that a rule opens":   {mode: OnRequest, rules: srv, change: managed, action: shell("make", data), want: "the settings do not allow"},
		"a managed path that an answer opened": {mode: OnRequest, change: func(s *State) {
			answer(ledger.Entry{Grant: sandbox.Grant{Write: []string{"/srv/data"}}})(s)
			managed(s)
		}, action: shell("make", data), want: "the settings do not allow"},
		"outside, answered, which is managed":    {mode: OnRequest, change: managed, action: outside, seen: Sight{Answered: true}, want: "the settings do not allow"},
		"an edit that is managed":                {mode: OnRequest, change: managed, action: edit("/srv/data/x"), want: "the settings do not allow"},
		"what is not managed":                    {mode: OnRequest, change: managed, action: shell("make", Wish{Hosts: []string{"a.example:443"}}), want: "ask"},
		"a host that granular refuses":           {mode: Granular, change: func(s *State) { s.Refuse = TopicsOf([]string{"network"}) }, action: shell("make", Wish{Hosts: []string{"a.example:443"}}), want: "granular"},
		"outside":                                {mode: OnRequest, action: outside, want: "ask"},
		"outside, answered for the session":      {mode: OnRequest, action: outside, seen: Sight{Answered: true}, want: "run", outside: true},
		"outside, answered, and changed since":   {mode: OnRequest, action: outside, seen: Sight{Answered: true, News: []string{"x changed"}}, want: "ask"},
		"outside, answered, and a hook asks":     {mode: OnRequest, action: outside, asks: []string{"hook"}, seen: Sight{Answered: true}, want: "ask"},
		"outside, by a model that may not":       {mode: OnRequest, change: func(s *State) { s.Model.NoOutside = true }, action: outside, seen: Sight{Answered: true}, want: "ask"}, // the gate refuses it
		"an edit in the workspace":               {mode: OnRequest, action: edit("main.go"), want: "run"},
		"an edit while all is read-only":         {mode: OnRequest, change: func(s *State) { s.ReadOnly = true }, action: edit("main.go"), want: "ask"},
		"an edit outside":                        {mode: OnRequest, action: edit("/srv/data/x"), want: "ask"},
		"an edit that an answer named":           {mode: Untrusted, change: answer(ledger.Entry{Paths: []string{workspace + "/main.go"}}), action: edit("main.go"), want: "run"},
		"all edits, in the workspace":            {mode: Untrusted, change: answer(ledger.Entry{AllEdits: workspace}), action: edit("main.go"), want: "run"},
		"all edits, without a sandbox":           {mode: Untrusted, change: func(s *State) { answer(ledger.Entry{AllEdits: workspace})(s); s.Policy = sandbox.FullAccess() }, action: edit("main.go"), want: "ask"},
		"an edit on the draft of a helper":       {mode: Untrusted, change: onDraft, action: edit("main.go"), want: "run"},
		"such an edit beside the draft":          {mode: Untrusted, change: onDraft, action: edit("/srv/data/x"), want: "a helper works on a draft"},
		"a command on such a draft":              {mode: Untrusted, change: onDraft, action: shell("make", Wish{}), want: "ask"},
		"a push that overwrites":                 {mode: OnRequest, action: shell("git push -f", Wish{}), want: "ask"},
		"a push that overwrites, by the setting": {mode: OnRequest, change: func(s *State) { s.Careless = true }, action: shell("git push -f", Wish{}), want: "run"},
		"a server with what commands have":       {mode: OnRequest, change: noKeys, action: alike, want: "run", opens: workspace + "/x"},
		"such a server, asked first":             {mode: Untrusted, action: alike, want: "ask"},
		"such a server, unattended":              {mode: Never, action: alike, want: "run"},
		"such a server, and a hook asks":         {mode: OnRequest, action: alike, asks: []string{"hook"}, want: "ask"},
		"such a server, and a rule asks":         {mode: OnRequest, rules: "[[tool]]\ntool = 's__t'\ndecision = 'ask'\n", action: alike, want: "ask"},
		"such a server, and an answer":           {mode: OnRequest, change: answer(ledger.Entry{Server: "s", Grant: sandbox.Grant{Write: []string{"/srv/data"}}}), action: alike, want: "ask"},
		"a server with a host":                   {mode: OnRequest, action: call(func(c *ServerCall) { c.Policy.Network.Mode = sandbox.NetworkAllow }), want: "ask"},
		"a server with a socket":                 {mode: OnRequest, action: call(func(c *ServerCall) { c.Policy.Sockets = []string{"/run/s"} }), want: "ask"},
		"a server with variables":                {mode: OnRequest, action: call(func(c *ServerCall) { c.Keyed = true }), want: "ask"},
		"a server that writes elsewhere":         {mode: OnRequest, action: call(func(c *ServerCall) { c.Policy.Write = append(c.Policy.Write, sandbox.Root{Path: "/srv/data"}) }), want: "ask"},
		"a server that reads keys":               {mode: OnRequest, change: noKeys, action: call(func(c *ServerCall) { c.Policy.Read = append(c.Policy.Read, sandbox.Root{Path: "/home/u/.ssh"}) }), want: "ask"},
		"a server that reads around keys":        {mode: OnRequest, change: noKeys, action: call(func(c *ServerCall) { c.Policy.Read, c.Policy.DenyRead = []sandbox.Root{{Path: "/home/u"}}, nil }), want: "ask"},
		"a server where commands only read":      {mode: OnRequest, change: func(s *State) { s.ReadOnly = true }, action: call(func(c *ServerCall) { c.Policy.Write = append(c.Policy.Write, sandbox.Root{Path: "/srv/data"}) }), want: "ask"},
		"a server elsewhere":                     {mode: OnRequest, action: call(func(c *ServerCall) { c.Remote = true }), want: "ask"},
		"a server of unknown folder":             {mode: OnRequest, action: call(func(c *ServerCall) { c.Own = "" }), want: "ask"},
		"a server that was changed":              {mode: OnRequest, action: call(func(c *ServerCall) { c.Changed = "x" }), want: "ask"},
		"a plan, and a hook asks":                {mode: OnRequest, action: Action{Kind: word.KindPlan}, asks: []string{"hook"}, want: "ask"},
		"an unknown kind":                        {mode: OnRequest, action: Action{Kind: "x"}, want: "unknown kind"},
	} {
		s := stateOf(t, c.mode, c.rules)
		if c.change != nil {
			c.change(&s)
		}
		before, again := s.Base(), s
		d := s.Decide(c.action, c.asks, c.seen)
		got := "ask"
		switch {
		case d.Runs:
			got = "run"
		case d.Refusal != nil:
			got = d.Refusal.Reason
		case d.Reason != "":
			got = d.Reason
		}
		if !strings.Contains(got, c.want) || d.Runs != (c.want == "run") {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if d.Policy.Unconfined != (c.outside || s.Policy.Unconfined) || c.opens != "" && !d.Policy.JudgeWrite(c.opens).Allowed {
			t.Errorf("%s: the policy is %+v", name, d.Policy)
		}
		if same := again.Decide(c.action, c.asks, c.seen); !reflect.DeepEqual(d, same) || !reflect.DeepEqual(before, s.Base()) {
			t.Errorf("%s: a decision changed what the next one depends on", name)
		}
	}
}

// TestWith: what would be decided under more rules is decided on a copy.
func TestWith(t *testing.T) {
	s := stateOf(t, OnRequest, "")
	list, err := rules.Parse("rules.toml", []byte("[[path]]\npaths = ['/srv']\naccess = 'write'\n"), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	a := shell("make", Wish{Write: []string{"/srv/data"}})
	if !s.With(rules.Join(list)).Decide(a, nil, Sight{}).Runs || s.Decide(a, nil, Sight{}).Runs {
		t.Error("the rule has no effect, or one on the state itself")
	}
}

func answer(e ledger.Entry) func(*State) {
	return func(s *State) { s.Answers = append(slices.Clone(s.Answers), e) }
}

// TestInputSeesEveryGrant: whatever the running command may do beyond the policy is wanted.
func TestInputSeesEveryGrant(t *testing.T) {
	base := sandbox.WorkspaceWrite(workspace)
	typing := func(p sandbox.Policy) Action { return Action{Kind: word.KindInput, Running: Job{ID: 1, Policy: p}} }
	base.Read = []sandbox.Root{{Path: "/usr"}}
	base.DenyRead, base.DenyGlobs = []string{"/home/u/.ssh"}, []string{"**/.env"}
	for name, g := range map[string]sandbox.Grant{
		"write":       {Write: []string{"/srv/data"}},
		"read":        {Read: []string{"/srv/data"}},
		"denied read": {Read: []string{"/home/u/.ssh"}},
		"host":        {Hosts: []sandbox.HostPort{{Host: "a.example", Port: 443}}},
		"socket":      {Sockets: []string{"/run/docker.sock"}},
		"everything":  {Unsandboxed: true},
	} {
		if w := wantInput(base, typing(base.With(g))); w.Empty() {
			t.Errorf("%s: not seen", name)
		}
	}
	if w := wantInput(base, typing(base)); !w.Empty() {
		t.Errorf("the base itself has more than itself: %+v", w)
	}
	full := base
	full.Network.Mode = sandbox.NetworkFull
	all := base
	all.Read = nil
	for name, p := range map[string]sandbox.Policy{"the whole network": full, "reading everything": all} {
		if w := wantInput(base, typing(p)); w.Empty() {
			t.Errorf("%s: not seen", name)
		}
	}
}
