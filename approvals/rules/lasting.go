package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Rules that an answer saves, and what they would have answered before.

// mostParts bounds the programs of a line that gets rules: a person reads each.
const mostParts = 3

// ForLine returns the narrowest rules that allow a command line, one for each of its programs.
// Without rules, why says what no rule should allow.
func ForLine(line string) (list []*Rule, why string) {
	parts, opaque := plainParts(line)
	switch {
	case opaque != "":
		return nil, opaque
	case len(parts) > mostParts:
		return nil, fmt.Sprintf("it starts %d programs", len(parts))
	}
	for _, words := range parts {
		if why := Runs(words); why != "" {
			return nil, why
		}
		if changesFolder(words) {
			continue
		}
		r := &Rule{Decision: Allow, Exact: true}
		for _, word := range words {
			r.Words = append(r.Words, []string{word})
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, "it starts no program"
	}
	return list, ""
}

// Runs says why no lasting rule should allow a command with these words: the program runs its
// arguments or a script in them, so that the words say little about what happens.
func Runs(words []string) string {
	program := base(words[0])
	stem := strings.TrimRight(program, "0123456789.-") // python3.12
	switch {
	case slices.Contains(interpreters, program), slices.Contains(interpreters, stem):
		return program + " runs a script or a text"
	case slices.Contains(wrappers, program), slices.Contains(shellBuiltins, program) && !changesFolder(words):
		return program + " runs its arguments, or changes what follows"
	case program != words[0] && !path.IsAbs(words[0]):
		return words[0] + " depends on the folder that it is called in"
	}
	for i, word := range words[1:] {
		name, _, _ := strings.Cut(word, "=")
		if slices.Contains(startOptions, name) || word == "-c" && program == "git" || i == 0 && word == "exec" {
			return program + " " + name + " runs its arguments"
		}
	}
	return ""
}

// interpreters are programs that carry out a text; wrappers start what their arguments name.
// startOptions are options of other programs with that meaning. The lists only withhold an
// offer: a rule opens nothing beyond the sandbox, and can be written by hand.
var (
	interpreters = []string{
		"R", "Rscript", "ash", "awk", "bash", "bun", "busybox", "csh", "dash", "deno", "ed", "elixir", "emacs", "erl", "ex", "expect", "fish", "gawk", "gdb", "guile", "irb",
		"jshell", "julia", "ksh", "lua", "luajit", "mawk", "mksh", "nawk", "node", "nodejs", "nu", "nvim", "ocaml", "octave", "osascript", "perl", "php", "powershell", "pwsh", "pypy", "python",
		"ruby", "sed", "sh", "tcsh", "tclsh", "toybox", "ts-node", "tsx", "vi", "vim", "wish", "yash", "zsh",
	}
	wrappers = []string{
		"bunx", "chroot", "chrt", "doas", "entr", "env", "firejail", "flock", "ionice", "ltrace", "nice", "nohup", "npx", "nsenter", "parallel", "perf", "pkexec", "pnpx", "runuser", "screen",
		"script", "setarch", "setpriv", "setsid", "ssh", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "time", "timeout", "tmux", "unbuffer", "unshare", "uvx", "valgrind", "watch",
		"xargs", "xvfb-run",
	}
	startOptions = []string{"-exec", "-execdir", "-ok", "-okdir", "--command", "--compress-program", "--eval", "--exec", "--rsh", "--to-command", "--use-compress-program"}
)

// Past is one tool call of an earlier session: its command, what the sandbox refused it, and
// what a person allowed. A need has a Kind and a Target; allowing the command itself has
// neither.
type Past struct {
	Command          string
	Refused, Allowed []sandbox.Denial
}

// Replay is what a rule would have answered in earlier sessions.
type Replay struct {
	// Calls counts the calls that were refused something and would have been allowed it. Shown
	// are the first of what they would have been allowed.
	Calls int
	Shown []string
	// Yeses counts the calls that a person allowed just that.
	Yeses int
	// Part: there are more sessions than could be read.
	Part bool
}

// mostShown bounds what a replay names.
const mostShown = 3

// Add counts one call, which would have been allowed what.
func (r *Replay) Add(what []string) {
	r.Calls++
	for _, w := range what {
		if len(r.Shown) < mostShown && !slices.Contains(r.Shown, w) {
			r.Shown = append(r.Shown, w)
		}
	}
}

// String says it in one line; empty without calls.
func (r Replay) String() string {
	if r.Calls == 0 {
		return ""
	}
	atLeast := ""
	if r.Part {
		atLeast = "at least "
	}
	shown := make([]string, len(r.Shown))
	for i, s := range r.Shown {
		shown[i] = short.Middle(s, 80)
	}
	return fmt.Sprintf("would also have allowed %s%s: %s", atLeast, short.Count(r.Calls, "earlier call"), strings.Join(shown, ", "))
}
