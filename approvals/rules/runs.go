package rules

import (
	"path"
	"slices"
	"strings"
)

// Some arguments of a command are commands themselves, or scripts that a program runs. An allow
// rule shows what happens only if it shows these arguments.
//
// Only a program's manual says which arguments these are. Most programs for which people write
// rules start others (git, go, npm, make). Words like "test" and "diff" are subcommands there, and
// programs elsewhere. So the lists below name common cases. Programs that are missing in them still
// run in the sandbox: an allow rule does not open the sandbox.
var (
	// interpreters run a script.
	interpreters = []string{
		"R", "Rscript", "ash", "awk", "bash", "bun", "busybox", "csh", "dash", "deno", "ed", "elixir", "emacs", "erl", "ex", "expect", "fish", "gawk", "gdb", "guile", "irb",
		"jshell", "julia", "ksh", "lua", "luajit", "mawk", "mksh", "nawk", "node", "nodejs", "nu", "nvim", "ocaml", "octave", "osascript", "perl", "php", "powershell", "pwsh", "pypy", "python",
		"ruby", "sed", "sh", "tcsh", "tclsh", "toybox", "ts-node", "tsx", "vi", "vim", "wish", "yash", "zsh",
	}
	// wrappers start the program in their arguments.
	wrappers = []string{
		"bunx", "chroot", "chrt", "doas", "entr", "env", "firejail", "flock", "ionice", "ltrace", "nice", "nohup", "npx", "nsenter", "parallel", "perf", "pkexec", "pnpx", "runuser", "screen",
		"script", "setarch", "setpriv", "setsid", "ssh", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "time", "timeout", "tmux", "unbuffer", "unshare", "uvx", "valgrind", "watch",
		"xargs", "xvfb-run",
	}
	// startOptions are the options that start a program: of every program (""), of one program, and of
	// a subcommand of git. Those of find also delete and write.
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

// Runs says why no lasting rule should allow a command with these words, or "". The program runs
// its arguments or a script in them, so the words hardly show what happens.
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

// runner says why the name of a program does not show what it does, or "".
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

// hidden says which of the words, from the given index on, makes the program run another one, or
// "".
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

// starts reports whether word is one of the options in the forms that getopt, Go and find accept: a
// letter among others, a name after one or two dashes, or the beginning of a long name. In doubt it
// reports true.
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
