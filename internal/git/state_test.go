package git

import "testing"

// TestCopyState: what git continues names no program and no file, but what it named before.
func TestCheckState(t *testing.T) {
	for _, row := range []struct {
		name, text string
		ok         bool
	}{
		{"rebase-merge/git-rebase-todo", "pick 12ab one\n# a comment\n\n  fixup -C 12ab\nmerge -C 12ab x # y\nupdate-ref refs/heads/a\nnoop\n", true},
		{"rebase-merge/git-rebase-todo", "pick 12ab\nexec make test\n", true},
		{"rebase-merge/git-rebase-todo", "pick 12ab\nexec make tests\n", false},
		{"rebase-merge/git-rebase-todo", "\t x evil", false},
		{"Rebase-Merge/git-rebase-todo", "exec\tevil", false},
		{"rebase-merge/git-rebase-todo", "later evil", false},
		{"rebase-merge/git-rebase-todo", "pick 12ab\x00", true},
		{"rebase-merge/git-rebase-todo", "# \x00\nexec evil", false},
		{"rebase-merge/strategy", "ort\n", true},
		{"rebase-merge/strategy", "resolve\n", false},
		{"rebase-merge/strategy", "x/y", false},
		{"rebase-apply/apply-opt", "\n", true},
		{"rebase-apply/apply-opt", " '--whitespace=fix' '-C3' '-p1' '--reject'", true},
		{"rebase-apply/apply-opt", " '--build-fake-ancestor=evil'", false},
		{"rebase-apply/apply-opt", " '-p1'\\'' --build-fake-ancestor=evil'", false},
		{"rebase-apply/apply-opt", "--build-fake-ancestor=evil", false},
		{"sequencer/opts", "[options]\n\tedit = true\n\tstrategy = ort\n\tstrategy-option = theirs\n", true},
		{"sequencer/opts", "[options]\n\tstrategy = evil\n", false},
		{"sequencer/opts", "[options]\n\tstrategy-option = index-output=evil\n", false},
		{"sequencer/opts", "[options", false},
		{"MERGE_RR", "12ab\ta/b\x0012ab.1\tc\x00", true},
		{"MERGE_RR", "", true},
		{"MERGE_RR", "12ab\t.git/config\x00", false},
		{"MERGE_RR", "12ab\ta\x0012ab\t/home/u/.netrc\x00", false},
		{"MERGE_RR", "12ab a\x00", false},
	} {
		before := ""
		if row.name[0] == 'r' {
			before = "exec make test\n"
		}
		if _, err := Copy("/g/"+row.name, []byte(row.text), []byte(before)); (err == nil) != row.ok {
			t.Errorf("%s %q: %v", row.name, row.text, err)
		}
	}
	if dir, file := State("/w/.git/worktrees/a/rebase-merge/strategy"); !file || dir != "/w/.git/worktrees/a" {
		t.Error(dir, file)
	}
	for path, want := range map[string]string{"/g/Sequencer": "/g", "/g/rebase": "", "/g/rebase-merge/x": "", "/g/strategy": ""} {
		if dir, file := State(path); dir != want || file {
			t.Error(path, dir, file)
		}
	}
}
