package decide

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/rules"

	"mvdan.cc/sh/v3/syntax"
)

func TestKnownReadOnly(t *testing.T) {
	for _, c := range []string{
		"ls", "ls -la src", "cat main.go", "cat 'a file' \"b file\"", "cat main.go | wc -l", "ls && pwd", "ls || true; pwd",
		"ls\npwd", "grep -rn TODO .", "grep --include=x.go -r TODO .", "find . -name main.go -type f", "sed -n 1,40p main.go",
		"sed -n 7p main.go", "head -n 20 x", "head -20 x", "tail -n5 x", "sort -u x", "echo hello", "cat -", "\tls  ",
	} {
		if !KnownReadOnly(c) {
			t.Errorf("asked about: %s", c)
		}
	}
}

// notKnown must never be judged safe: each line was, or could be, a way around some list of
// allowed command texts.
var notKnown = []string{
	"", "   ", "#", "# ls", "ls # x", "ls # \\\nrm -rf x", "ls \\\n-l",
	"bash -c ls", "sh -lc ls", "env X=y ls", "X=y ls", "X=y", "ls $(rm x)", "ls `rm x`", "cat <(rm x)", "cat >(rm x)",
	"ls\nrm x", "ls; rm x", "ls & rm x", "ls &", "ls | sh", "ls |& cat", "ls > f", "ls >> f", "ls 2>f", "cat < f", "cat <<E\nx\nE", "cat <<< x",
	"find . -exec rm {} +", "find . -execdir rm x ';'", "find . -ok rm x ';'", "find . -delete", "find . -fprintf f x", "find . -fls f", "find . -fprint f",
	"find . -name -delete -delete", "find -files0-from x", "ls | xargs rm", "xargs ls",
	"git status", "git -c core.pager=x log", "git -c alias.x='!x' x", "git --exec-path=x log", "git diff --ext-diff", "git diff --output=f", "git grep -O x",
	"rg --pre x y", "rg --hostname-bin x y", "rg x",
	"sed -i s/a/b/ f", "sed -n -i 1p f", "sed -n 'w f' x", "sed -n 1e x", "sed 1e x", "sed -n '1,2p;w f' x", "sed -n", "sed -n 1p --in-place f", "sed -n '$p' f", "sed -ni 1p f",
	"awk 'BEGIN{system(\"x\")}'", "sort -o f x", "sort -of x", "sort -uo f x", "sort --output=f x", "sort --compress-program=x f", "sort --o=f x",
	"tar --to-command=x -xf y", "tar --checkpoint-action=exec=x", "man -P x y", "less f", "more f", "ls --hyperlink", "ls --hyperlink=always", "tee f", "date -s x", "date 010203042026",
	"hostname x", "uniq a b", "tree -o f", "xxd -r a b", "ed f", "vim -c x", "python -c x", "python3 x", "node -e x", "perl -e x", "ruby -e x", "make", "npm run x", "npx x",
	"go generate", "go build -toolexec x", "go test", "ssh -o ProxyCommand=x y", "curl -o f u", "curl -K f", "curl u", "wget u",
	"LD_PRELOAD=x ls", "GIT_SSH_COMMAND=x ls", "PAGER=x ls", "BASH_ENV=x ls", "export X=y", "typeset X=y", "declare X=y", "readonly X=y", "local X=y",
	"alias ls=rm", "eval ls", "source f", ". f", "exec ls", "command ls", "builtin pwd", "trap x EXIT", "set -x", "shopt -s x", "cd /; ls", "cd x && cat y", "ulimit -n 1", "hash -p x ls", "enable -f x y", "read x", "printf -v x y", "test -f x", "[ -f x ]", "[[ -f x ]]", "(( x = 1 ))", "let x=1",
	"ls {-l,--hyperlink}", "ls *", "ls ?", "ls [a-z]", "cat ~/.ssh/id", "cat ~root/x", "cat $HOME", "cat ${X}", "cat \"$X\"", "cat $'a'", "cat $\"a\"", "cat \\-n", "cat \"a\\\"b\"", "echo !!", "! ls",
	"(ls)", "{ ls; }", "if ls; then ls; fi", "for x in a; do ls; done", "while ls; do ls; done", "case x in x) ls;; esac", "f() { ls; }", "ls() { rm x; }; ls", "coproc ls", "time ls", "time -o f ls",
	"/bin/ls", "./ls", "ls/../x", "l's'x", "LS", "Ls", "sudo ls", "su -c ls", "nice ls", "nohup ls", "timeout 1 ls", "busybox ls", "watch ls", "parallel ls",
	"lѕ", "l\u200bs", "ls\u00a0-l", "ls\r", "ls\r\nrm x", "l\x00s", "ls\x1b", "ls\x7f", "ls\v-l", "ls\f-l", "cat \xff",
	"file -C -m x", "which --skip-alias x", "tail -f x", "tail -F x", "tail --follow x", "cat --help --x", "grep -f x y", "grep --file=x y", "diff --to-file=x y", "stat --printf=x y", "du --files0-from=x", "wc --files0-from=x",
	"ls -l -- --hyperlink", "ls --", "echo --x", "ls -\\-hyperlink", "'ls' '--hyperlink'", "ls \"--hyper\"'link'",
}

func TestNeverJudgedSafe(t *testing.T) {
	list := append(slices.Clone(notKnown),
		strings.Repeat("ls; ", 51)+"rm x", strings.Repeat("ls; ", 51)+"ls", strings.Repeat("ls && ", 60)+"ls",
		"ls "+strings.Repeat("x", rules.MaxLine), strings.Repeat("$(", 3<<20), strings.Repeat("(", rules.MaxLine-1), strings.Repeat("{", rules.MaxLine-1), strings.Repeat("`", 9999))
	for _, c := range list {
		if KnownReadOnly(c) {
			t.Errorf("judged safe: %.200q", c)
		}
	}
}

// Every entry of the list has its reason, and none is duplicated.
func TestKnownList(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range known {
		if p.why == "" || seen[p.name] {
			t.Errorf("%s: no reason, or listed twice", p.name)
		}
		seen[p.name] = true
	}
}

// The guards are needed: the parser alone reads one command where bash runs two.
func TestParserReadsBackslashNewlineInAComment(t *testing.T) {
	f, err := syntax.NewParser().Parse(strings.NewReader("ls # \\\nrm -rf x"), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Stmts) != 1 {
		t.Skip("the parser has been cured: it sees", len(f.Stmts), "commands; the guard may go")
	}
}

// FuzzKnownAgainstBash compares what is judged safe with bash itself: with an empty PATH bash
// must try to run exactly the programs that were parsed.
func FuzzKnownAgainstBash(f *testing.F) {
	for _, s := range append(slices.Clone(notKnown), "ls -l | wc -l && cat x", "cat 'a b' \"c d\"") {
		f.Add(s)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("bash is missing: nothing to compare with")
	}
	f.Fuzz(func(t *testing.T, command string) {
		if !KnownReadOnly(command) {
			return
		}
		// Every program of the list becomes a function that does nothing; any
		// other name is then "command not found" on stderr.
		var script strings.Builder
		for _, p := range known {
			script.WriteString(p.name + "() { :; }\n")
		}
		cmd := exec.Command(bash, "--norc", "--noprofile", "-c", script.String()+command)
		cmd.Env = []string{"PATH=/nonexistent"}
		cmd.Dir = t.TempDir()
		out, _ := cmd.CombinedOutput()
		if len(out) != 0 {
			t.Errorf("%q: bash says %q", command, out)
		}
		if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) != 0 {
			t.Errorf("%q left %v (%v)", command, left, err)
		}
	})
}
