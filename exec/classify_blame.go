package exec

import (
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// Which refusals made the command fail? The trace says which process was refused
// what, and which processes failed after that:
//
//	a process that exited with 0 could do without what it was refused
//	one that failed was refused what it needed, if what it said last fits that
//	its failure is its parent's, if that fails too and no other child failed since
//	the shell at the top has a text, and that says which of its commands decide
//
// Nothing here reads output but explains, which settles the second line.

// family is the tree of processes of a trace.
type family struct {
	*judge
	exits map[int]sandbox.Exit
	// parent of each process that was refused something or exited.
	parent map[int]int
	// root is the command's first process.
	root int
	// denied are the refusals that may matter, by who saw them.
	denied map[int][]*sandbox.Denial
}

// blame returns which of the denials the failure is due to.
func (j *judge) blame(denials []sandbox.Denial) []blamed {
	f := &family{judge: j, exits: map[int]sandbox.Exit{}, parent: map[int]int{}, denied: map[int][]*sandbox.Denial{}}
	for _, e := range j.outcome.Trace.Exits {
		f.exits[e.PID] = e
		f.parent[e.PID] = e.Parent
	}
	var all, comforts []blamed
	for i := range denials {
		d := &denials[i]
		// What was put back afterwards did not stop the command, and a name that
		// nobody has would not have been found.
		if d.Moot || d.Operation == "lookup" && neverNamed(d.Target) || d.Operation == "restored" || d.Operation == "not restored" {
			continue
		}
		pid := d.PID
		for _, a := range d.Chain {
			f.parent[pid], pid = a.PID, a.PID
		}
		f.root = pid
		f.denied[d.PID] = append(f.denied[d.PID], d)
		if j.dispensable(d) {
			comforts = append(comforts, blamed{Denial: d})
		} else {
			all = append(all, blamed{Denial: d})
		}
	}
	out := f.due(all)
	if len(out) == 0 && j.outcome.Output.Total == 0 {
		out = f.due(comforts) // there is nothing else that can have been wrong
	}
	return out
}

// due are those of the denials that the failure is due to.
func (f *family) due(denials []blamed) []blamed {
	if len(denials) == 0 {
		return nil
	}
	steps, known := []step(nil), false
	if text, ok := scriptOf(f.outcome.Argv); ok {
		steps, known = deciding(text, f.outcome.Status.Exit)
	}
	var out []blamed
	for _, d := range denials {
		for _, s := range steps {
			if f.fails(d.Denial, s) {
				d.steps = append(d.steps, s)
			}
		}
		if len(d.steps) > 0 || !known && f.reaches(d.Denial, f.root) {
			out = append(out, d)
		}
	}
	return out
}

// fails reports whether d made the step s of the top shell's text fail.
func (f *family) fails(d *sandbox.Denial, s step) bool {
	if s.feeds && d.Kind != sandbox.KindNetwork && d.Kind != sandbox.KindSocket && d.Kind != sandbox.KindRead {
		return false
	}
	// The first process on the way that is not the shell itself is the step's.
	program, pid := f.own(d)
	switch {
	case !slices.Contains(shells, program):
		if s.runs(program) {
			return !f.overtaken(pid, program) && f.reaches(d, pid)
		}
	case s.opens(d), len(s.words) > 0 && slices.Contains(builtins, s.words[0]) && s.names(d):
		return true
	case s.runs(program): // a shell whose text is in a file
		return f.reaches(d, pid)
	}
	// A later step that fails because what it is about is not there.
	return s.names(d) && !slices.Contains(silentWords, s.words[0])
}

// builtins are commands of the shell that are refused things themselves.
var builtins = []string{"cd", "echo", "printf", "exec", ":", "source", ".", "pwd", "read", "mapfile", "{", "umask"}

// silentWords cannot fail for want of what they name.
var silentWords = []string{"echo", "printf", "true", ":"}

// own is the process of a step: of d's chain, from the top, the first that is no
// shell, else the last.
func (f *family) own(d *sandbox.Denial) (program string, pid int) {
	for _, a := range slices.Backward(d.Chain) {
		if !slices.Contains(shells, a.ProcessName()) {
			return a.ProcessName(), a.PID
		}
	}
	return d.ProcessName(), d.PID
}

// runs reports whether the step starts a program whose process the kernel calls so: by
// its first 15 letters, and perhaps through env, nice or xargs.
func (s step) runs(program string) bool {
	if len(s.words) == 0 || program == "" {
		return false
	}
	word, _, _ := strings.Cut(program, " ") // npm calls itself "npm run x"
	for i, w := range s.words {
		base := sandbox.CommOf(path.Base(w))
		if base == program || base == word || i == 0 && strings.HasPrefix(base, "*") {
			return true
		}
	}
	return false
}

// overtaken reports whether a later process of the same program failed for
// another reason: that is then the step's. A shell starts the last one in its own
// place.
func (f *family) overtaken(pid int, program string) bool {
	mine, ok := f.exits[pid]
	if !ok {
		return false
	}
	for other, e := range f.exits {
		if other == pid || e.Order < mine.Order || e.Status == 0 || e.Comm != program {
			continue
		}
		if e.Parent == mine.Parent && !f.blamed(other) || other == mine.Parent && len(f.denied[other]) == 0 {
			return true
		}
	}
	return false
}

// reaches reports whether the failure of the process that saw d became that of
// pid: each process on the way up failed, and nothing else of it did since.
func (f *family) reaches(d *sandbox.Denial, pid int) bool {
	for at := d.PID; ; at = f.parent[at] {
		e, ended := f.exits[at]
		if ended && e.Status == 0 && (at == pid || !slices.Contains(servants, d.ProcessName())) {
			return false
		}
		if at == d.PID && !f.explains(f.denied[at]) {
			return false
		}
		if at == pid || f.parent[at] == 0 {
			return true
		}
		if ended && f.followed(at, e) {
			return false
		}
	}
}

// servants tell whom they work for how it went, and exit with 0 themselves.
var servants = []string{"git-receive-pac", "git-upload-pack"}

// followed reports whether another child of the same parent failed after e, for
// another reason.
func (f *family) followed(pid int, e sandbox.Exit) bool {
	for other, later := range f.exits {
		if other != pid && later.Parent == e.Parent && later.Order > e.Order && later.Status != 0 && !f.blamed(other) {
			return true
		}
	}
	return false
}

// blamed reports whether pid, or a process below it, was refused something.
func (f *family) blamed(pid int) bool {
	for at := range f.denied {
		for n := 0; at != 0 && n < len(f.parent)+1; n++ {
			if at == pid {
				return true
			}
			at = f.parent[at]
		}
	}
	return false
}

// neverNamed reports a name that nobody has and ever will (RFC 6761).
func neverNamed(host string) bool {
	host = strings.TrimSuffix(host, ".")
	return host == "invalid" || strings.HasSuffix(host, ".invalid")
}

// dispensable reports files that a program keeps for its own comfort: histories,
// logs, counters of its use. None fails for want of one unless it says so.
func (j *judge) dispensable(d *sandbox.Denial) bool {
	base := path.Base(d.Target)
	comfort := slices.Contains([]string{".viminfo", ".lesshst", ".wget-hsts", ".python_history", ".node_repl_history", ".sqlite_history", ".bash_history", "__pycache__", "_logs", "fontconfig"}, base) ||
		// Copies that editors keep.
		strings.HasSuffix(base, "~") || strings.HasSuffix(base, ".swp") ||
		base == ".npm" && strings.HasPrefix(d.ProcessName(), "npm") ||
		// Go's programs count their use below the first folder, and what they need
		// of the second they ask for by name.
		slices.Contains([]string{"go", "compile", "asm", "link", "vet", "cgo", "gofmt"}, d.ProcessName()) &&
			(base == ".config" || base == "go" || strings.Contains(d.Target, "/.config/go/telemetry") || strings.HasSuffix(base, "-go-tmp-umask"))
	return comfort && !slices.ContainsFunc(splitLines(j.outcome.Output), func(line string) bool {
		// npm tells of its cache and logs whatever went wrong, and in one line why.
		return tells(line, d.Target) && (base != ".npm" && base != "_logs" || strings.Contains(line, " path "))
	})
}

// tells reports whether line has path, and not just as the beginning of another.
func tells(line, path string) bool {
	for {
		i := strings.Index(line, path)
		if i < 0 {
			return false
		}
		line = line[i+len(path):]
		if line == "" || !wordByte(line[0]) && !strings.ContainsRune("._-", rune(line[0])) {
			return true
		}
	}
}
