package approvals

import (
	"slices"
	"strings"
	"testing"

	"codeagent/event/word"
	"codeagent/sandbox"
)

// TestSibling: what a command was granted once it keeps. A name beside it asks for the folder, unless the command names it or the folder
// must not be opened as a whole.
func TestSibling(t *testing.T) {
	for _, row := range []struct {
		name, text, given, target string
		want, says                string
	}{
		{"a lock named by an address", "gpg --sign f", "/home/u/.gnupg/.#lk1", "/home/u/.gnupg/.#lk2", "/home/u/.gnupg", ""},
		{"a log named by the time", "npm i", "/home/u/.npm/_logs/1.log", "/home/u/.npm/_logs/2.log", "/home/u/.npm/_logs", ""},
		{"a folder beside one", "npm i", "/home/u/.npm/_cacache/tmp", "/home/u/.npm/_cacache/content", "/home/u/.npm/_cacache", ""},
		{"a cache that holds programs", "tool", "/home/u/.cache/runs/a1", "/home/u/.cache/runs/a2", "/home/u/.cache/runs", ""},
		{"in another folder", "npm i", "/home/u/.npm/_logs/1.log", "/home/u/.npm/_cacache/x", "/home/u/.npm/_cacache/x", ""},
		{"named by the command", "touch ~/.npm/_logs/b", "/home/u/.npm/_logs/a", "/home/u/.npm/_logs/b", "/home/u/.npm/_logs/b", ""},
		{"a tree that the command removes", "rm -rf /home/u/.npm", "/home/u/.npm/_logs/1.log", "/home/u/.npm/_cacache", "/home/u/.npm", ""},
		{"a tree, written with ~", "rm -rf ~/.npm", "/home/u/.npm/_cacache/x/y", "/home/u/.npm/_logs", "/home/u/.npm", ""},
		{"a tree whose inner folder is named, too", "tool ~/.npm ~/.npm/_cacache", "/home/u/.npm/_cacache/x/y", "/home/u/.npm/_cacache/z/w", "/home/u/.npm/_cacache", ""},
		{"below another name", "rm -rf ~/.npm", "/home/u/.gnupg/key", "/home/u/.npm/_logs", "/home/u/.npm/_logs", ""},
		{"a tree that is the home folder", "tool ~", "/home/u/.npm/_logs/1.log", "/home/u/.gnupg/key", "/home/u/.gnupg/key", "/home/u is not opened as a whole"},
		{"granted already", "npm i", "/home/u/.npm/_logs", "/home/u/.npm/_logs/2.log", "", ""},
		{"the home folder", "tool", "/home/u/.toolrc.tmp1", "/home/u/.toolrc.tmp2", "/home/u/.toolrc.tmp2", "/home/u is not opened as a whole"},
		{"a folder that holds the home folder", "tool", "/home/a", "/home/b", "/home/b", "/home is not opened as a whole"},
		{"a protected folder", "tool", "/home/u/src/app/.git/hooks/a", "/home/u/src/app/.git/hooks/b", "/home/u/src/app/.git/hooks/b", "is not opened as a whole"},
		{"a folder of codeagent's own", "tool", "/home/u/.config/codeagent.a", "/home/u/.config/b", "/home/u/.config/b", "/home/u/.config is not opened as a whole"},
		{"a folder of programs", "tool", "/home/u/.local/bin/a", "/home/u/.local/bin/b", "/home/u/.local/bin/b", "programs are looked for in it"},
		{"a folder behind a link", "tool", "/home/u/link/a", "/home/u/link/b", "/srv/data/b", ""},
		{"a folder that is not there", "tool", "/home/u/gone/a", "/home/u/gone/b", "/home/u/gone/b", ""},
	} {
		g := newGate(OnRequest, confined(), func(o *Options) { o.Path = []string{"/usr/bin", "/home/u/.local/bin"} })
		for _, f := range []string{"/home/u/.gnupg/key", "/home/u/.npm/_logs/0.log", "/home/u/.npm/_cacache/y", "/home/u/.local/bin/x"} {
			g.disk[f] = "f"
		}
		g.disk["/home/u/link"] = "->/srv/data"
		a, given := command(row.text, Wish{}), HeldAnswers{Given: []sandbox.Grant{{Write: []string{row.given}}}}
		d := sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: row.target, Evidence: sandbox.EvidenceKernel}
		v := sandbox.Verdict{Denied: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{d}, Suggest: sandbox.Grant{Write: []string{row.target}}}
		_, held, _ := g.DecideHeld(a, d, given)
		for how, r := range map[string]*Request{"held": held, "afterwards": g.AfterDenial(a, v, &given)} {
			if r == nil || row.want == "" {
				if r != nil || row.want != "" {
					t.Errorf("%s, %s: %+v", row.name, how, r)
				}
				continue
			}
			if !slices.Equal(r.Grant.Write, []string{row.want}) || !strings.Contains(strings.Join(r.Warnings, "\n"), row.says) {
				t.Errorf("%s, %s: %v %q", row.name, how, r.Grant.Write, r.Warnings)
			}
			if how == "held" {
				continue
			}
			p, err := g.Settle(r, Answer{Decision: Once})
			if pol := mustPolicy(t, p, err, a); !pol.JudgeWrite(row.target).Allowed && !strings.Contains(row.target, "/link/") || row.says == "" && !pol.JudgeWrite(row.given).Allowed && !strings.Contains(row.given, "/link/") {
				t.Errorf("%s: the next run has not what was granted", row.name)
			}
			if len(p.Given()) != 2 {
				t.Errorf("%s: %v stays granted", row.name, p.Given())
			}
			if _, err := p.Policy(command(row.text+" ", Wish{})); err == nil {
				t.Errorf("%s: another command may use it", row.name)
			}
			if again := g.AfterDenial(a, v, &HeldAnswers{}); again == nil || slices.Contains(again.Grant.Write, row.given) {
				t.Errorf("%s: another call keeps it: %+v", row.name, again)
			}
		}
	}
}

// TestGrantedMeanwhile: what was refused before a yes to the same running command covered it needs no second question, once.
func TestGrantedMeanwhile(t *testing.T) {
	d := sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: "/srv/site/1.html", Evidence: sandbox.EvidenceKernel}
	v := sandbox.Verdict{Denied: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{d}, Suggest: sandbox.Grant{Write: []string{d.Target}}}
	site, server := []sandbox.Grant{{Write: []string{"/srv/site"}}}, command("tar x -C /srv/site", Wish{})
	server.Kind = word.KindServer
	for name, row := range map[string]struct {
		a          Action
		held       HeldAnswers
		asks, runs bool
	}{
		"granted while it ran":  {command("tar x -C /srv/site", Wish{}), HeldAnswers{Given: site, News: true}, true, true},
		"granted before it ran": {command("tar x -C /srv/site", Wish{}), HeldAnswers{Given: site}, false, false},
		"something else was":    {command("tar x -C /srv/site", Wish{}), HeldAnswers{Given: []sandbox.Grant{{Write: []string{"/srv/other"}}}, News: true}, true, false},
		"to a server":           {server, HeldAnswers{Given: site, News: true}, false, false},
	} {
		g := newGate(OnRequest, confined())
		q := g.AfterDenial(row.a, v, &row.held)
		if (q != nil) != row.asks {
			t.Errorf("%s: %+v", name, q)
		}
		if q == nil {
			continue
		}
		p, runs := g.Ruled(q)
		if runs != row.runs {
			t.Errorf("%s: runs unasked %v", name, runs)
		}
		if pol, err := p.Policy(row.a); runs && (err != nil || !pol.JudgeWrite(d.Target).Allowed || pol.JudgeWrite("/srv/other").Allowed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
