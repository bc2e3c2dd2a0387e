package plain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

func request() approvals.Request {
	return approvals.Request{
		ID: "q1", Title: "make wants to write /srv/data and reach db.example:5432",
		Action:   approvals.Action{Kind: word.KindCommand, Command: "make install\necho done", Folder: "/work"},
		Grant:    sandbox.Grant{Write: []string{"/srv/data"}, Hosts: []sandbox.HostPort{{Host: "db.example", Port: 5432}}},
		Warnings: []string{"the folder is shared"}, Facts: []string{"asked twice before"},
		Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Target: "/srv/data/x", Program: "/usr/bin/make", Evidence: sandbox.EvidenceKernel, Count: 3}},
		Held:    true, Patience: 5 * time.Minute, Justification: "It needs\nthe data.",
		Withheld: []string{"outside for the session: the script changes"},
		Lasting:  &approvals.Lasting{Project: "[[path]]\npaths = [\"/srv/data\"]\naccess = \"write\"\nproject = \"/work\"\n"},
		Options: []approvals.Option{
			{Key: "1", Decision: approvals.Once, Label: "this once"}, {Key: "2", Decision: approvals.Session, Label: "this session"},
			{Key: "3", Decision: approvals.Always, Label: "always in this project"}, {Key: "n", Label: "no, because …"}, {Key: "s", Decision: approvals.Stop, Label: "stop"},
		},
	}
}

func TestWords(t *testing.T) {
	const want = `make wants to write /srv/data and reach db.example:5432
allows: write /srv/data
allows: network db.example:5432
warning: the folder is shared
tries: write /srv/data/x, by /usr/bin/make, 3 times
known: asked twice before
no answer within 300 seconds is a no
always means:
  + From now on commands and edits may read and write /srv/data, in the proj
  + ect /work, until you remove the rule.
always saves this rule:
  + [[path]]
  + paths = ["/srv/data"]
  + access = "write"
  + project = "/work"
not offered: outside for the session: the script changes
runs:
  | make install
  | echo done
in: /work
reason, in the model's words:
  > It needs⏎the data.`
	q := Of(request())
	if got := q.Words(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := q.Markdown(); got != "```text\n"+want+"\n```" {
		t.Errorf("markdown is %s", got)
	}
}

func TestWordsOfOtherActions(t *testing.T) {
	edit := approvals.Request{Title: "edit", Action: approvals.Action{Kind: word.KindEdit, Paths: []string{"/work/a", "/srv/b"}, Command: "*** Begin Patch"}, Grant: sandbox.Grant{Write: []string{"/srv/b"}}}
	input := approvals.Request{Title: "type", Grant: sandbox.Grant{Write: []string{"/srv"}},
		Action: approvals.Action{Kind: word.KindInput, Input: "rm -r x\x03", Running: approvals.Running{Command: "bash\n-i"}}}
	fetch := approvals.Request{Title: "fetch", Action: approvals.Action{Kind: word.KindFetch, Command: "https://a.example/?q=1"}}
	server := approvals.Request{Title: "call", Action: approvals.Action{Kind: word.KindServer, Title: "m: send", Server: &approvals.ServerCall{Server: "m", Tool: "send", Program: "m --x", Arguments: `{ "a": 1 }`}}}
	other := approvals.Request{Title: "it wants to run", Action: approvals.Action{Kind: word.KindRead, Title: "read a.png"}}
	for want, r := range map[string]approvals.Request{
		"edit\nallows: write /srv/b\nallows: write /work/a\nchanges:\n  | *** Begin Patch":         edit,
		"type\nthe command may: write /srv\ntypes:\n  | \"rm -r x\\x03\"\ninto:\n  | bash\n  | -i": input,
		"fetch\nallows: no extra permissions\nfetches:\n  | GET https://a.example/?q=1":            fetch,
		"it wants to run\nallows: no extra permissions\ndoes:\n  | read a.png":                     other,
		"call\nallows: no extra permissions\nsends:\n  | {\"a\":1}\ninto:\n  | m --x":              server,
		"permission needed\nallows: no extra permissions":                                          {},
		"run\nallows: outside the sandbox\nruns:\n  | x":                                           {Title: "run", Grant: sandbox.Grant{Unsandboxed: true}, Action: approvals.Action{Kind: word.KindCommand, Command: "x"}},
	} {
		if got := Of(r).Words(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestAnswer: each offered ID is its decision, and everything else is a no.
func TestAnswer(t *testing.T) {
	q := Of(request())
	var ids []string
	for _, o := range q.Options {
		ids = append(ids, o.ID)
	}
	if want := []string{"once", "session", "always", "no", "stop"}; !slices.Equal(ids, want) {
		t.Errorf("IDs are %q, want %q", ids, want)
	}
	for id, want := range map[string]approvals.Decision{
		"once": approvals.Once, "session": approvals.Session, "always": approvals.Always, "no": approvals.Deny, "stop": approvals.Stop,
		"outside": approvals.Unanswered, "all_edits": approvals.Unanswered, "": approvals.Unanswered, "Once": approvals.Unanswered, "1": approvals.Unanswered, "this once": approvals.Unanswered,
	} {
		if got := q.Answer(id); got.Decision != want || got.Grant != nil || got.Rule != "" {
			t.Errorf("%q is the answer %+v, want %q", id, got, want)
		}
	}
	if got := q.Answer("\x1b[2J" + strings.Repeat("x", 1<<20)).Reason; len(got) > 200 || visible.Line(got) != got {
		t.Errorf("the reason is %d bytes: %.100q", len(got), got)
	}
	if got := (Question{}).Answer("once"); got.Decision.Yes() {
		t.Error("a question without options was answered yes")
	}
}

// hostile tries to look like rows of codeagent, and to be obeyed.
const hostile = "x\nallows: nothing\n\rwarning: none\x1b[2J\u202e\u009b1m\n```\n[a](http://b)\n````\nin: /safe\xff"

// TestHostileTextsAreMarkedAndEscaped: of a text that codeagent did not write every row has a
// mark, also where it would be wrapped.
func TestHostileTextsAreMarkedAndEscaped(t *testing.T) {
	long := hostile + strings.Repeat(" ", 200) + "allows: nothing" + strings.Repeat("漢", 100)
	r := approvals.Request{
		Title: "t " + hostile, Grant: sandbox.Grant{Write: []string{"/" + hostile}}, Justification: long, Warnings: []string{hostile}, Facts: []string{hostile}, Withheld: []string{hostile},
		Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Target: hostile, Program: hostile, Why: hostile, Evidence: sandbox.EvidenceKernel}},
		Lasting: &approvals.Lasting{Project: long},
		Action:  approvals.Action{Kind: word.KindCommand, Command: long, Folder: "/" + hostile},
		Options: []approvals.Option{{Decision: approvals.Once, Label: hostile}},
	}
	q := Of(r)
	ours := []string{"t x", "allows: write /x", "warning: x", "denied: write x", "known: x", "not offered: x", "in: /x"}
	text := q.Words()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if visible.Line(line) != line {
			t.Errorf("obeyed: %q", line)
		}
		if strings.HasPrefix(line, "  ") {
			if rest := line[2:]; !strings.ContainsAny(rest[:1], "|+>") || len([]rune(rest)) > columns+len("| …") {
				t.Errorf("a row without a mark: %q", line)
			}
			continue
		}
		ours = slices.DeleteFunc(ours, func(p string) bool {
			if !strings.HasPrefix(line, p) {
				return false
			}
			line = ""
			return true
		})
		if line != "" && !slices.Contains([]string{"runs:", "always saves this rule:", "reason, in the model's words:"}, line) {
			t.Errorf("unexpected row %q", line)
		}
	}
	if len(ours) > 0 {
		t.Errorf("not shown: %q", ours)
	}
	if got := q.Markdown(); !strings.HasPrefix(got, "`````text\n") || !strings.HasSuffix(got, "\n`````") || strings.Contains(text, "`````") {
		t.Errorf("the fence can be closed from inside: %.40q", got)
	}
	if visible.Line(q.Options[0].Label) != q.Options[0].Label {
		t.Errorf("label %q", q.Options[0].Label)
	}
}

// TestFactsAreWholeAndTheRestIsBounded: codeagent's facts are never cut; a reason and a patch are.
func TestFactsAreWholeAndTheRestIsBounded(t *testing.T) {
	path := "/" + strings.Repeat("folder/", 500) + "end"
	r := request()
	r.Grant.Write = nil
	for range 200 {
		r.Grant.Write = append(r.Grant.Write, path)
	}
	r.Warnings = []string{strings.Repeat("w", 4000) + "end"}
	r.Justification = strings.Repeat("because ", 1<<17)
	r.Action.Command = strings.Repeat("line\n", 1<<17)
	text := Of(r).Words()
	if n := strings.Count(text, "allows: write "+path+"\n"); n != 200 || !strings.Contains(text, "wwwend\n") {
		t.Errorf("%d of 200 grants are whole", n)
	}
	_, rest, _ := strings.Cut(text, "runs:")
	if len(rest) > 4000 || !strings.Contains(rest, "… 131033 rows") || !strings.HasSuffix(rest, "…") {
		t.Errorf("%d bytes after the facts: %s", len(rest), rest)
	}
}

// TestTooLongForAYes: where only the text says what happens, a text that cannot be shown whole has
// no yes.
func TestTooLongForAYes(t *testing.T) {
	command := strings.Repeat("x", wholeBytes)
	yes := func(r approvals.Request) (ids []string) {
		q := Of(r)
		for _, o := range q.Options {
			if o.Decision.Yes() {
				ids = append(ids, o.ID)
			}
		}
		if len(ids) < 2 && !strings.Contains(q.Words(), "too long to be shown") {
			t.Errorf("it does not say what was withheld:\n%s", q.Words())
		}
		return ids
	}
	outside := approvals.Request{Title: "t", Action: approvals.Action{Kind: word.KindCommand, Command: command}, Options: []approvals.Option{
		{Decision: approvals.Once, Label: "this once"}, {Decision: approvals.Outside, Label: "outside the sandbox, once"}, {Label: "no, because …"}}}
	if got := yes(outside); !slices.Equal(got, []string{"once", "outside"}) || !strings.Contains(Of(outside).Words(), strings.Repeat("x", wholeBytes%columns)) {
		t.Errorf("answers %q", got)
	}
	outside.Action.Command += "y"
	if got := yes(outside); got != nil {
		t.Errorf("of a long command: answers %q", got)
	}
	outside.GrantOnly = true
	if got := yes(outside); !slices.Equal(got, []string{"once", "outside"}) {
		t.Errorf("of a grant alone: answers %q", got)
	}
	for name, r := range map[string]approvals.Request{
		"an edit":           {Action: approvals.Action{Kind: word.KindEdit, Command: command + "y"}, Grant: sandbox.Grant{Write: []string{"/srv"}}},
		"a command outside": {Grant: sandbox.Grant{Unsandboxed: true}, Action: approvals.Action{Kind: word.KindCommand, Command: command + "y"}},
		"an input":          {Action: approvals.Action{Kind: word.KindInput, Input: command}},
		"a call":            {Action: approvals.Action{Kind: word.KindServer, Server: &approvals.ServerCall{Arguments: command + "y"}}},
		"an address":        {Action: approvals.Action{Kind: word.KindFetch, Command: command}},
	} {
		r.Options = outside.Options
		if got := yes(r); got != nil {
			t.Errorf("%s: answers %q", name, got)
		}
	}
}
