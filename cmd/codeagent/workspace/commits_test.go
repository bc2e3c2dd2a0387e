package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"codeagent/config"
	"codeagent/gitrun"
	"codeagent/hostfile"
	"codeagent/internal/git"
)

// TestCommitsOfSessions: HEAD is a commit that an earlier session made, and the commits vouch that were there before
// that session, until the person adopts it.
func TestCommitsOfSessions(t *testing.T) {
	const commits = "echo evil > .envrc; git add .envrc; git commit -qm 2"
	for _, row := range []struct {
		name, script   string
		killed, beside bool
		own            bool // what the later session finds vouches
	}{
		{"nothing", ":", false, false, true},
		{"reads", "git status; git log; git diff; git switch -q old; git switch -q main", false, false, true},
		{"a commit", commits, false, false, false},
		{"a killed session", commits, true, false, false},
		{"a commit under another name", "git switch -q old; " + commits + "; git switch -q main", false, false, false},
		{"a commit that no name leads to", "git switch -q --detach; " + commits + "; git switch -q main; rm -r .git/logs", false, false, false},
		{"a commit, with the time of the store set back", commits + "; find .git -exec touch -d 2001-01-01 {} +", false, false, false},
		{"a pack", commits + "; git repack -qad; git prune-packed", false, false, false},
		{"a fetch", "git init -qb main ../other; cd ../other; git config user.name o; git config user.email o@o; " + commits + "; cd - >/dev/null; git fetch -q ../other; git reset -q --hard FETCH_HEAD", false, false, false},
		{"a commit beside a session that made none", commits, true, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			own, state := filepath.Join(dir, "own"), filepath.Join(dir, "state")
			if err := os.MkdirAll(state, 0o700); err != nil {
				t.Fatal(err)
			}
			run := func(script string) {
				cmd := exec.Command("/bin/bash", "-euc", script)
				cmd.Dir, cmd.Env = own, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
			}
			if err := os.Mkdir(own, 0o755); err != nil {
				t.Fatal(err)
			}
			run("git init -qb main .; git config user.name o; git config user.email o@o; echo 1 > .envrc; git add .; git commit -qm 1; git branch old; git switch -qc x; git switch -q main")
			tree := git.Tree{Top: own, Dirs: []string{filepath.Join(own, ".git")}}
			tips := func() []string { return gitrun.Tips(t.Context(), tree) }
			begin := func() *gitState {
				a := &gitState{}
				a.note(t.Context(), state, []config.GitTree{{Tree: tree}}, hostfile.Ground{}, func() *gitrun.Git { return nil })
				return a
			}
			vouching := func() []string {
				got, r := vouch(t.Context(), state, tree.Dirs[0], tips())
				if err := r.settle(); err != nil {
					t.Fatal(err)
				}
				return got
			}
			end := func(a *gitState) {
				if err := a.settle(); err != nil {
					t.Fatal(err)
				}
			}
			before, first := tips(), begin()
			if row.beside {
				second := begin()
				end(second)
			}
			run(row.script)
			if !row.killed {
				end(first)
			}
			// Afterwards the person's HEAD is where the commit is, or on top of it.
			run(`for c in $(git cat-file --batch-all-objects --batch-check | awk '$2 == "commit" { print $1 }'); do test "$(git show $c:.envrc)" != evil || git reset -q --hard $c; done; git commit -q --allow-empty -m 3`)
			want := before
			if row.own {
				want = tips()
			}
			if got := vouching(); !slices.Equal(got, want) || slices.Equal(before, tips()) {
				t.Errorf("%q vouch, want %q; HEAD is %q", got, want, tips())
			}
			held, err := records(state, tree.Dirs[0])
			if err != nil || (len(held) == 0) != row.own {
				t.Errorf("%q %v", held, err)
			}
			for _, r := range held {
				if err := os.Remove(r); err != nil {
					t.Error(err)
				}
			}
			if got := vouching(); !slices.Equal(got, tips()) { // without records HEAD vouches, whoever made it
				t.Errorf("adopted: %q vouch, want %q", got, tips())
			}
		})
	}
}

// TestWithoutRecord: where no record can be made or read, nothing vouches.
func TestWithoutRecord(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, recordsOf("/r/.git")+"kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, filepath.Join(dir, "absent")} {
		if got, _ := vouch(t.Context(), dir, "/r/.git", []string{"a"}); got != nil {
			t.Errorf("%q", got)
		}
	}
}
