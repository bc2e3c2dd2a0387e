//go:build linux

package escapes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"
)

// This is the table of escapes: one row is one real attempt at something that the sandbox must
// prevent. Each is made twice, in separate places:
//
//	bare   by a plain child of the same user in the same setting: it must land
//	boxed  by a command of the real backend: it must not
//
// The effect outside counts, as seen from outside; the attacker's own report counts only if no
// effect can be seen. settings_test.go runs the table in every setting and says which rows are not
// enforced there yet.

// attempt is one row.
type attempt struct {
	name string
	// escape is the number of the known escape, or "-".
	escape string
	// protects is what an escape would cost.
	protects string
	// policy names the policy of the attempt; "" is workspace-write.
	policy string
	// weakness is the ID that Enforcement must state if the row is not enforced.
	weakness string
	// do makes the attempt, in the victim. nil means success.
	do func(p place) error
	// watch are paths below the row's folder in the workspace that must not change. Its folder
	// outside must never change.
	watch []string
	// word: the attempt changes nothing visible; it succeeded if do says so.
	word bool
	// before prepares the host for each try.
	before func(h *host, p place)
	// landed checks from outside, in place of a comparison of files.
	landed func(h *host, p place) bool
	// alone: the row gets a victim of its own.
	alone bool
	// race: the row repeats its attempt for place.Millis.
	race bool
	// sends: the attempt sends the name of its folder to a listener.
	sends bool
	// trial tries what the attempt needs of the machine, if not every machine has it.
	trial machine.Trial
	// cannot returns why the attempt fails even without a sandbox; "" if it can succeed. nil: it
	// always can.
	cannot func(s attack.Setting) string
	// rootOnly: without a sandbox the row needs capabilities to succeed.
	rootOnly bool
}

// place is where one try of a row happens.
type place struct {
	// in is in the workspace and out outside it. The policy "reads" denies reading secret.
	in, out, secret string
	*scene
}

// scene is the data that a victim gets.
type scene struct {
	Rows []string
	// Base contains ws, out and secret, each with one folder a row.
	Base string
	// Host is the pid of the process that acts as codeagent.
	Host int
	// These are ports of listeners on the loopback device, outside the sandbox.
	TCP, TCPAny, TCP6, UDP, UDP6 int
	// Net is the cookie of the host's network namespace.
	Net uint64
	// Abstract is the name of an abstract socket.
	Abstract string
	// SetUID is a set-user-ID program of strangerUID that does what id(1) does.
	SetUID string
	// Millis is the duration of races.
	Millis int
}

func (s *scene) place(i int) place {
	n := strconv.Itoa(i)
	return place{filepath.Join(s.Base, "ws", n), filepath.Join(s.Base, "out", n), filepath.Join(s.Base, "secret", n), s}
}

// escapes is the complete table.
func escapes() []attempt {
	return slices.Concat(fileEscapes(), wayEscapes(), metadataEscapes(), lockEscapes(), protectedEscapes(), readEscapes(), ownEscapes(),
		networkEscapes(), socketEscapes(), processEscapes(), sessionEscapes(), setUIDEscapes(), foreignRootEscapes(), chainEscapes(),
		leftEscapes(), terminalEscapes(), blindEscapes(), raceEscapes(), socketRaces(), datagramRaces(), duringEscapes(), trustEscapes(), answerEscapes())
}

// These are the environment and the argv[0] of a victim.
const (
	victimName = "escape-victim"
	envScene   = "CODEAGENT_TEST_SCENE"
)

const wordPrefix = "escape result: "

// escapeVictim takes over the process if it was started as a victim: it makes the given attempts
// and prints their results.
func escapeVictim() {
	if filepath.Base(os.Args[0]) != victimName {
		return
	}
	var s scene
	if err := json.Unmarshal([]byte(os.Getenv(envScene)), &s); err != nil {
		fmt.Println("no scene:", err)
		os.Exit(1)
	}
	table := escapes()
	for _, name := range s.Rows {
		i := slices.IndexFunc(table, func(a attempt) bool { return a.name == name })
		fmt.Printf("%s%s\t%s\n", wordPrefix, name, attack.Word(try(table[i], s.place(i))))
	}
	syscall.Exit(0) // os.Exit would wait a second with the race detector
}

// try makes one attempt from the row's folder in the workspace, on its own thread.
func try(a attempt, p place) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := os.Chdir(p.in)
		if err == nil {
			err = a.do(p)
		}
		done <- err
	}()
	return <-done
}

// words parses a victim's output for the result of each attempt.
func words(out string) map[string]string {
	said := map[string]string{}
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), wordPrefix); ok {
			name, word, _ := strings.Cut(rest, "\t")
			said[name] = word
		}
	}
	return said
}

// outcome is the result of one try.
type outcome struct {
	word   string
	landed bool
}

// runs groups the rows of one try: those that one victim can make are together.
func runs(table []attempt) [][]int {
	together := map[string][]int{}
	var out [][]int
	for i, a := range table {
		if a.alone || a.race {
			out = append(out, []int{i})
		} else {
			together[a.policy] = append(together[a.policy], i)
		}
	}
	for _, name := range policyNames {
		if len(together[name]) > 0 {
			out = append(out, together[name])
		}
	}
	return out
}

// attemptAll makes every attempt of the table once. start runs a victim with the given rows, to its
// end.
func (h *host) attemptAll(t *testing.T, s scene, table []attempt, skip func(attempt) bool, start func(s scene, policy string) string) map[string]outcome {
	t.Helper()
	results := map[string]outcome{}
	for _, run := range runs(table) {
		run = slices.DeleteFunc(run, func(i int) bool { return skip(table[i]) })
		if len(run) == 0 {
			continue
		}
		now, seen := s, map[int]string{}
		now.Rows = nil
		for _, i := range run {
			now.Rows = append(now.Rows, table[i].name)
			p := now.place(i)
			furnish(t, h, table[i], p)
			if table[i].before != nil {
				table[i].before(h, p)
			}
			seen[i] = picture(p, table[i].watch)
		}
		out := start(now, table[run[0]].policy)
		said := words(out)
		for _, i := range run {
			a, p := table[i], now.place(i)
			word, told := said[a.name]
			if !told {
				word = "the victim was ended"
				if !a.alone {
					t.Errorf("%s: the victim reports nothing about it:\n%s", a.name, out)
				}
			}
			results[a.name] = outcome{word, h.judge(a, p, word, seen[i])}
		}
	}
	return results
}

// judge reports whether an attempt succeeded.
func (h *host) judge(a attempt, p place, word, before string) bool {
	switch {
	case a.landed != nil:
		return a.landed(h, p)
	case a.word:
		return word == "ok"
	}
	return picture(p, a.watch) != before
}

// policyNames are the policies that host.policy knows.
var policyNames = []string{"", "reads", "roots", "own", "foreign", "names", "above"}

// policy returns the policy with that name; s.Base contains ws, out and secret.
func (h *host) policy(name string, s scene, table []attempt) sandbox.Policy {
	base := s.Base
	ws := filepath.Join(base, "ws")
	p := sandbox.WorkspaceWrite(ws)
	p.Protected.Names = append(p.Protected.Names, ownedName)
	switch name {
	case "reads":
		p.DenyRead, p.DenyGlobs = []string{filepath.Join(base, "secret")}, []string{"**/.secret"}
	case "roots":
		p = sandbox.Strict(os.Args[0], ws) // no workspace except the victim's program
		p.Limits = sandbox.Limits{}
	case "above": // see aboveRoots
		p.Write = nil
	case "foreign":
		p.Write, p.DenyRead = nil, []string{filepath.Join(base, "secret")}
	}
	for i, a := range table {
		dir := s.place(i).in
		switch {
		case !h.rows.Has(i), attack.InBwrap() && len(s.Rows) > 0 && !slices.Contains(s.Rows, a.name):
		case a.policy == "foreign" && name == "foreign":
			p.Write = append(p.Write, sandbox.Root{Path: dir, Optional: true})
		case a.policy == "above" && name == "above":
			p.Write = append(p.Write, sandbox.Root{Path: dir + protecttest.In("/{editor/}")}, sandbox.Root{Path: dir + protecttest.In("/{agent}/skills")})
		case a.policy == "own" && name == "own":
			p.Protected.Own = append(p.Protected.Own, dir+"/bin/tool", dir+"/absent-settings")
		case a.weakness == "protected" && name == "":
			for _, git := range []string{"/.git", "/sub/.git", "/.git/modules/m"} {
				p.Protected.Paths = append(p.Protected.Paths, protect.Git(dir+git)...)
			}
			p.Protected.Paths = append(p.Protected.Paths, dir+"/linked/.git", dir+"/.git/worktrees/w/commondir", dir+"/.git/worktrees/w/gitdir")
			p.Protected.Paths = append(p.Protected.Paths, h.trusted[dir]...)
		}
	}
	if name == "names" {
		return h.allowedNames(p, s)
	}
	return p
}
