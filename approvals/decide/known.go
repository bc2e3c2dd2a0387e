package decide

import (
	"slices"
	"strings"

	"codeagent/approvals/rules"
)

// The text of a command may replace a question, but never the sandbox. A command is known if
// bash would run only programs of the list below, with literal arguments and listed options.
// Everything else is asked about: the list says what is known, not what is good.

// maxChain is how many programs a known command may run.
const maxChain = 16

// program is one entry of the list, by exact argv[0].
type program struct {
	name string
	// short are the one-letter options, alone or in a cluster; digits stand for
	// counts (-20, -n5). long are the long ones (and find's predicates), with
	// or without "=value".
	short string
	long  []string
	// script, if set, must accept the first operand.
	script func(string) bool
	// why is the reason why running it changes nothing.
	why string
}

// known is the list. Excluded on purpose: git (the repository's own settings
// name programs to run), rg (--pre, configuration file), awk, sed beyond line
// ranges, xargs, env, less and man (run programs), tar, tee, date and hostname
// (an operand sets them), uniq (its second operand is written), tree (-o), cd
// (the next command means another place), every interpreter.
var known = []program{
	{name: "cat", short: "AbeEnstTuv", why: "prints files"},
	{name: "ls", short: "aAlhrRtSdFip1", long: []string{"--all", "--almost-all", "--human-readable", "--recursive", "--reverse"}, why: "lists folders"},
	{name: "pwd", short: "LP", why: "prints the folder"},
	{name: "head", short: "ncqv0123456789", why: "prints the beginning of files"},
	{name: "tail", short: "ncqv0123456789", why: "prints the end of files; not -f, which never ends"},
	{name: "wc", short: "lwcmL", why: "counts"},
	{name: "nl", short: "ba", why: "prints files with line numbers"},
	{name: "grep", short: "ivnclLrRHhoswxEFABCm0123456789", long: []string{"--include", "--exclude", "--exclude-dir"}, why: "searches; no option of these runs or writes"},
	{name: "find", long: []string{
		"-name", "-iname", "-path", "-ipath", "-type", "-maxdepth", "-mindepth", "-size", "-mtime", "-mmin",
		"-newer", "-empty", "-print", "-print0", "-not", "-o", "-a", "-or", "-and", "-prune",
	}, why: "lists files; without -exec, -ok, -delete and the -f… actions"},
	{name: "sed", short: "n", script: lineRange, why: "prints a range of lines, and no other script"},
	{name: "sort", short: "nrufbdkV0123456789", why: "prints sorted; without -o and --compress-program"},
	{name: "cut", short: "dfcbs0123456789", why: "prints columns"},
	{name: "tr", short: "cdsC", why: "translates its input"},
	{name: "diff", short: "uqrNabwBiy0123456789", why: "compares files"},
	{name: "cmp", short: "ls", why: "compares files"},
	{name: "stat", short: "Lft", why: "prints what is known of files"},
	{name: "file", short: "biL", why: "guesses what files are; without -C, which writes"},
	{name: "du", short: "shackmd0123456789", why: "sums sizes"},
	{name: "df", short: "hkTi", why: "prints free space"},
	{name: "basename", why: "cuts a path"},
	{name: "dirname", why: "cuts a path"},
	{name: "realpath", short: "ems", why: "resolves a path"},
	{name: "readlink", short: "fenm", why: "prints a link"},
	{name: "md5sum", short: "b", why: "sums"},
	{name: "sha256sum", short: "b", why: "sums"},
	{name: "echo", short: "neE", why: "prints its arguments"},
	{name: "true", why: "does nothing"},
	{name: "false", why: "does nothing"},
	{name: "whoami", why: "prints the user"},
	{name: "id", short: "ugnGr", why: "prints the user"},
	{name: "uname", short: "asnrvmpio", why: "prints the system"},
	{name: "nproc", why: "counts processors"},
	{name: "which", short: "a", why: "finds programs"},
}

// KnownReadOnly reports whether command is a list or pipeline of known programs
// only. When in doubt it returns false.
func KnownReadOnly(command string) bool {
	programs, opaque := rules.Programs(command)
	return opaque == "" && !strings.ContainsAny(command, `\!`) && len(programs) <= maxChain && !slices.ContainsFunc(programs, func(argv []string) bool { return !knownArgv(argv) })
}

func knownArgv(argv []string) bool {
	i := slices.IndexFunc(known, func(p program) bool { return p.name == argv[0] })
	if i < 0 {
		return false
	}
	p, script := known[i], known[i].script
	for _, arg := range argv[1:] {
		switch {
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			if script != nil && !script(arg) {
				return false
			}
			script = nil
		case !p.allows(arg):
			return false
		}
	}
	// A program with a script needs one as its operand.
	return script == nil
}

// allows reports whether arg, which begins with "-", is a listed option.
func (p program) allows(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	if slices.Contains(p.long, name) {
		return true
	}
	return !strings.HasPrefix(arg, "--") && strings.Trim(arg[1:], p.short) == "" && p.short != ""
}

// lineRange accepts sed's "12p" and "12,40p".
func lineRange(script string) bool {
	from, to, both := strings.Cut(strings.TrimSuffix(script, "p"), ",")
	number := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return strings.HasSuffix(script, "p") && number(from) && (!both || number(to))
}
