package named

import (
	"testing"

	"codeagent/sandbox"
)

func refused(text string, targets ...string) *RefusedCommand {
	r := &RefusedCommand{Text: text, Folder: "/home/u/ws", Home: "/home/u"}
	for _, t := range targets {
		d := sandbox.Denial{Kind: sandbox.KindWrite, Target: t}
		if t[0] != '/' {
			d.Kind = sandbox.KindNetwork
		}
		r.Denials = append(r.Denials, d)
	}
	return r
}

// TestHandled: the text handles a refusal if its program is left of || and is started again for
// another place. Merely hiding the status does not count.
func TestHandled(t *testing.T) {
	for _, row := range []struct {
		text    string
		targets []string
		want    bool
	}{
		{"mkdir /x || mkdir ./x", []string{"/x"}, true},
		{"mkdir /x 2>/dev/null || mkdir -p ~/tmp/x", []string{"/x"}, true},
		{"cp a /srv/ || cp a ./out/", []string{"/srv/a"}, true},
		{"echo x > /srv/a || echo x > ./a", []string{"/srv/a"}, true},
		{"mkdir /x || mkdir /y || mkdir ./z", []string{"/x", "/y"}, true},
		{"cd sub && (mkdir /x || { echo no; mkdir x; }) && ls", []string{"/x"}, true},
		{"if ! mkdir /x; then mkdir ./x; fi", []string{"/x"}, true},
		{"if mkdir /x; then ls; else mkdir ./x; fi", []string{"/x"}, true},
		{"make && cp a /srv/ || cp a out", []string{"/srv/a"}, true},
		{"curl https://a.example/x || curl https://b.example/x", []string{"a.example:443"}, true},

		{"mkdir /x || true", []string{"/x"}, false},
		{"mkdir /x || :", []string{"/x"}, false},
		{"mkdir /x || mkdir", []string{"/x"}, false},
		{"mkdir /x; mkdir ./x", []string{"/x"}, false},
		{"mkdir /x && mkdir ./x", []string{"/x"}, false},
		{"mkdir /x | cat || mkdir ./x", []string{"/x"}, false},
		{"(mkdir /x; true) || mkdir ./x", []string{"/x"}, false},
		{"mkdir /x || true || mkdir ./x", []string{"/x"}, false},
		{"! mkdir /x || mkdir ./x", []string{"/x"}, false},
		{"mkdir /x & mkdir ./x", []string{"/x"}, false},
		{"mkdir /x || mkdir /y", []string{"/x", "/y"}, false},
		{"mkdir /x || mkdir ./x; touch /y || true", []string{"/x", "/y"}, false},
		{"cp a /srv/; cp b /srv/ || cp b ./out/", []string{"/srv/a"}, false},
		{"cp a /srv/ || cp b ./out/", []string{"/srv/a"}, false},
		{"echo x > /srv/a || echo failed", []string{"/srv/a"}, false},
		{"echo x > /srv/a || echo x", []string{"/srv/a"}, false},
		{"if mkdir /x; then mkdir ./x; fi", []string{"/x"}, false},
		{"if ! mkdir /x; then ls; else mkdir ./x; fi", []string{"/x"}, false},
		{"(echo x > /srv/a) 2>&1 | cat", []string{"/srv/a"}, false},
		{"sh x.sh || sh x.sh", []string{"/srv/a"}, false},
		{"if then '", []string{"/x"}, false},
		{"mkdir /x || mkdir ./x", nil, false},
	} {
		if got := refused(row.text, row.targets...).Handled(); got != row.want {
			t.Errorf("%s, refused %q: handled %v", row.text, row.targets, got)
		}
	}
}

// TestDoneBy: a later command did the same if its programs and words are the same, except for
// options and the refused place.
func TestDoneBy(t *testing.T) {
	for _, row := range []struct {
		text, target, later string
		want                bool
	}{
		{"mkdir /x", "/x", "mkdir ./x", true},
		{"echo x > ~/kept", "/home/u/kept", "echo x > kept && cat kept", true},
		{"go build ./... 2>&1 | tail -5", "/home/u/.cache/go", "GOCACHE=$PWD/.c go build ./...", true},
		{"npm install -g foo", "/usr/lib/node_modules/foo", "npm install foo", true},
		{"cd web && npm install", "registry.example:443", "cd web && npm install --offline 2>&1 | tail -3", true},
		{"curl -O https://a.example/x.tgz", "a.example:443", "curl -O https://b.example/x.tgz", true},
		{"pip install x", "/usr/lib/x", "pip install --target . x", true},

		{"echo x > ~/kept", "/home/u/kept", "ls", false},
		{"echo x > ~/kept", "/home/u/kept", "echo x", false},
		{"echo x > ~/kept", "/home/u/kept", "echo y > kept", false},
		{"touch ~/kept", "/home/u/kept", "touch other", false},
		{"cat ~/.secret", "/home/u/.secret", "cat main.go", false},
		{"git push origin main", "github.example:22", "git status", false},
		{"git push origin main", "github.example:22", "git log origin main", false},
		{"npm ci && npm test", "registry.example:443", "npm test", false},
		{"cd web && npm install", "registry.example:443", "cd web && ls", false},
		{"curl https://a.example", "a.example:443", "curl https://b.example", false},
		{"if then '", "/x", "ls", false},
	} {
		if got := refused(row.text, row.target).DoneBy(row.later); got != row.want {
			t.Errorf("%s, then %s: %v", row.text, row.later, got)
		}
	}
}

// FuzzOtherwise: a text that only adds a way to pass never handles a refusal. Parsing always ends.
func FuzzOtherwise(f *testing.F) {
	f.Add("mkdir /x || mkdir ./x", "mkdir x")
	f.Add("if ! cp a /x; then cp a x; fi", "{ }")
	f.Fuzz(func(t *testing.T, text, later string) {
		r := refused(text, "/x")
		r.DoneBy(later)
		if r.Handled() {
			r.Text = "(" + text + "\n) | cat; mkdir /x | cat"
			if r.Handled() {
				t.Errorf("handled: %s", r.Text)
			}
		}
	})
}
