package verdict

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"codeagent/sandbox"

	"mvdan.cc/sh/v3/syntax"
)

// If a shell's text is known, this file finds which command decided how the shell ended.
// It makes two passes over the text. The first pass follows the shell as it ran, by the exits
// of its processes. The second, lifted, follows it as it would have run without denials.
// Nothing is expanded, and loops run once. The status of a builtin such as test is not
// known, so both results are tried. A try counts if its first pass ends with the status
// that the shell had.

const (
	maxChoices = 6   // unknown statuses, of which both results are tried
	maxSteps   = 300 // statements of one pass
	failed     = -1  // a status that is not 0, otherwise unknown
)

// fate is how a command ended, and how it would have ended without the denials.
type fate struct {
	status, lifted int
	cause          []*sandbox.Denial
	sure           bool   // nothing else can explain the failure
	seen           string // the values of the variables in the command
}

// shell is one pass through a text.
type shell struct {
	*tree
	lifted            bool
	fates             map[syntax.Node]fate
	pid               int          // the process that runs this text
	used              map[int]bool // processes that were matched to a command
	vars              map[string]string
	functions         map[string]*syntax.Stmt
	errexit, pipefail bool
	choice, chosen    int // one bit for each unknown status
	steps             int
	loops             int               // how many loops enclose the statement; see process
	left              string            // "exit" or "return" if that ended the text or function, else ""
	assumed, fed      bool              // a command ran only in this pass; a command reads another's output
	caused, handled   []*sandbox.Denial // the denials of failures so far; those of failures that the text handles
}

// lift returns the denials without which the text would have passed, whether that is
// certain, and ok false if the text does not explain how the command ended. A text that ended
// with 0 is judged as if it had looked at every status (set -eo pipefail).
func (t *tree) lift(text []*syntax.Stmt, errexit bool) (cause []*sandbox.Denial, sure, ok bool) {
	pass := func(choice int, fates map[syntax.Node]fate, lifted, strict bool) (*shell, int) {
		s := &shell{tree: t, lifted: lifted, fates: fates, choice: choice, pid: t.root, used: map[int]bool{}, vars: map[string]string{}, functions: map[string]*syntax.Stmt{}, pipefail: strict}
		return s, s.apart(errexit || strict, text...)
	}
	sure = true
	for choice, end := 0, 1; choice < end; choice++ {
		ran, status := pass(choice, map[syntax.Node]fate{}, false, false)
		end = max(end, 1<<min(ran.chosen, maxChoices))
		passed := t.passed()
		if status == t.Status.Exit && t.Status.Signal == 0 {
			t.handled = append(t.handled, ran.handled...)
		}
		if passed && status == 0 {
			ran, status = pass(choice, map[syntax.Node]fate{}, false, true)
		} else if passed || status != failed && t.Status.Signal == 0 && status != t.Status.Exit {
			continue
		}
		if status == 0 || ran.steps > maxSteps {
			continue
		}
		again, status := pass(choice, ran.fates, true, t.passed())
		ok, sure = true, sure && status == 0 && !again.assumed
		// A denial that did not change the end is a cause only if no other denial changed it.
		var needed, all []fate
		for node, f := range ran.fates {
			if status != 0 || f.lifted == f.status {
				continue
			}
			all = append(all, f)
			kept := maps.Clone(ran.fates)
			kept[node] = fate{status: f.status, lifted: f.status, seen: f.seen}
			if _, status := pass(choice, kept, true, t.passed()); status != 0 {
				needed = append(needed, f)
			}
		}
		if len(needed) == 0 {
			needed = all
		}
		for _, f := range needed {
			cause, sure = append(cause, f.cause...), sure && f.sure
		}
	}
	return cause, sure && len(cause) > 0, ok
}

// apart runs statements in a subshell.
func (s *shell) apart(errexit bool, stmts ...*syntax.Stmt) int {
	outside := s.errexit
	s.errexit = errexit
	status := s.list(stmts, false)
	s.errexit, s.left = outside, ""
	return status
}

// list runs statements. checked: something tests their status, so errexit does not apply.
func (s *shell) list(stmts []*syntax.Stmt, checked bool) (status int) {
	for _, stmt := range stmts {
		if status = s.stmt(stmt, checked); s.left != "" {
			break
		}
		s.vars["?"] = strconv.Itoa(status)
	}
	return status
}

func (s *shell) stmt(stmt *syntax.Stmt, checked bool) int {
	if s.steps++; s.steps > maxSteps {
		s.left = "exit"
		return failed
	}
	for _, r := range stmt.Redirs {
		if status := s.take(r, "", func() fate { return s.opened(stmt, r) }); status != 0 {
			return status
		}
	}
	if stmt.Background {
		s.vars["!"] = strconv.Itoa(s.apart(s.errexit, &syntax.Stmt{Cmd: stmt.Cmd}))
		return 0
	}
	fed, caused := s.fed, len(s.caused)
	s.fed = fed || len(stmt.Redirs) > 0
	status := s.command(stmt.Cmd, checked || stmt.Negated)
	s.fed = fed
	pair, ok := stmt.Cmd.(*syntax.BinaryCmd)
	switch {
	case s.left != "":
	case stmt.Negated && status != 0:
		s.handled = append(s.handled, s.caused[caused:]...)
		return 0
	case stmt.Negated:
		return 1
	case status != 0 && !checked && s.errexit && (!ok || pair.Op == syntax.Pipe):
		s.left = "exit"
	}
	return status
}

// opened returns the fate of a redirection, whose file the shell itself opens. The command
// that runs afterwards could fail too, unless it is a builtin.
func (s *shell) opened(stmt *syntax.Stmt, r *syntax.Redirect) (f fate) {
	call, _ := stmt.Cmd.(*syntax.CallExpr)
	for _, d := range s.denials {
		if word := pattern(r.Word, nil); r.Hdoc == nil && isShell(d.ProcessName()) && (strings.HasSuffix(word, "*") || means(word, d)) {
			f = fate{status: failed, cause: []*sandbox.Denial{d}}
			f.sure = call != nil && len(call.Args) > 0 && slices.Contains([]string{":", "echo", "printf"}, pattern(call.Args[0], nil)) && d.Kind != sandbox.KindNetwork
		}
	}
	return f
}

func (s *shell) command(c syntax.Command, checked bool) (status int) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return s.call(c)
	case *syntax.Subshell:
		return s.apart(s.errexit, c.Stmts...)
	case *syntax.Block:
		return s.list(c.Stmts, checked)
	case *syntax.FuncDecl:
		s.functions[c.Name.Value] = c.Body
	case *syntax.TestClause:
		return s.own(c, []string{"[[", pattern(c, nil)})
	case *syntax.IfClause:
		switch status = s.tested(c.Cond); {
		case s.left == "" && status == 0:
			return s.list(c.Then, checked)
		case s.left == "" && c.Else != nil:
			return s.command(c.Else, checked)
		case s.left == "":
			return 0
		}
	case *syntax.WhileClause:
		s.loops++
		defer func() { s.loops-- }()
		switch status = s.tested(c.Cond); {
		case s.left != "":
		case (status == 0) == c.Until:
			return 0
		default:
			return s.list(c.Do, checked)
		}
	case *syntax.ForClause:
		s.loops++
		defer func() { s.loops-- }()
		return s.list(c.Do, checked)
	case *syntax.TimeClause:
		return s.list([]*syntax.Stmt{c.Stmt}, checked)
	case *syntax.CaseClause:
		for _, item := range c.Items { // which one ran is not known
			if s.take(item, "", s.either) == 0 {
				return s.list(item.Stmts, checked)
			}
		}
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			s.fed = true // stmt restores it
			first := s.apart(s.errexit, c.X)
			if status = s.apart(s.errexit, c.Y); status == 0 && s.pipefail {
				return first
			}
			break
		}
		run := s.tested
		if c.Op == syntax.AndStmt {
			run = func(stmts []*syntax.Stmt) int { return s.list(stmts, true) }
		}
		if status = run([]*syntax.Stmt{c.X}); s.left == "" && (status == 0) == (c.Op == syntax.AndStmt) {
			return s.stmt(c.Y, checked)
		}
	}
	return status
}

// tested runs statements whose failure the text itself handles, as in the condition of an if.
func (s *shell) tested(stmts []*syntax.Stmt) int {
	caused := len(s.caused)
	status := s.list(stmts, true)
	if status != 0 {
		s.handled = append(s.handled, s.caused[caused:]...)
	}
	return status
}

// call runs a simple command.
func (s *shell) call(c *syntax.CallExpr) (status int) {
	syntax.Walk(c, func(n syntax.Node) bool {
		sub, ok := n.(*syntax.CmdSubst)
		if ok {
			status = s.apart(s.errexit, sub.Stmts...)
		}
		return !ok
	})
	for _, a := range c.Assigns {
		s.vars[a.Name.Value] = pattern(a, s.vars)
	}
	if len(c.Args) == 0 {
		return status
	}
	args := make([]string, len(c.Args))
	for i, w := range c.Args {
		args[i] = pattern(w, nil)
	}
	switch args[0] {
	case "true", ":", "echo", "printf", "trap", "break", "continue":
		return 0
	case "false":
		return 1
	case "set":
		s.errexit = s.errexit || len(args) > 1 && strings.HasPrefix(args[1], "-") && strings.Contains(args[1], "e")
		s.pipefail = s.pipefail || slices.Contains(args, "pipefail")
		return 0
	case "return", "exit", "wait":
		if status, _ = strconv.Atoi(s.vars["?"]); len(args) > 1 {
			word := pattern(c.Args[1], s.vars)
			if number, err := strconv.Atoi(word); err == nil {
				status = number
			} else if word != "" { // a counter: only whether both passes count alike is known
				status = s.take(c, word, func() fate { return fate{status: failed, lifted: failed, seen: word} })
			}
		}
		s.left = strings.TrimSuffix(args[0], "wait")
		return status
	}
	if args[0] == "eval" {
		if text := s.statements(strings.Join(args[1:], " ")); text != nil {
			return s.list(text, true)
		}
	}
	if body := s.functions[args[0]]; body != nil {
		status = s.stmt(body, true)
		s.left = strings.TrimSuffix(s.left, "return")
		return status
	}
	if text, errexit := s.parse(args); text != nil && s.unstarted(args[0]) == nil {
		outer := s.pid
		x, ok := s.process(args, true)
		if ok {
			s.pid = x.PID
			if i := slices.IndexFunc(s.processes, func(y sandbox.Exit) bool { return y.By == x.PID && !y.Forked && isShell(y.Comm) }); i >= 0 {
				s.pid = s.processes[i].PID
			}
		}
		status, s.pid = s.apart(errexit, text...), outer
		if ok && !isShell(x.Comm) && !(s.lifted && status == 0) {
			return x.Status
		}
		return status
	}
	return s.own(c, args)
}

// take returns a command's status in this pass.
func (s *shell) take(node syntax.Node, seen string, judge func() fate) int {
	if !s.lifted {
		f := judge()
		s.fates[node], s.caused = f, append(s.caused, f.cause...)
		return f.status
	}
	f, ok := s.fates[node]
	if !ok || f.lifted != 0 && f.seen != seen { // it did not run, or its variables differed
		s.assumed = true
		return 0
	}
	return f.lifted
}

// either returns success or failure for a command whose status is not known, as choice says.
func (s *shell) either() fate {
	status := failed * (s.choice >> min(s.chosen, maxChoices) & 1)
	s.chosen++
	return fate{status: status, lifted: status}
}

// own runs a command that is not examined further. It is sure of the cause only if the
// command has one operand, and this operand names the target of its only denial.
func (s *shell) own(c syntax.Node, args []string) int {
	seen := pattern(c, s.vars)
	return s.take(c, seen, func() fate {
		x, ok := s.process(args, slices.Contains(inShell, args[0]))
		if d := s.unstarted(args[0]); d != nil && (!ok || x.Status != 0) {
			return fate{status: sandbox.ExitCannotExec, seen: seen, cause: []*sandbox.Denial{d}, sure: true}
		}
		if !ok {
			x.Status = s.either().status
		}
		f := fate{status: x.Status, lifted: x.Status, seen: seen}
		if f.status == 0 {
			return f
		}
		if f.cause = s.below(x.PID); len(f.cause) > 0 {
			d := f.cause[0]
			f.lifted, f.sure = 0, f.status != failed && !s.fed && len(args) == 2 && len(f.cause) == 1 && !strings.Contains(args[0], "/") && d.Kind == sandbox.KindWrite && means(args[1], d)
			return f
		}
		for _, d := range s.denials {
			if !s.refused(x.PID) && slices.ContainsFunc(args[1:], func(w string) bool { return means(w, d) }) {
				f.lifted, f.cause = 0, append(f.cause, d)
			}
		}
		return f
	})
}

// unstarted returns the refusal to start the program that a command names. A shell's last command is refused in the
// process of the shell itself.
func (s *shell) unstarted(name string) *sandbox.Denial {
	for _, d := range s.denials {
		if strings.HasPrefix(d.Operation, "execve") && path.Base(cmp.Or(d.Requested, d.Target)) == path.Base(name) {
			return d
		}
	}
	return nil
}

// inShell are commands for which a shell starts no process of its own (bash(1), SHELL BUILTIN COMMANDS).
var inShell = strings.Fields("[ [[ alias bg bind builtin caller cd compgen complete compopt dirs disown enable eval fc fg getopts hash help history " +
	"jobs kill let logout mapfile popd pushd pwd read readarray shift shopt suspend test times type ulimit umask unalias unset")

// process returns the process of a command. It looks among the processes that this shell started and
// that belong to no command yet, in the order of their starts. It takes the first whose name in the
// kernel (comm) is the command's. Without one it takes the first of all, unless byName: a launcher executes
// another program and ends under the name of that. The shell itself may have executed its last command,
// and is then its process. Of the rounds of a loop, the last counts.
func (s *shell) process(args []string, byName bool) (out sandbox.Exit, ok bool) {
	fits := func(x sandbox.Exit, byName bool) bool {
		own := x.By == s.pid && isShell(x.ByComm) && (!x.Forked || x.Status == sandbox.ExitNotFound || x.Status == sandbox.ExitCannotExec) || x.PID == s.pid && !isShell(x.Comm)
		return own && !s.used[x.PID] && (!byName || slices.ContainsFunc(args, func(a string) bool {
			base := path.Base(a)
			return base == "*" || sandbox.CommOf(base) == x.Comm
		}))
	}
	for _, byName := range []bool{true, byName} {
		for _, x := range s.processes {
			if fits(x, byName) && (!ok || s.loops > 0 && x.Comm == out.Comm) {
				out, ok = x, true
			}
		}
	}
	s.used[out.PID] = true
	return out, ok
}
