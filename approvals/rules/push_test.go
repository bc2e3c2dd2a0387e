package rules

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// overwriting and harmless pushes. Lines that bash turns into the same arguments are judged alike.
var pushLines = struct{ forced, not []string }{
	forced: []string{
		"git push -f",
		`git push {"--for"ce,} origin`,
		"git push --force",
		"git push --force origin main",
		"git push origin main --force",
		"git push --force-with-lease=main:abc origin main",
		"git push --force-w",
		"git push -uf origin x",
		"git push -fu origin x",
		"git push origin +main",
		"git push origin +refs/heads/*:refs/heads/*",
		"git push origin :old",
		"git push origin --delete old",
		"git push -d origin old",
		"git push --mirror backup",
		"git push --prune origin",
		"git push -- origin +main",
		"git push -o ci.skip -f",
		"git push -f -o -n",
		"git push -f -- -n",
		"git push --dry-run --no-dry-run -f",
		"/usr/bin/git push -f",
		"git -C /srv/x push -f",
		"git -C \"$d\" push -f",
		"git --git-dir=$d/.git --work-tree . push -f",
		"git --no-pager -c core.pager=cat push -f",
		"git -c alias.p='push -f' p",
		"git -c alias.p='!git push --force' p",
		"git -c remote.origin.push=+refs/heads/*:refs/heads/* push",
		"git -c remote.origin.mirror=true push origin",
		"git config --global alias.p 'push -f'",
		"git config remote.origin.push +refs/heads/*:refs/heads/* && git push",
		"git ${p:-push} -f",
		"p=push; git $p -f",
		"GIT=git; $GIT push -f",
		"$(command -v git) push -f",
		"source <(echo git push -f)",
		"! git push -f",
		"git send-pack --force ../other.git main",
		"git-push -f",
		"/usr/lib/git-core/git-send-pack --mirror x",
		"g'i't pu\\sh \"-\"f",
		"git $'push' $'\\x2df'",
		"git pu\\\nsh -f",
		"true && git push -f || true",
		"if true; then git push -f; fi",
		"(cd x; git push -f) &",
		"x=$(git push -f 2>&1)",
		"f() { git push -f; }; f",
		"f() { git \"$@\"; }; f push -f",
		"X=1 git push -f",
		"env -i A=b git push -f",
		"timeout -k 5 10 git push -f",
		"sudo -u me nice -n 5 git push -f",
		"command git push -f",
		"exec git push -f",
		"eval git push -f",
		"eval \"git push -f\"",
		"sh -c 'git push -f'",
		"bash -lc \"cd x && git push -f\"",
		"env bash -c 'sh -c \"git push -f\"'",
		"bash <<< 'git push -f'",
		"bash <<EOF\ngit push -f\nEOF",
		"cat <<EOF | sh\ngit push -f\nEOF",
		"echo git push -f | sh",
		"printf '%s\\n' 'git push -f' | sudo bash",
		"eval \"$(echo git push -f)\"",
		"bash <(echo git push -f)",
		"$(echo git) push -f",
		"$(echo git push -f)",
		"\"$GIT\" push -f",
		"/usr/bin/g?t push -f",
		"git $(echo push -f)",
		"cmd='push -f'; git $cmd",
		"X='git push'; $X -f",
		"a=(push -f); git \"${a[@]}\"",
		"set -- push -f; git \"$@\"",
		"F=--force; git push $F",
		"F=-; F+=f; git push $F",
		"git push ${F:+--force}",
		"git push $x",
		"git push origin \"$x\"",
		"git push -$x origin main",
		"git push {-f,origin}",
		"for r in a b; do git push -f $r; done",
		"for f in -q -f; do git push $f; done",
		"echo -f | xargs git push",
		"git branch -r | xargs -n 1 git push origin --delete",
		"find . -name .git -execdir git push -f ';'",
		"find . -name .git -exec sh -c 'git push -f' ';'",
		"git submodule foreach git push -f",
		"git submodule foreach 'git push -f'",
		"git rebase -x 'git push -f' main",
		"docker run img sh -c 'git push -f'",
		"python3 -c 'import os; os.system(\"git push -f\")'",
		"python3 -c 'import subprocess as s; s.run([\"git\", \"push\", \"--force\"])'",
		"env perl -e 'system \"git push -f\"'",
		"python3 - <<'EOF'\nimport os\nos.system('git push -f')\nEOF",
		"git push -f 'unfinished",
		"git push -f # " + strings.Repeat("x", MaxLine),
		"git -C 'my dir' push -f",
		`git -C my\ dir push -f`,
		`git -C "a;b" push -f`,
		`git -C "$d/sub" push -f`,
		`git -c user.name="A B" push -f`,
		`git -c user.name="A B" -c alias.x='push -f' x`,
		`git -c user.name="A B" -c remote.origin.push=+x:y push`,
		`git -c http.extraHeader="Authorization: bearer x" push --force origin main`,
		`git -c credential.helper='!f() { echo x; }; f' push -f`,
		`git -c 'credential.helper=!gh auth git-credential' push -f`,
		"git -c REMOTE.origin.Mirror=true push origin",
		"git config alias.p 'push -f'",
		"git config --file x alias.p 'push -f'",
		`git push -o "a;b" -f`,
		`git push "https://x/y?a&b" +main`,
		"git push 2>&1 -f",
		"git push `cat options`",
		"git push $(git branch > x; echo -f)",
		"git push origin $(git rev-parse -- +main)",
		"git push -v{f,} origin",
		"git push origin :{a,b}",
		`git $'\x70ush' -f`,
		"g{it,} push -f",
		"/usr/bin/gi[t] push -f",
		"F=--force; git push ${F:-} origin",
		"for f in -q -f\ndo\n git push $f\ndone",
		`sh -c 'git -c user.name="A B" push -f'`,
		"bash <<EOF\ngit -C 'my dir' push -f\nEOF",
	},
	not: []string{
		"git push",
		"git push origin main",
		"git push -u origin x",
		"git push --set-upstream origin x",
		"git push --tags",
		"git push --follow-tags --progress origin HEAD:refs/heads/x",
		"git push -o ci.skip origin main",
		"git push -ofoo origin main",
		"git push origin :",
		"git push origin HEAD:$b",
		"git push -u origin \"$(git branch --show-current)\"",
		"git push origin $(git rev-parse --abbrev-ref HEAD)",
		"b=topic; git push origin \"$b\"",
		"b=$(git symbolic-ref --short HEAD) && git push -u origin \"$b\"",
		"for r in origin backup; do git push \"$r\" main; done",
		"a=(push origin main); git \"${a[@]}\"",
		"git -C \"$dir\" push origin main",
		"git -c push.default=current push",
		"git config push.default current && git push",
		"git config remote.origin.fetch +refs/heads/*:refs/remotes/origin/* && git push",
		"git stash push -f",
		"git stash push -m +x",
		"git fetch -f origin +main:main && git push origin topic",
		"git branch -d old; git push origin topic",
		"git commit -m \"push -f\"",
		"git checkout -f; git status; echo push",
		"git $cmd -f",
		"bash -c 'git push origin main'",
		"docker push -f image",
		"npm run push -- -f",
		"make push && rm -f x",
		"\"$PY\" setup.py push",
		"rm -f \"$x\" push",
		"git pull -f && ls -d push",
		"go test ./... -run Push",
		"xargs -n 1 git fetch < push",
		"find . -name push -delete",
		"git push --dry-run origin main",
		`git -C "my dir" push origin main`,
		`git -C "my dir" stash push -f`,
		`git -c user.name="A B" commit -m x && git push origin main`,
		`git -c http.extraHeader="Authorization: bearer $T" push origin main`,
		"git push -u origin `git branch --show-current`",
		"git config alias.p 'push origin'",
	},
}

func TestOverwritesRemote(t *testing.T) {
	if n := len(pushLines.forced) + len(pushLines.not); n < 60 {
		t.Fatalf("%d lines", n)
	}
	for _, line := range pushLines.forced {
		if !OverwritesRemote(line) {
			t.Errorf("not seen: %s", line)
		}
	}
	for _, line := range append(lines(t, "everyday.txt"), pushLines.not...) {
		if OverwritesRemote(line) {
			t.Errorf("forced: %s", line)
		}
	}
}

// Words that hold a line count as the line, so that no rule for one push allows another one beside it.
func TestOverwritesByWords(t *testing.T) {
	for line, want := range map[string]bool{
		"git\xffpush\xff-f": true, "sh\xff-c\xffgit push -f": true, "git\xffrebase\xff-x\xffgit -C 'my dir' push -f": true,
		"git\xffpush": false, "sh\xff-c\xffgit push": false, "git\xffpush origin\xff-f": true,
	} {
		if got := OverwritesByWords(strings.Split(line, "\xff")); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
}

// TestEachWayToStartAPush: a push is recognised whatever program starts it.
func TestEachWayToStartAPush(t *testing.T) {
	for _, form := range additions {
		if line := added(form, "git push -f"); !OverwritesRemote(line) {
			t.Errorf("not seen: %s", line)
		}
		if line := added(form, "git fetch -f origin push"); OverwritesRemote(line) {
			t.Errorf("forced: %s", line)
		}
	}
}

// TestPushesAsBashRunsThem runs the lines with a git that only records its arguments. No line that
// is judged harmless starts a forced push.
func TestPushesAsBashRunsThem(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	bin := t.TempDir()
	for _, name := range []string{"bash", "cat", "env", "find", "nice", "sh", "timeout", "xargs"} {
		if p, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(p, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	const git = "#!/bin/sh\nfor w in git \"$@\"; do printf '%s\\0' \"$w\"; done >> \"$NOTES\"; printf '\\n\\0' >> \"$NOTES\"; exit 0\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(git), 0o755); err != nil {
		t.Fatal(err)
	}
	runs := func(line string) (forced bool) {
		dir := t.TempDir()
		notes := filepath.Join(t.TempDir(), "notes")
		ctx, done := context.WithTimeout(context.Background(), time.Minute)
		defer done()
		cmd := exec.CommandContext(ctx, bash, "-c", line)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin, "NOTES=" + notes, "HOME=" + dir}
		_ = cmd.Run() // many fail, because the programs that they need do not exist
		data, err := os.ReadFile(notes)
		if err != nil {
			return false // git was not started
		}
		for _, call := range strings.Split(string(data), "\x00\n\x00") {
			forced = forced || OverwritesByWords(strings.Split(call, "\x00"))
		}
		return forced
	}
	seen := 0
	for _, line := range pushLines.forced {
		if !strings.Contains(line, "/usr/") && len(line) < MaxLine && runs(line) {
			seen++
		}
	}
	if seen < 50 {
		t.Errorf("bash starts a forced push for %d lines", seen)
	}
	for _, line := range pushLines.not {
		if runs(line) {
			t.Errorf("bash starts a forced push: %s", line)
		}
	}
}

func BenchmarkOverwritesRemote(b *testing.B) {
	for name, line := range map[string]string{
		"common":  "cd sub && go test ./... 2>&1 | tail -20",
		"push":    "git add -A && git commit -m 'Say more' && git push -u origin topic",
		"pipes":   strings.Repeat("echo push a|sh|", 200) + "sh",
		"nested":  strings.Repeat("sh -c 'push ", 150),
		"parens":  strings.Repeat("$(push ", 500),
		"printed": strings.Repeat("eval \"$(echo git push)\";", 150),
		"options": strings.Repeat("git -C push ", 100_000),
		"pushes":  strings.Repeat("git push ", 100_000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				OverwritesRemote(line)
			}
		})
	}
}

// FuzzOverwritesRemote: parsing always ends, and a forced push in front of any text is always
// recognised.
func FuzzOverwritesRemote(f *testing.F) {
	for _, line := range pushLines.forced {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		OverwritesRemote(line)
		if !OverwritesRemote("git push -f\n" + line) {
			t.Errorf("not seen before %q", line)
		}
	})
}
