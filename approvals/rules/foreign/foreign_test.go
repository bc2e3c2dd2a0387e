package foreign

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/approvals/rules"
)

var update = flag.Bool("update", false, "write the golden files")

const home = "/home/ada"

var readers = map[string]func(string, []byte, string) (Result, error){"settings.json": Claude, "default.rules": Codex, "config.toml": CodexConfig}

func imported(t *testing.T, name string) Result {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readers[name]("/some/where/"+name, data, home)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestImport compares rules and notes with the golden files, and parses the rules.
func TestImport(t *testing.T) {
	for name := range readers {
		got := imported(t, name)
		text := string(got.TOML) + "\n--- notes\n" + strings.Join(got.Notes, "\n") + "\n"
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s became:\n%s", name, text)
		}
		list, err := rules.Parse(name, got.TOML, home)
		if err != nil || len(list) != got.Rules {
			t.Errorf("%s: %d rules are counted, %d read: %v", name, got.Rules, len(list), err)
		}
	}
}

// matcher returns a function that reports whether one of Claude Code's rules for Bash matches a
// command that is one program.
func matcher(list []string) func(command string) bool {
	var forms []*regexp.Regexp
	for _, rule := range list {
		forms = append(forms, form(strings.TrimSuffix(strings.TrimPrefix(rule, "Bash("), ")")))
	}
	return func(command string) bool {
		return slices.ContainsFunc(forms, func(f *regexp.Regexp) bool { return f.MatchString(command) })
	}
}

func form(of string) *regexp.Regexp {
	if before, ok := strings.CutSuffix(of, ":*"); ok {
		of = before + " *"
	}
	form := strings.ReplaceAll(regexp.QuoteMeta(of), `\*`, `.*`)
	if before, ok := strings.CutSuffix(form, " .*"); ok {
		form = before + "( .*)?"
	}
	return regexp.MustCompile("^" + form + "$")
}

// TestNeverWider compares for many commands what the translation and the original allow and forbid.
func TestNeverWider(t *testing.T) {
	allow := []string{"Bash(npm run build)", "Bash(npm run test:*)", "Bash(git log *)", "Bash(git:*)", "Bash(ls*)", "Bash(make test)", "Bash(git * main)", "Bash(rm *)"}
	ask := []string{"Bash(git push:*)", "Bash(make test --all)"}
	deny := []string{"Bash(rm -rf *)", "Bash(git commit --no-verify*)", "Bash(npm run test -- --update*)"}
	quote := func(list []string) string { return `["` + strings.Join(list, `","`) + `"]` }
	got, err := Claude("s", []byte(`{"permissions":{"allow":`+quote(allow)+`,"ask":`+quote(ask)+`,"deny":`+quote(deny)+`}}`), home)
	if err != nil {
		t.Fatal(err)
	}
	list, err := rules.Parse("s", got.TOML, home)
	if err != nil {
		t.Fatal(err)
	}
	set := rules.Join(list)
	denies, asks, allows := matcher(deny), matcher(ask), matcher(allow)
	words := []string{"git", "npm", "run", "build", "test", "tests", "log", "push", "commit", "--no-verify-x", "rm", "-rf", "lsof", "make", "--all", "--"}
	var commands []string
	for _, a := range words {
		commands = append(commands, a)
		for _, b := range words {
			commands = append(commands, a+" "+b)
			for _, c := range words {
				commands = append(commands, a+" "+b+" "+c)
				for _, d := range []string{"--update", "x", "main"} {
					commands = append(commands, a+" "+b+" "+c+" "+d)
				}
			}
		}
	}
	counts := map[rules.Decision]int{}
	for _, command := range commands {
		want := rules.None
		switch {
		case denies(command):
			want = rules.Forbid
		case asks(command):
			want = rules.Ask
		case allows(command):
			want = rules.Allow
		}
		ours := set.At(time.Now()).Command(command).Decision
		if want.Stricter(ours) {
			t.Errorf("%q is %q, and %q in the original", command, ours, want)
		}
		counts[ours]++
	}
	if counts[rules.Allow] == 0 || counts[rules.Ask] == 0 || counts[rules.Forbid] == 0 {
		t.Errorf("decisions: %v", counts)
	}
}

// TestWhatIsLostTakesPermissionsAlong: if a rule that refuses cannot be translated, permissions
// that it may affect are left out.
func TestWhatIsLostTakesPermissionsAlong(t *testing.T) {
	for _, c := range []struct {
		read func(string, []byte, string) (Result, error)
		text string
		want string // the rules in words
	}{
		{Claude, `{"permissions":{"allow":["Bash(git:*)","Edit(//a/**)"],"deny":["Bash(* --force)"]}}`, "allow write /a"},
		{Claude, `{"permissions":{"allow":["Bash(git:*)"],"deny":["Bash"]}}`, ""},
		{Claude, `{"permissions":{"allow":["Bash(git:*)"],"ask":["Bash(run_in_background:true)"]}}`, ""},
		{Claude, `{"permissions":{"allow":["Bash(git:*)"],"deny":["bad rule ("]}}`, ""},
		{Claude, `{"permissions":{"allow":["Bash(git:*)"],"deny":["$(x)"]}}`, ""},
		{Claude, `{"permissions":{"allow":["Edit(//a/b/**)","Edit(//c)"],"deny":["Edit(//a/**)"]}}`, "allow write /c"},
		{Claude, `{"permissions":{"allow":["Edit(~/a/**)"],"deny":["Read(//home/ada/a/*.pem)"]}}`, ""},
		{Claude, `{"permissions":{"allow":["Edit(~/a/**)"],"deny":["Edit"]}}`, ""},
		{Claude, `{"permissions":{"allow":["WebFetch(domain:a.example)","WebFetch(domain:b.example)"],"deny":["WebFetch(domain:B.example)"]}}`, "allow fetch a.example:443"},
		{Claude, `{"permissions":{"allow":["WebFetch(domain:a.example)"],"ask":["WebFetch"]}}`, ""},
		{Claude, `{"permissions":{"allow":["Read(~/../x/**)","Read(~)","Read(//)","Read(//home)"]}}`, "allow read /home"},
		{Codex, "prefix_rule(pattern=['git'])\nfor x in ['rm']:\n    prefix_rule(pattern=[x], decision='forbidden')\n", ""},
		{Codex, "prefix_rule(pattern=['git'])\nprefix_rule(pattern=BAD, decision='forbidden')", ""},
		{Codex, "prefix_rule(pattern=['git'])\nprefix_rule(['rm'], 'forbidden')", ""},
		{Codex, "prefix_rule(pattern=['git'])\nprefix_rule(pattern=['rm'], decision='refuse')", ""},
		{Codex, "prefix_rule(pattern=['git'])\nprefix_rule(pattern=['rm', None], decision='forbidden')", ""},
		{Codex, "prefix_rule(pattern=['git'])\nload('x', 'y')", ""},
		{Codex, "prefix_rule(pattern=['git'])\nprefix_rule(pattern=['rm'], decision='forbidden') if True else None", ""},
		{Codex, "prefix_rule(pattern=['git'])\nprefix_rule(pattern=['rm'], pattern=['x'], decision='forbidden')", ""},
		{Codex, "prefix_rule(pattern=['git']); prefix_rule(pattern=[r'r\\m', \"\"\"x\ny\"\"\", 'a\\tb\\'']) # end", `allow git, allow r\m "x\ny" "a\tb'"`},
		{Codex, "prefix_rule(pattern=['git'])\nnetwork_rule(host='a.example', protocol='https', decision='allow')\nnetwork_rule(host='A.example', protocol='http', decision='prompt')", "allow git"},
	} {
		got, err := c.read("f", []byte(c.text), home)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		list, err := rules.Parse("f", got.TOML, home)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		var words []string
		for _, r := range list {
			words = append(words, r.String())
		}
		if s := strings.Join(words, ", "); s != c.want {
			t.Errorf("%s\nbecame %q, want %q; notes %q", c.text, s, c.want, got.Notes)
		}
		if c.want == "" && len(got.Notes) == 0 {
			t.Errorf("%s: no note", c.text)
		}
	}
}

// TestBrokenFiles: an error names the place, and nothing is imported.
func TestBrokenFiles(t *testing.T) {
	for _, c := range []struct {
		read       func(string, []byte, string) (Result, error)
		text, want string
	}{
		{Claude, "{\n\"permissions\": {\n", "f: line 2: the file ends too early"},
		{Claude, "{} {}", "f: line 1: more than one value"},
		{Claude, strings.Repeat("[", 5000), "f: line 1: it is nested too deeply"},
		{Codex, "prefix_rule(\npattern=['a)", "f:2:10: "},
		{Codex, "prefix_rule(pattern=['a']", "f:1:26: "},
		{Codex, "\n)", "f:2:1: "},
		{Codex, "prefix_rule(pattern=['r' 'm'])", "f:1:29: "},
		{Codex, "prefix_rule(pattern=[f'rm'])", "f:1:27: "},
		{Codex, strings.Repeat("(", 1<<20), "f:1:"},
		{Codex, strings.Repeat("-", 1<<20) + "1", "f:1:"},
		{Codex, strings.Repeat("not ", 1<<20) + "1", "f:1:"},
		{Codex, strings.Repeat("lambda: ", 1<<20) + "1", "f:1:"},
		{CodexConfig, "a = [", "f:1:5: array is incomplete"},
		{CodexConfig, "sandbox_workspace_write = 3", "f:1:27: this value cannot be of the type integer"},
	} {
		got, err := c.read("/x/f", []byte(c.text), home)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(got.TOML) > 0 {
			t.Errorf("%.60q: %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzImport: no file crashes the program, and the output is always a valid rules file.
func FuzzImport(f *testing.F) {
	for name := range readers {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("prefix_rule(pattern=[r'\\', '\\x41', '''a'''])")
	f.Fuzz(func(t *testing.T, text string) {
		for name, read := range readers {
			got, err := read(name, []byte(text), home)
			if err != nil {
				continue
			}
			if list, err := rules.Parse(name, got.TOML, home); err != nil || len(list) != got.Rules {
				t.Errorf("%s of %q: %d rules, %v\n%s", name, text, len(list), err, got.TOML)
			}
		}
	})
}

// TestLostHostUnderAWildcard: a wildcard that allows a host which the other agent denied is left out.
func TestLostHostUnderAWildcard(t *testing.T) {
	const allow = "network_rule(host = \"*.a.example\", protocol = \"https\", decision = \"allow\")\n"
	for denied, want := range map[string]int{"b.example": 1, "a.example": 1, "x.a.example": 0, "x.y.a.example": 0, "*.b.example": 0} {
		got, err := Codex("default.rules", []byte(allow+"network_rule(host = \""+denied+"\", protocol = \"https\", decision = \"deny\")\n"), home)
		if err != nil || got.Rules != want {
			t.Errorf("%s denied: %d rules, want %d: %v, %q", denied, got.Rules, want, err, got.Notes)
		}
	}
}
