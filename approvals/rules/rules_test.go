package rules

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/sandbox"
)

// everyday are the rules that the corpora are judged by.
const everyday = `
[[command]]
words = ["git", ["status", "diff", "log", "show", "branch", "add", "commit", "stash", "blame", "rev-parse", "ls-files", "grep", "fetch", "rebase"]]
decision = "allow"

[[command]]
words = ["go", ["build", "test", "vet", "fmt", "list", "mod", "doc", "version"]]
decision = "allow"

[[command]]
words = ["npm", ["test", "run", "ls", "ci", "install"]]
decision = "allow"

[[command]]
words = [["ls", "cat", "head", "tail", "wc", "grep", "rg", "sort", "uniq", "echo", "pwd", "true", "make", "pytest", "cargo", "mkdir", "find", "tar", "rsync", "man", "docker"]]
decision = "allow"

[[command]]
words = [["python3", "sed", "xargs", "bash"], ["manage.py", "grep", "s/a/b/"]]
decision = "allow"
`

func set(t testing.TB, text string) *Set {
	t.Helper()
	list, err := Parse("rules.toml", []byte(text), "/home/ada")
	if err != nil {
		t.Fatal(err)
	}
	return Join(list)
}

// lines reads a corpus: one command a line, "#" begins a comment line, \n stands for a newline.
func lines(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	unescape := strings.NewReplacer(`\v`, "\v", `\f`, "\f", `\x7f`, "\x7f", `\x1b`, "\x1b", `\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\0`, "\x00", `\u00a0`, "\u00a0", `\u2013`, "\u2013")
	var out []string
	for l := range strings.Lines(string(data)) {
		if l = strings.TrimSuffix(l, "\n"); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, unescape.Replace(l))
		}
	}
	return out
}

func TestTrickyCommandsAreNeverAllowed(t *testing.T) {
	s := set(t, everyday)
	all := lines(t, "tricky.txt")
	if len(all) < 150 {
		t.Errorf("%d tricky commands; at least 150 are wanted", len(all))
	}
	for _, line := range all {
		if j := s.At(time.Now()).Command(line); j.Decision == Allow {
			t.Errorf("%q is allowed, by %v", line, j.Parts)
		}
	}
}

func TestEverydayCommandsAreAllowed(t *testing.T) {
	s := set(t, everyday)
	all := lines(t, "everyday.txt")
	if len(all) < 100 {
		t.Errorf("%d everyday commands; at least 100 are wanted", len(all))
	}
	for _, line := range all {
		if j := s.At(time.Now()).Command(line); j.Decision != Allow {
			t.Errorf("%q is %q, not allowed: %s %v", line, j.Decision, j.Opaque, j.Parts)
		}
	}
}

// additions are ways to hide a command, or to add to it. %s is the command, %q the command as
// one quoted word.
var additions = []string{
	"env %s", "A=1 %s", "nohup %s", "timeout 5 %s", "time %s", "sudo %s", "exec %s", "command %s", "builtin %s", "nice -n 3 %s", "xargs %s", "watch %s",
	"%s > out", "%s >> ~/.bashrc", "%s < in", "%s 2>&1", "%s &", "! %s", "( %s )", "{ %s; }", "if true; then %s; fi", "for i in 1 2; do %s; done",
	"while %s; do :; done", "f() { %s; }; f", "echo $(%s)", "echo `%s`", "cat <(%s)", "%s | cat", "true && %s", "false || %s", "%s; true", "bash -c %q",
	"sh -c %q", "bash -c 'bash -c %q'", "eval %q", "trap %q EXIT", "ssh host %q", "%s # a comment", "true # a\n%s", "coproc %s", "find . -exec %s ;",
	"su -c %q", "python3 -c 'import os; os.system(%q)'", "bash <<< %q", "bash <<E\n%s\nE", "case x in x) %s;; esac", "[[ -n $(%s) ]]", "A=$(%s)", "/usr/bin/%s",
	"xargs -I{} sh -c %q", "%s $HOME", "%s *", "%s \"$(id)\"", "parallel ::: %q", "script -c %q", "busybox %s",
}

func added(form, command string) string {
	quoted := "'" + strings.ReplaceAll(command, "'", `'\''`) + "'"
	if strings.Contains(form, "'bash -c %q'") || strings.Contains(form, "os.system(%q)") {
		quoted = `"` + command + `"`
	}
	return strings.ReplaceAll(strings.ReplaceAll(form, "%q", quoted), "%s", command)
}

func TestAdditionsAreNeverLessStrict(t *testing.T) {
	for _, decision := range []string{`decision = "allow"`, `decision = "ask"`, "decision = \"forbid\"\nreason = \"no\""} {
		s := set(t, everyday+"\n[[command]]\nwords = [\"deploy\", \"now\"]\n"+decision)
		const command = "deploy now --all"
		plain := s.At(time.Now()).Command(command)
		for _, form := range additions {
			line := added(form, command)
			if got := s.At(time.Now()).Command(line); plain.Decision.Stricter(got.Decision) {
				t.Errorf("%q is %q, and %q alone is %q", line, got.Decision, command, plain.Decision)
			}
		}
	}
}

func FuzzAdditions(f *testing.F) {
	for i := range additions {
		f.Add(uint8(i), uint8(i*7), uint8(2), "git status")
	}
	f.Fuzz(func(t *testing.T, first, second, decision uint8, command string) {
		words := strings.Fields(command)
		for _, w := range words {
			if strings.Trim(w, "abcdefghijklmnopqrstuvwxyz-") != "" {
				return // how quotes are read is another test
			}
		}
		if len(words) == 0 || len(words) > 8 || len(command) > 200 || words[0][0] == '-' {
			return // no command
		}
		for _, w := range append(shellBuiltins, "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "select") {
			if words[0] == w {
				return // a word of the shell's own
			}
		}
		r := &Rule{Decision: []Decision{Allow, Ask, Forbid}[decision%3]}
		for _, w := range words {
			r.Words = append(r.Words, []string{w})
		}
		s := Join([]*Rule{r})
		plain := s.Command(strings.Join(words, " "))
		if plain.Decision != r.Decision {
			t.Fatalf("%q is %q by its own rule %q: %s", command, plain.Decision, r.Decision, plain.Opaque)
		}
		line := added(additions[int(first)%len(additions)], strings.Join(words, " "))
		if got := s.Command(line); plain.Decision.Stricter(got.Decision) {
			t.Errorf("%q is %q, less strict than %q", line, got.Decision, plain.Decision)
		}
		if !strings.Contains(line, "\n") && !strings.Contains(line, "'") {
			twice := added(additions[int(second)%len(additions)], line)
			if got := s.Command(twice); r.Decision != Allow && plain.Decision.Stricter(got.Decision) {
				t.Errorf("%q is %q, less strict than %q", twice, got.Decision, plain.Decision)
			}
		}
	})
}

// FuzzQuoting compares the words of every line that a rule could allow with those of bash.
func FuzzQuoting(f *testing.F) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("bash is not installed")
	}
	for _, s := range []string{`a "b c" 'd'`, `a\ b c`, `"a\"b"`, `a'b'"c"`, `"a\nb"`, `\a`, `"$"`, `a"b`, `'a'\''b'`, `a~b ~c`, `"\!"`, `a=b`, `x "a	b"`, `\\`, `"\\"`, `a b]`, "'\n'\\x\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, words string) {
		line := "echo " + words
		parts, opaque := Programs(line)
		if opaque != "" || len(parts) != 1 || parts[0][0] != "echo" || strings.ContainsAny(words, "<>") {
			return // no rule can allow it as one program
		}
		dir := t.TempDir()
		cmd := exec.Command(bash, "-c", `echo() { printf '%s\0' "$@"; }; `+"\n"+line)
		cmd.Dir, cmd.Env = dir, []string{"PATH=", "HOME=/nowhere"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("bash refuses %q, and a rule could allow it: %v", line, err)
		}
		want := strings.Join(parts[0][1:], "\x00") + "\x00"
		if string(out) != want {
			t.Errorf("%q: bash reads %q, we read %q", line, out, want)
		}
	})
}

func TestStrictestRuleDecides(t *testing.T) {
	s := set(t, `
[[command]]
words = ["git", "push"]
decision = "allow"

[[command]]
words = ["npm", "publish"]
decision = "allow"

[[command]]
words = ["git", "push", ["-f", "--force"]]
decision = "forbid"
reason = "history is shared"

[[command]]
words = ["terraform"]
decision = "ask"

[[command]]
words = ["npm", "unpublish"]
decision = "forbid"
reason = "never"

[[command]]
words = ["/opt/tool"]
decision = "forbid"
reason = "never"

[[command]]
words = ["date", "now"]
decision = "allow"
expires = 2020-01-01
`)
	for _, c := range []struct {
		line string
		want Decision
	}{
		{"git push origin main", Allow},
		{"git push && npm publish", Allow},
		{"cd lib && git push", Allow},
		{"cd lib", None},
		{"git push -f", Forbid},
		{"git push; git push --force origin", Forbid},
		{"git push && ls", None},
		{"terraform apply", Ask},
		{"echo hi; terraform plan", Ask},
		{"/opt/bin/terraform plan", Ask},
		{"/opt/tool x", Forbid},
		{"env /opt/tool", Forbid},
		{"tool x", None},
		{"git 'push' \"--force\"", Forbid},
		{"git push $FLAGS", Forbid},
		{"git status", None},
		{"date now", None},
		{"", None},
		// What stands between the words of a rule, or hides them.
		{"npm -s unpublish x", Forbid},
		{"npm --prefix /x unpublish", Forbid},
		{"npm --prefix=/x unpublish", Forbid},
		{"npm " + strings.Repeat("-a ", 1300) + "unpublish", Forbid},
		{"npm " + strings.Repeat("-a ", 1300) + "x", None},
		{"npm run unpublish", None},
		{"npm \\\nunpublish", Forbid},
		{"n$()pm unpublish é", Forbid},
		{"{npm,unpublish}", Ask},
		{`npm {"unpublish",}`, Forbid},
		{`npm un[p"]"]ublish`, Forbid},
		{`t{'erra'form,} apply`, Ask},
		{`git push {"--for"ce,} origin`, Forbid},
		{"$X", Ask},
		{"$X unpublish", Forbid},
		{"[ -f x ] && echo y", None},
		{"echo {a,b} *.go $HOME", None},
		{"echo " + strings.Repeat("x", 5000) + "; npm unpublish", Ask},
		{"echo \"", Ask},
		{"npm\tunpublish # é", Forbid},
		{"npm unpublish\r", Forbid},
	} {
		j := s.At(time.Now()).Command(c.line)
		if j.Decision != c.want || (j.Rule == nil) != (c.want == None) {
			t.Errorf("%.80q: %q by %v, want %q", c.line, j.Decision, j.Rule, c.want)
		}
	}
}

// TestExact: an exact rule allows only its own words.
func TestExact(t *testing.T) {
	s := set(t, "[[command]]\nwords = [\"npm\", [\"test\", \"t\"]]\ndecision = \"allow\"\nexact = true\n")
	for line, want := range map[string]Decision{
		"npm test": Allow, "npm t": Allow, "npm test 2>&1": Allow, "cd web && npm test": Allow, "npm test --watch": None, "npm": None, "npm test ''": None, "npm test && npm test x": None,
	} {
		if got := s.At(time.Now()).Command(line).Decision; got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if text := string(s.Rules()[0].TOML()); !strings.Contains(text, "exact = true") {
		t.Error(text)
	}
}

func TestPathsAndHosts(t *testing.T) {
	s := set(t, `
[[path]]
paths = ["~/notes", "~/notes/deep"]
access = "write"

[[path]]
paths = ["/srv/data"]
access = "read"

[[host]]
hosts = ["example.com:443"]

[[host]]
hosts = ["docs.example.com:443"]
access = "fetch"
`)
	for _, c := range []struct {
		access     Access
		path, want string
	}{
		{Write, "/home/ada/notes/a", "/home/ada/notes"}, {Read, "/home/ada/notes/a", "/home/ada/notes"}, {Write, "/home/ada/notesb", ""},
		{Write, "/home/ada/notes/deep/x", "/home/ada/notes/deep"}, {Read, "/srv/data/x", "/srv/data"}, {Write, "/srv/data/x", ""}, {Write, "/home/ada", ""},
	} {
		if got := s.At(time.Now()).Path(c.access, c.path); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.access, c.path, got, c.want)
		}
	}
	for host, want := range map[string]bool{"example.com:443": true, "example.com:80": false, "a.example.com:443": false, "docs.example.com:443": false} {
		h, err := sandbox.ParseHostPort(host)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.At(time.Now()).Host(h, false); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
		if got := s.At(time.Now()).Host(h, true); got != (want || h.Host == "docs.example.com") {
			t.Errorf("%s by a fetch: %v", host, got)
		}
	}
}

func TestFaultsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[[command]]\nwords = [\"a\"]\n", `r:1:3: decision is ""; it must be allow, ask or forbid`},
		{"[[command]]\nwords = [\"a\"]\ndecision = \"yes\"\n", `r:3:1: decision is "yes"; it must be allow, ask or forbid`},
		{"[[command]]\nwords = [\"a\", []]\ndecision = \"ask\"\n", `r:2:1: a list of alternatives is empty`},
		{"[[command]]\nwords = [\"a\", 3]\ndecision = \"ask\"\n", `r:2:1: words are texts`},
		{"[[command]]\ndecision = \"ask\"\n", `r:1:3: a rule for commands needs words`},
		{"[[command]]\nword = [\"a\"]\ndecision = \"ask\"\n", `r:2:1: unknown key command.word`},
		{"\n[[command]]\nwords = [\"rm\"]\n  decision = \"forbid\"\n", `r:4:3: a forbid needs a reason`},
		{"[[command]]\nwords = [\"eval\", \"x\"]\ndecision = \"allow\"\n", `r:2:1: "eval" changes the shell`},
		{"[[command]]\nwords = [\"./x\", \"y\"]\ndecision = \"allow\"\n", `r:2:1: "./x" depends on the folder`},
		{"[[command]]\nwords = [[\"ls\", \"bash\"]]\ndecision = \"allow\"\n", `r:2:1: bash runs a script or a text: add the words that say what (["bash" "NAME"])`},
		{"[[command]]\nwords = [\"python3\", [\"a.py\", \"-m\"]]\ndecision = \"allow\"\n", `r:2:1: python3 runs a script`},
		{"[[command]]\nwords = [\"env\", \"A=1\"]\ndecision = \"allow\"\n", `r:2:1: env runs its arguments`},
		{"[[command]]\nwords = [\"timeout\", \"5\"]\ndecision = \"allow\"\n", `r:2:1: timeout runs its arguments`},
		{"[[command]]\nwords = [\"sh\"]\ndecision = \"allow\"\nexact = true\n", `r:2:1: sh runs a script`},
		{"[[command]]\nwords = [\"a\"]\ndecision = \"ask\"\nmatch = [\"b\"]\n", `r:4:1: the rule does not match "b"`},
		{"[[command]]\nwords = [\"a\"]\ndecision = \"allow\"\nmatch = [\"a > b\"]\n", `r:4:1: the rule does not match "a > b": it contains a redirection`},
		{"[[command]]\nwords = [\"a\"]\ndecision = \"ask\"\nnot_match = [\"sudo a\"]\n", `r:4:1: the rule matches "sudo a"`},
		{"[[command]]\nwords = [\"a\"]\ndecision = \"ask\"\nexpires = \"soon\"\n", `r:4:1: expires must be a date`},
		{"[[path]]\npaths = [\"notes\"]\naccess = \"read\"\n", `r:2:1: "notes" must be an absolute path`},
		{"[[path]]\npaths = [\"/a/../b\"]\naccess = \"read\"\n", `r:2:1: "/a/../b" must be an absolute path`},
		{"[[path]]\npaths = [\"/a\"]\n", `r:1:3: access is ""; it must be read or write`},
		{"[[tool]]\ntool = \"shell\"\ndecision = \"allow\"\n", `r:2:1: tool is "shell"; it must be the name of a server and of its tool, "NAME__tool"`},
		{"[[tool]]\ntool = \"git__cre*\"\ndecision = \"allow\"\n", `r:2:1: tool is "git__cre*"; a * stands only for all tools of a server, "git__*"`},
		{"[[tool]]\ntool = \"git__x\"\ndecision = \"forbid\"\n", `r:3:1: a forbid needs a reason`},
		{"[[tool]]\ntool = \"git__x\"\ndecision = \"deny\"\n", `r:3:1: decision is "deny"; it must be allow, ask or forbid`},
		{"[[tool]]\ntool = \"git__x\"\ndecision = \"ask\"\ndescribed = \"1\"\n", `r:4:1: only an allow can depend on how a tool is described`},
		{"[[host]]\nhosts = [\"*.com\"]\n", `r:2:1: host "*.com": it would stand for names of many owners; at least two parts of a name follow the star, as in *.example.com`},
		{"[[host]]\nhosts = [\"example.com:443\"]\naccess = \"read\"\n", `r:3:1: access is "read"; for hosts it can only be fetch`},
		{"[[command]]\nwords = [\"a\"]\ndecision = \"ask\"\nexact = true\n", `r:4:1: only an allow can be exact`},
		{"[[command]]\nwords = [\"a\"]\ndecision = \"ask\"\nbackend = \"x\"\n", `r:4:1: a rule chooses a backend, or it decides: write two rules`},
		{"[[command]]\nwords = [\"a\"]\nbackend = \"x\"\nnot_match = [\"b a\", \"b; a\"]\n", `r:4:1: the rule matches "b; a"`},
		{"[[command]]\nwords = [\"a\"]\nbackend = \"x\"\nmatch = [\"b a\"]\n", `r:4:1: the rule does not match "b a"`},
		{"[[command]\n", "r:1:"},
		{"[[command]]\nwords = 3\n", "r:2:9: this value cannot be of the type integer"},
		{"[[command]]\nwords = [\"a\"]\nreason = [1]\n", "r:3:10: this value cannot be of the type array"},
		{"\ncommand = [{words = [\"a\"], decision = \"ask\"}]\n", "r:2:1: each rule begins with a line [[command]]"},
		{"[[path]]\npaths = [\"/a\"]\naccess = \"read\"\n[command]\nwords = [\"a\"]\ndecision = \"ask\"\n", "r:4:2: each rule begins with a line [[command]]"},
		{"command = 3\n", "r:1:11: this value cannot be of the type integer"},
		{"x = 1\n", "r:1:1: unknown key x"},
	} {
		_, err := Parse("r", []byte(c.text), "/home/ada")
		var fault *Error
		if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func BenchmarkCommand200Rules(b *testing.B) {
	text := everyday
	for i := range 200 {
		decision := "decision = \"ask\""
		if i%2 == 0 {
			decision = "decision = \"allow\""
		}
		text += fmt.Sprintf("[[command]]\nwords = [\"tool%d\", [\"run\", \"test\"]]\n%s\n", i, decision)
	}
	s := set(b, text)
	now := time.Now()
	for b.Loop() {
		if j := s.At(now).Command("cd sub && go test ./... 2>&1 | tail -20"); j.Decision != Allow {
			b.Fatal(j)
		}
	}
}

// TestRulesThatDifferLookDifferent: different rules have different lines, because a person reads
// the line and the ID is computed from it.
func TestRulesThatDifferLookDifferent(t *testing.T) {
	seen := map[string]bool{}
	for _, words := range [][][]string{{{"git", "status"}}, {{"git"}, {"status"}}, {{"git status"}}, {{"git|status"}}, {{"git"}, {"\"status\""}}, {{"git"}, {"status|"}}} {
		line := (&Rule{Decision: Allow, Words: words}).String()
		if seen[line] {
			t.Errorf("%q: written like another rule: %s", words, line)
		}
		seen[line] = true
	}
}

func TestRulesAreWrittenAsTheyAreRead(t *testing.T) {
	const first = "# mine\n[[command]]\nwords = [\n[\"ls\"],\n]\ndecision = \"allow\"\n"
	r := &Rule{
		Decision: Allow, Words: [][]string{{"npm"}, {"ci", "install"}}, Expires: time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC),
	}
	text := append([]byte(first), r.TOML()...)
	list, err := Parse("r", text, "/home/ada")
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %d rules of\n%s", err, len(list), text)
	}
	if got, want := list[1].String(), r.String(); got != want || !list[1].Expires.Equal(r.Expires) {
		t.Errorf("read as %s until %s\nwritten as %s", got, list[1].Expires, want)
	}
	if got := string(Without(text, list[1])); strings.TrimSpace(got) != strings.TrimSpace(first) {
		t.Errorf("without the second rule:\n%s", got)
	}
	commented := []byte("# about a\n[[command]]\nwords = [\"a\"]\ndecision = \"ask\" # x\nmatch = [\n  # y\n  \"a\",\n]\n\n# about b\n\n[[command]]\nwords = [\"b\"]\ndecision = \"ask\"\n# end\n")
	two, err := Parse("r", commented, "/home/ada")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"# about a\n# about b\n\n[[command]]\nwords = [\"b\"]\ndecision = \"ask\"\n# end\n",
		"# about a\n[[command]]\nwords = [\"a\"]\ndecision = \"ask\" # x\nmatch = [\n  # y\n  \"a\",\n]\n\n# about b\n\n# end\n",
	} {
		if got := string(Without(commented, two[i])); got != want {
			t.Errorf("without rule %d:\n%s\nwant\n%s", i, got, want)
		}
	}
	if got := string(Without(text, list[0])); strings.Contains(got, "ls") || !strings.Contains(got, "npm") || !strings.Contains(got, "# mine") {
		t.Errorf("without the first rule:\n%s", got)
	}
}

// TestBackend: a rule places a line by the programs that the line itself names.
func TestBackend(t *testing.T) {
	box := &Rule{Words: [][]string{{"npm"}}, Backend: "box"}
	s := set(t, string(box.TOML())+string((&Rule{Words: [][]string{{"npm"}, {"run"}, {"host"}}, Backend: "host"}).TOML())+string((&Rule{Words: [][]string{{"go"}}, Backend: "host"}).TOML())+string((&Rule{Words: [][]string{{"./x.wasm"}}, Backend: "host"}).TOML())+
		"[[command]]\nwords = [\"npm\"]\ndecision = \"ask\"\n")
	if got := s.Rules()[0].String(); got != "run npm in the backend box" {
		t.Error(got)
	}
	for line, want := range map[string]string{
		"npm install": "box", "true && npm i | cat": "box", "for x in a; do npm test $x; done": "box", "echo $(npm root)": "box", "A=1 'n'pm x &": "box", "/usr/bin/npm x": "box", "npm $X": "box",
		"echo ü; npm x": "box", "npm --silent run host": "host", "npm run host": "host", "npm run host; go vet": "host", "f() { npm x; }": "box", "npm x <<E\ngo vet\nE": "box",
		"./x.wasm 1": "host", "x.wasm": "", "cat <<E\nnpm\nE": "", "grep npm x": "", "env npm x": "", "bash -c 'npm x'": "", "$X npm": "", "echo npm": "", "npmx": "", "": "", "npm x; go vet": "box|host", "npm x " + strings.Repeat("x", MaxLine): "",
	} {
		j, got := s.Command(line), ""
		if j.Backend != nil {
			got = j.Backend.Backend
		}
		if j.Other != nil {
			got += "|" + j.Other.Backend
		}
		if got != want || j.Rule != nil && j.Rule.Backend != "" {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if j := Join([]*Rule{box}).Command("npm x"); j.Decision != None || j.Rule != nil {
		t.Errorf("a rule for a backend decides: %+v", j)
	}
}
