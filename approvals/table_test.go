package approvals

import (
	"os"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/decide"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// row is one line of testdata/gate.txt; its head explains the columns.
type row struct {
	line                                                 int
	policy, sandbox, kind, wants, evidence, rule, before string
	outcome, nobody                                      string
}

// key names the combination that a row is about.
func (r row) key() string {
	return strings.Join([]string{r.policy, r.sandbox, r.kind, r.wants, r.evidence, r.rule, r.before}, " ")
}

func rows(t *testing.T) (out []row) {
	t.Helper()
	data, err := os.ReadFile("testdata/gate.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(data), "\n") {
		c := strings.Fields(line)
		if len(c) == 0 || c[0][0] == '#' {
			continue
		}
		if len(c) != 9 {
			t.Fatalf("gate.txt:%d: %d columns", i+1, len(c))
		}
		out = append(out, row{i + 1, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]})
	}
	return out
}

// wishes are the possible wishes of each kind. Without a sandbox only the wish of a fetch has an
// effect.
var wishes = map[string]string{
	"command": "none open path read socket protected host both outside bad", "edit": "none open path bad", "fetch": "none open host bad", "input": "none path host outside",
	"server": "reads acts", "plan": "-", "read": "-", "watch": "-", "held": "path read protected host socket open own syscall", "rerun": "path host own passed",
}

// combinations returns the keys that the table must have. asks are the keys of rows that ask.
func combinations(asks map[string]bool) (out []string) {
	for _, mode := range Modes() {
		for _, box := range []string{"on", "closed", "off"} {
			for kind, list := range wishes {
				judgements, evidences := []string{"-"}, []string{"-"}
				switch {
				case box == "off" && (kind == "held" || kind == "rerun"):
					continue // nothing is denied without a sandbox
				case box == "closed" && kind != "edit" && kind != "command":
					continue // the same as without it
				case kind == "held":
					evidences = []string{"kernel"}
				case kind == "rerun":
					evidences = []string{"kernel", "output"}
				case kind == "command":
					judgements = []string{"-", "known", "allowed", "asked", "forbidden", "push"}
				case kind == "server":
					judgements = []string{"-", "allowed", "asked", "forbidden"}
				case kind == "input":
					judgements = []string{"-", "allowed", "asked", "forbidden", "push"}
				}
				if box == "closed" && kind == "command" {
					list = "none path"
				}
				if box == "off" && (kind == "command" || kind == "edit" || kind == "input") {
					list = "any"
				}
				for _, wants := range strings.Fields(list) {
					for _, evidence := range evidences {
						for _, rule := range judgements {
							key := strings.Join([]string{string(mode), box, kind, wants, evidence, rule}, " ")
							out = append(out, key+" -")
							if !asks[key+" -"] {
								continue
							}
							out = append(out, key+" no")
							if !(kind == "command" && wants == "outside" || evidence == "output") {
								out = append(out, key+" yes")
							}
						}
					}
				}
			}
		}
	}
	return out
}

func TestTableIsComplete(t *testing.T) {
	table := rows(t)
	if len(table) < 150 {
		t.Errorf("%d rows", len(table))
	}
	at, asks := map[string]int{}, map[string]bool{}
	for _, r := range table {
		if at[r.key()] > 0 {
			t.Errorf("gate.txt:%d repeats line %d", r.line, at[r.key()])
		}
		at[r.key()] = r.line
		asks[r.key()] = strings.HasPrefix(r.outcome, "ask")
	}
	for _, key := range combinations(asks) {
		if at[key] == 0 {
			t.Errorf("no row for %s", key)
		}
		delete(at, key)
	}
	for key, line := range at {
		t.Errorf("gate.txt:%d: no such combination: %s", line, key)
	}
}

// TestTable plays each row of gate.txt. It plays rows of granular with each set of refused topics.
func TestTable(t *testing.T) {
	rules := tableRules(t)
	for _, r := range rows(t) {
		wants := []string{r.wants}
		if r.wants == "any" {
			wants = strings.Fields(wishes[r.kind])
		}
		sets := 1
		if r.policy == string(Granular) && r.before == "-" { // a refused topic has no earlier answer
			sets = 1 << len(allTopics())
		}
		for _, one := range wants {
			for set := range sets {
				r, refused := r, decide.Topics(set)
				r.wants = one
				g := newGate(Mode(r.policy), r.base(), func(o *Options) {
					o.Rules, o.GrantsHosts, o.GrantsSockets, o.Refuse = rules, true, true, refused.Names()
				})
				outcome, nobody := r.outcome, r.nobody
				if ask, topic, ok := strings.Cut(r.outcome, ":"); ok {
					outcome = ask
					if decide.TopicsOf(strings.Split(topic, "+"))&refused != 0 {
						outcome, nobody = "refuse", "refuse"
					}
				}
				got, question := r.play(t, g)
				if got != outcome {
					t.Errorf("gate.txt:%d: %s (wants %s, refusing %q): %s, want %s", r.line, r.key(), one, refused.Names(), got, outcome)
					continue
				}
				if question != nil {
					got = decided(g.settled(question, Answer{Decision: Unattended}))
				}
				if got != nobody {
					t.Errorf("gate.txt:%d: %s (wants %s), nobody there: %s, want %s", r.line, r.key(), one, got, nobody)
				}
			}
		}
	}
}

func (r row) base() sandbox.Policy {
	base := confined()
	switch r.sandbox {
	case "off":
		base = sandbox.FullAccess()
	case "closed":
		base.Write = nil
	}
	base.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "docs.example", Port: 443}}}
	return base
}

// play returns the outcome of the row, and the question if there is one.
func (r row) play(t *testing.T, g world) (string, *Request) {
	t.Helper()
	var so HeldAnswers
	if r.before != "-" {
		_, q := r.judge(t, g, so)
		if q == nil {
			return "not asked the first time", nil
		}
		answer := Answer{Decision: Deny}
		if r.before == "yes" {
			answer.Decision = Once
			if slices.ContainsFunc(q.Options, func(o Option) bool { return o.Decision == Session }) {
				answer.Decision = Session
			}
		}
		_, _, err := g.settled(q, answer)
		if (err == nil) != (r.before == "yes") {
			return "the first answer failed", nil
		}
		if err != nil {
			so.Refused = append(so.Refused, q.Grant)
		}
	}
	return r.judge(t, g, so)
}

// settled settles a question of any kind. The second result is always nil.
func (w world) settled(q *Request, a Answer) (Permit, *Request, error) {
	if !q.Held {
		p, err := w.Settle(q, a)
		return p, nil, err
	}
	grant, err := w.SettleHeld(q, a)
	return Permit{minted: !grant.Empty()}, nil, err
}

func (r row) judge(t *testing.T, g world, so HeldAnswers) (string, *Request) {
	t.Helper()
	switch r.kind {
	case "held":
		grant, q, err := g.DecideHeld(command("npm test", Wish{}), heldCalls[r.wants], so)
		return decided(Permit{minted: !grant.Empty()}, q, err), q
	case "rerun":
		q := g.AfterDenial(command("npm test", Wish{}), r.verdict(), nil)
		if q == nil {
			return "nothing", nil
		}
		return "ask", q
	}
	p, q, err := g.Decide(r.action(t))
	return decided(p, q, err), q
}

// heldCalls are refused calls by the kind of access they need.
var heldCalls = map[string]sandbox.Denial{
	"path":      {Kind: sandbox.KindWrite, Operation: "openat", Target: "/srv/data/a"},
	"read":      {Kind: sandbox.KindRead, Operation: "openat", Target: "/home/u/.ssh"},
	"protected": {Kind: sandbox.KindProtected, Operation: "openat", Target: workspace + "/.git/hooks"},
	"host":      {Kind: sandbox.KindNetwork, Operation: "connect", Target: "other.example:443"},
	"socket":    {Kind: sandbox.KindSocket, Operation: "connect", Target: "/run/docker.sock"},
	"open":      {Kind: sandbox.KindWrite, Operation: "openat", Target: "/home/u/notes/a"},
	"own":       {Kind: sandbox.KindProtected, Operation: "openat", Target: "/opt/codeagent/bin/helper"},
	"syscall":   {Kind: sandbox.KindSyscall, Operation: "ptrace", Target: "ptrace"},
}

func (r row) verdict() sandbox.Verdict {
	v := sandbox.Verdict{Denied: r.wants != "passed", Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull, Suggest: sandbox.Grant{Write: []string{"/srv/data"}}}
	switch r.wants {
	case "host":
		v.Suggest = sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "other.example", Port: 443}}}
	case "own":
		v.Suggest = sandbox.Grant{Write: []string{"/opt/codeagent/bin/helper"}}
	}
	if r.evidence == "output" {
		v.Confidence, v.Evidence = sandbox.Likely, sandbox.EvidenceOutputOnly
	}
	return v
}

// action is the action that a row with a question of Decide is about.
func (r row) action(t *testing.T) Action {
	t.Helper()
	a := Action{CallID: "c", Tool: "t", Kind: word.Kind(r.kind), Folder: workspace}
	switch r.kind {
	case "command":
		a.Command = map[string]string{
			"known": "cat main.go | wc -l", "-": "npm test", "allowed": "make all", "asked": "terraform apply", "forbidden": "npm publish", "push": "git push --force",
		}[r.rule]
		a.Wish = map[string]Wish{
			"read": {Read: []string{"~/.ssh"}}, "socket": {Sockets: []string{"/run/docker.sock"}}, "protected": {Write: []string{".git/hooks"}},
			"none": {}, "path": {Write: []string{"~/.npm"}}, "host": {Hosts: []string{"other.example:443"}},
			"both":    {Write: []string{"~/.npm"}, Hosts: []string{"other.example:443"}},
			"open":    {Read: []string{"~/notes/b"}, Write: []string{"~/notes/a"}, Hosts: []string{"open.example:443"}},
			"outside": {Unsandboxed: true}, "bad": {Write: []string{"/"}},
		}[r.wants]
	case "edit":
		a.Paths = []string{map[string]string{"none": "main.go", "path": "/srv/data/x", "bad": "~/.config/codeagent/config.toml", "open": "~/notes/a"}[r.wants]}
	case "server":
		a.Server = &ServerCall{Server: "s", Tool: map[string]string{"-": "other"}[r.rule] + strings.TrimPrefix(r.rule, "-"), ReadOnly: r.wants == "reads", Described: "d", Policy: r.base()}
	case "fetch":
		a.Wish.Hosts = []string{map[string]string{"none": "docs.example:443", "host": "other.example:443", "bad": "other example", "open": "open.example:443"}[r.wants]}
	case "input":
		a.Input = map[string]string{"-": "make\n", "allowed": "make all\n", "asked": "terraform apply\n", "forbidden": "npm publish\n", "push": "git push -f\n"}[r.rule]
		a.Running = Running{ID: 1, Command: "bash", Policy: r.base().With(map[string]sandbox.Grant{
			"none": {}, "path": {Write: []string{"/srv/data"}}, "host": {Hosts: []sandbox.HostPort{{Host: "other.example", Port: 443}}}, "outside": {Unsandboxed: true},
		}[r.wants])}
	}
	return a
}
