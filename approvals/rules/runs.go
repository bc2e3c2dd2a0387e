package rules

import (
	"path"
	"slices"
	"strings"
)

// Some words of a command are commands themselves, or texts that a program carries out. An allow
// shows what happens only if it shows these words.
//
// Nothing but a program's manual says which these are. Most programs that a rule is written for
// start others (git, go, npm, make), and words like "test" and "diff" are subcommands there and
// programs elsewhere. So the lists below name what is common. What they lack runs in the sandbox
// all the same: an allow opens nothing.
var (
	// interpreters carry out a text.
	interpreters = []string{
		"R", "Rscript", "ash", "awk", "bash", "bun", "busybox", "csh", "dash", "deno", "ed", "elixir", "emacs", "erl", "ex", "expect", "fish", "gawk", "gdb", "guile", "irb",
		"jshell", "julia", "ksh", "lua", "luajit", "mawk", "mksh", "nawk", "node", "nodejs", "nu", "nvim", "ocaml", "octave", "osascript", "perl", "php", "powershell", "pwsh", "pypy", "python",
		"ruby", "sed", "sh", "tcsh", "tclsh", "toybox", "ts-node", "tsx", "vi", "vim", "wish", "yash", "zsh",
	}
	// wrappers start what their arguments name.
	wrappers = []string{
		"bunx", "chroot", "chrt", "doas", "entr", "env", "firejail", "flock", "ionice", "ltrace", "nice", "nohup", "npx", "nsenter", "parallel", "perf", "pkexec", "pnpx", "runuser", "screen",
		"script", "setarch", "setpriv", "setsid", "ssh", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "time", "timeout", "tmux", "unbuffer", "unshare", "uvx", "valgrind", "watch",
		"xargs", "xvfb-run",
	}
	// startOptions are the options that start a program: of any program (""), of one, and of a
	// subcommand of git. Those of find also delete and write.
	startOptions = map[string][]string{
		"": {
			"--checkpoint-action", "--command", "--compress-program", "--config-env", "--eval", "--exec", "--exec-path", "--execdir", "--ext-diff", "--extcmd", "--info-script", "--new-volume-script",
			"--ok", "--okdir", "--open-files-in-pager", "--receive-pack", "--rsh", "--rsh-command", "--rsync-path", "--script-shell", "--to-command", "--toolexec", "--unzip-command", "--upload-pack",
			"--use-compress-program", "--vettool",
		},
		"find":         {"--delete", "--fls", "--fprint", "--fprint0", "--fprintf"},
		"git":          {"-c", "-O", "-x"},
		"git difftool": {"-x"},
		"git grep":     {"-O"},
		"git rebase":   {"-x"},
		"make":         {"SHELL="},
		"man":          {"-H", "-P", "--html", "--pager"},
		"rg":           {"--pre", "--hostname-bin"},
		"rsync":        {"-e"},
		"tar":          {"-F", "-I"},
	}
)

// Runs says why no lasting rule should allow a command with these words: the program runs its
// arguments or a script in them, so that the words say little about what happens.
func Runs(words []string) string {
	if changesFolder(words) {
		return ""
	}
	if why := runner(words[0]); why != "" {
		return why
	}
	if base(words[0]) != words[0] && !path.IsAbs(words[0]) {
		return words[0] + " depends on the folder that it is called in"
	}
	return hidden(words, 1)
}

// runner says why a program shows little by its name.
func runner(word string) string {
	program := base(word)
	stem := strings.TrimRight(program, "0123456789.-") // python3.12
	switch {
	case slices.Contains(interpreters, program), slices.Contains(interpreters, stem):
		return program + " runs a script or a text"
	case slices.Contains(wrappers, program), slices.Contains(shellBuiltins, program):
		return program + " runs its arguments, or changes what follows"
	}
	return ""
}

// hidden says which of the words from number from on makes the program run another one; "" if
// none is known to.
func hidden(words []string, from int) string {
	program := base(words[0])
	own := startOptions[program]
	if program == "git" && len(words) > 1 && words[1] != "" && words[1][0] != '-' {
		own = startOptions["git "+words[1]]
	}
	for i := from; i < len(words); i++ {
		word := words[i]
		first := i == 1 && (word == "exec" || program == "tar" && starts(own, "-"+word)) // tar cIf …
		if first || starts(startOptions[""], word) || starts(own, word) {
			name, _, _ := strings.Cut(word, "=")
			return program + " " + name + " runs its arguments or writes files"
		}
	}
	return ""
}

// starts reports whether word is one of the options, as getopt, Go and find read them: a letter
// among others, a name behind one or two dashes, the beginning of a long name. It reports too many
// rather than too few.
func starts(options []string, word string) bool {
	name, _, value := strings.Cut(word, "=")
	bare := strings.TrimLeft(name, "-")
	dashes := len(name) - len(bare)
	return slices.ContainsFunc(options, func(option string) bool {
		long, isLong := strings.CutPrefix(option, "--")
		switch {
		case strings.HasSuffix(option, "="):
			return strings.HasPrefix(word, option)
		case dashes == 0 || bare == "":
			return false
		case !isLong:
			return dashes == 1 && strings.Contains(bare, option[1:])
		}
		return bare == long || dashes == 2 && strings.HasPrefix(long, bare) && (value || strings.Contains(bare, "-"))
	})
}
