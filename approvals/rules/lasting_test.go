package rules

import (
	"strings"
	"testing"
	"time"
)

// TestForLine: the rules of a line allow the line, and no longer one. If there are no rules, the
// reason is given.
func TestForLine(t *testing.T) {
	for line, want := range map[string]string{
		"npm test":                       "",
		"cd web && npm run build 2>&1":   "",
		"git log -5 | head -3":           "",
		"go test ./... -run 'TestA|B'":   "",
		"make -C sub all":                "",
		"git commit -m 'fix -c and env'": "",
		"/usr/bin/make":                  "",
		"git -c a=b log":                 "git -c runs its arguments",
		"git --exec-path=x log":          "git --exec-path runs its arguments",
		"/usr/bin/env make":              "env runs its arguments",
		"python3.12 -m pytest":           "python3.12 runs a script",
		"node x.js":                      "node runs",
		"FOO=1 make":                     "sets a variable",
		"make > out":                     "redirection",
		"echo $HOME":                     "expanded",
		"npm exec tsc":                   "npm exec runs its arguments",
		"tar --to-command=sh -xf a":      "tar --to-command runs",
		"find . -exec rm {} ;":           "expanded",
		"find . -name a -exec rm '{}' +": "find -exec runs",
		"./build.sh":                     "depends on the folder",
		"bin/tool x":                     "depends on the folder",
		"trap x EXIT":                    "runs its arguments",
		"cd web":                         "no program",
		"a && b && c && d":               "4 programs",
		"make &":                         "&",
		"":                               "no command",
	} {
		list, why := ForLine(line)
		if (want == "") != (why == "") || !strings.Contains(why, want) || (why == "") == (len(list) == 0) {
			t.Errorf("%q: %d rules, withheld for %q, want %q", line, len(list), why, want)
			continue
		}
		var text strings.Builder
		for _, r := range list {
			text.Write(r.TOML())
		}
		parsed, err := Parse("r", []byte(text.String()), "")
		if err != nil {
			t.Errorf("%q: %v in\n%s", line, err, text.String())
			continue
		}
		s := Join(parsed)
		if why == "" && s.At(time.Now()).Command(line).Decision != Allow || s.At(time.Now()).Command(line+" x").Decision == Allow {
			t.Errorf("%q: its rules judge otherwise:\n%s", line, text.String())
		}
	}
}

// TestProject: a rule with a project applies in the project and below it. Through a link a rule may
// forbid, but not allow.
func TestProject(t *testing.T) {
	list, err := Parse("r", []byte(`
[[command]]
words = ["a"]
decision = "allow"
project = "~/src/app"
[[command]]
words = ["b"]
decision = "forbid"
reason = "x"
project = "/link/"
[[command]]
words = ["c"]
decision = "allow"
project = "/link"
[[command]]
words = ["d"]
backend = "bwrap"
project = "/link"
[[path]]
paths = ["/p"]
access = "write"
project = "/home/u/src"
[[host]]
hosts = ["h.example:443"]
`), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		"/home/u/src/app": "a b /p h", "/home/u/src/app/sub": "a b /p h", "/home/u/src/apple": "/p h", "/home/u/src": "/p h", "/home/u": "h", "/link": "b c d h",
	} {
		set := Join(list).In(folder, func(p string) string {
			if p == "/link" {
				return "/home/u/src/app"
			}
			return p
		})
		var got []string
		for _, r := range set.Rules() {
			switch {
			case len(r.Words) > 0:
				got = append(got, r.Words[0][0])
			case len(r.Paths) > 0:
				got = append(got, r.Paths[0])
			default:
				got = append(got, "h")
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("in %s: %v, want %s", folder, got, want)
		}
	}
	if _, err := Parse("r", []byte("[[host]]\nhosts = ['h.example:443']\nproject = 'app'\n"), ""); err == nil || !strings.HasPrefix(err.Error(), "r:3:1: ") {
		t.Errorf("a relative project: %v", err)
	}
}
