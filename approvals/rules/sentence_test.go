package rules

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"codeagent/sandbox"
)

// TestSentence: every field of a rule has its words, or a reason to have none.
func TestSentence(t *testing.T) {
	command, host := Rule{Decision: Allow, Words: [][]string{{"git"}, {"status", "diff"}}}, Rule{Decision: Allow, Hosts: []sandbox.HostPort{{Host: "a.example", Port: 443}}}
	path, tool := Rule{Decision: Allow, Access: Write, Paths: []string{"/home/u/.npm"}}, Rule{Decision: Allow, Tool: "mail__send"}
	const always = ", in every project, until you remove the rule."
	command1 := `From now on the command "git status|diff", whatever words follow, may run in the sandbox without a question` + always
	day := time.Date(2026, 12, 31, 0, 0, 0, 0, time.Local).AddDate(0, 0, 1)
	covered := map[string]string{
		"Place": "it says where the rule stands", "match": "it is an example", "notMatch": "it is an example",
	}
	for _, c := range []struct {
		field, want string
		of          Rule
		set         func(*Rule)
	}{
		{"Words", command1, Rule{Decision: Allow}, func(r *Rule) { r.Words = command.Words }},
		{"Words", `From now on the command "touch \"a b\" \"x|y\"", whatever words follow, may run in the sandbox without a question` + always, Rule{Decision: Allow}, func(r *Rule) { r.Words = [][]string{{"touch"}, {"a b"}, {"x|y"}} }},
		{"Exact", `From now on the command "git status|diff", with no further words, may run in the sandbox without a question` + always, command, func(r *Rule) { r.Exact = true }},
		{"Decision", `From now on the command "git status|diff", whatever words follow, may run in the sandbox only after a question` + always, command, func(r *Rule) { r.Decision = Ask }},
		{"Decision", `From now on the command "git status|diff", whatever words follow, may not run in the sandbox` + always, command, func(r *Rule) { r.Decision = Forbid }},
		{"Reason", `From now on the tool mail__send may not be called, for the reason "mine, \"in\" every project"` + always, tool, func(r *Rule) { r.Decision, r.Reason = Forbid, `mine, "in" every project` }},
		{"Expires", "From now on the tool mail__send may be called without a question, in every project, until the end of 2026-12-31.", tool, func(r *Rule) { r.Expires = day }},
		{"Expires", "From now on the tool mail__send may be called without a question, in every project, until 2026-12-31T12:00:01Z.", tool, func(r *Rule) { r.Expires = time.Date(2026, 12, 31, 12, 0, 1, 0, time.UTC) }},
		{"Project", "From now on the tool mail__send may be called without a question, in the project ~/app, until you remove the rule.", tool, func(r *Rule) { r.Project = "/home/u/app" }},
		{"Project", `From now on the tool mail__send may be called without a question, in the project "/x, in every project", until you remove the rule.`, tool, func(r *Rule) { r.Project = "/x, in every project" }},
		{"Paths", `From now on commands and edits may read and write ~/a, "~/b, ~/c\x1b[2J"` + always, path, func(r *Rule) { r.Paths = []string{"/home/u/a", "/home/u/b, ~/c\x1b[2J"} }},
		{"Access", "From now on commands and edits may read ~/.npm" + always, path, func(r *Rule) { r.Access = Read }},
		{"Access", "From now on fetches may connect to a.example:443" + always, host, func(r *Rule) { r.Access = Fetch }},
		{"Hosts", "From now on commands and fetches may connect to a.example:443, [::1]:80" + always, host, func(r *Rule) { r.Hosts = append(r.Hosts[:1:1], sandbox.HostPort{Host: "::1", Port: 80}) }},
		{"Tool", "From now on every tool of the server mail may be called without a question" + always, tool, func(r *Rule) { r.Tool = "mail__*" }},
		{"Described", "From now on the tool mail__send may be called without a question while the server describes it as 1f0c" + always, tool, func(r *Rule) { r.Described = "1f0c" }},
		{"Backend", `From now on the command "git status|diff", whatever words follow, runs in the backend "my box"` + always, Rule{Words: command.Words}, func(r *Rule) { r.Backend = "my box" }},
	} {
		said := func() string {
			return Sentence([]*Rule{&c.of}, func(p string) string { return strings.Replace(p, "/home/u", "~", 1) })
		}
		before := said()
		c.set(&c.of)
		if got := said(); got != c.want || got == before {
			t.Errorf("%s: %q\nwant %q\nbefore %q", c.field, got, c.want, before)
		}
		covered[c.field] = "a case"
	}
	for f := range reflect.TypeFor[Rule]().Fields() {
		if covered[f.Name] == "" {
			t.Errorf("the sentence does not say %s", f.Name)
		}
	}
	same := func(p string) string { return p }
	for project, want := range map[string]string{
		"":     strings.TrimSuffix(command1, always) + ", and commands and fetches may connect to a.example:443" + always,
		"/app": command1 + "\nFrom now on commands and fetches may connect to a.example:443, in the project /app, until you remove the rule.",
	} {
		host.Project = project
		if got := Sentence([]*Rule{&command, &host}, same); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}
