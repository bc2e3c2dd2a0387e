package exec_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// The corpus: commands whose correct verdict is found by running them. A shell runs each
// twice, in fresh folders:
//
//	bare   by the same user without a sandbox
//	boxed  under workspace-write by the real backend, which also judges it
//
// A command was denied if it succeeds bare and fails boxed. Every run finds this label anew;
// it is not stored. The tables contain only which target a verdict must then name.

// corpusRow is one command.
type corpusRow struct {
	// script is run by `bash -c` in the workspace $WS. $OUT is a read-only folder beside it,
	// $HOME another one; for $PORT and the like see corpusServers.
	script string
	// want are the targets that must be named if it is denied: path.Match patterns in terms
	// of $OUT and the like.
	want []string
	// setup runs before each run, without a sandbox.
	setup string
	// needs are the programs that the row requires.
	needs string
	// policy is "" for workspace-write, "ro" for read-only, "deny" for a policy under which
	// $OUT/secret may not be read.
	policy string
	// user rows make no sense for root, who may do anything; root rows are for root only.
	user, root bool
}

// corpusTables returns the whole corpus by the purpose of its rows.
func corpusTables() map[string][]corpusRow {
	return map[string][]corpusRow{
		"denied": slices.Concat(corpusFiles, corpusQuiet, corpusTools, corpusNetwork, corpusReads, corpusCalls), "ignored": corpusIgnored,
		"alike": corpusAlike, "plain": corpusPlain,
	}
}

// The minimum size of the corpus, for each user.
const (
	corpusRows    = 220
	corpusDenied  = 60
	corpusSilent  = 20
	corpusHandled = 30
	corpusPosing  = 30
)

// The minimum quality of the verdicts.
const (
	corpusF1     = 0.94
	corpusNamed  = 0.95
	corpusGrants = 0.82
)

// corpusUser is the user who runs the corpus besides root.
const corpusUser = 1001

// TestCorpusAsRoot and TestCorpusAsUser run a sample in turn, and with CI=true all of it.
func TestCorpusAsRoot(t *testing.T) { asRoot(t, runCorpus) }

func TestCorpusAsUser(t *testing.T) { asCorpusUser(t, runCorpus) }

func asRoot(t *testing.T, run func(*testing.T, string)) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	inTurn(t, "Root")
	run(t, corpusStage(t, 0))
}

// inTurn has a table run as root or as an ordinary user, where both are possible.
func inTurn(t *testing.T, user string) {
	t.Helper()
	table := strings.TrimSuffix(t.Name(), user)
	if picked := machine.Pick(t, table, 1, 1, []string{"Root", "User"}); picked[0] != user {
		t.Skip(machine.Sampled + "as the other user in this turn")
	}
}

// asCorpusUser runs the test as an ordinary user, in a process of its own if this one is
// root's.
func asCorpusUser(t *testing.T, run func(*testing.T, string)) {
	t.Helper()
	if stage := os.Getenv(corpusStageVariable); stage != "" {
		run(t, stage)
		return
	}
	if os.Getuid() != 0 {
		run(t, corpusStage(t, os.Getuid()))
		return
	}
	inTurn(t, "User")
	stage := corpusStage(t, corpusUser)
	binary := filepath.Join(stage, "tests")
	if err := copyProgram("/proc/self/exe", binary); err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(binary, "-test.run", "^"+t.Name()+"$", "-test.v", "-rows", *onlyRows)
	cmd.Dir, cmd.Env = stage, append(os.Environ(), corpusStageVariable+"="+stage, "HOME="+stage, "TMPDIR="+stage, sandboxtest.NoPause)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: corpusUser, Gid: corpusUser}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Errorf("as uid %d: %v\n%s", corpusUser, err, out)
	} else {
		t.Logf("as uid %d:\n%s", corpusUser, out)
	}
}

// corpusStageVariable names the folder of a test process that became the user.
const corpusStageVariable = "CODEAGENT_TEST_CORPUS"

// corpusStage returns a folder of the user's. It is not below /tmp if there is another
// place: a sandbox with its own /tmp hides it.
func corpusStage(t *testing.T, uid int) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	var dir string
	var err error
	for _, parent := range []string{"/srv", "/var/lib", home, ""} {
		if dir, err = os.MkdirTemp(parent, "codeagent-corpus"); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeCorpus(dir) })
	if os.Getuid() == 0 {
		err = os.Chown(dir, uid, uid)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// removeCorpus removes a tree in which some folders have no permissions.
func removeCorpus(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// corpusResult is the result of one row.
type corpusResult struct {
	corpusRow
	table string
	// broken: the row could not be run properly.
	broken string
	bare   exec.Outcome
	boxed  exec.Outcome
	// label is whether it was denied.
	label bool
	// touched: the bare run changed or reached what the boxed run could not.
	touched bool
	// named: every wanted target was named. granted: the command succeeds with the suggested
	// grant. least: it fails with one item less.
	named, granted, least bool
	missing               []string
	// suggested counts the suggestions of the boxed run. useless says which codeagent refuses, or do not
	// get the command further.
	suggested int
	useless   []string
	notes     []string
	took      time.Duration
}

// runCorpus runs the corpus and reports the results.
func runCorpus(t *testing.T, stage string) {
	t.Helper()
	tellCorpus(t, runRows(t, stage, pickRows(t)))
}

// runRows runs the rows, two at a time.
func runRows(t *testing.T, stage string, rows []*corpusResult) []*corpusResult {
	t.Helper()
	backend, err := linuxsandbox.New(linuxsandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	const workers = 2
	work := make(chan *corpusResult)
	var group sync.WaitGroup
	for n := range workers {
		place := newCorpusPlace(t, backend, filepath.Join(stage, fmt.Sprint("place", n)), filepath.Join(stage, "gocache"))
		if n == 0 && slices.ContainsFunc(rows, func(r *corpusResult) bool { return r.needs == "go" }) {
			place.warm(t)
		}
		group.Go(func() {
			for r := range work {
				start := time.Now()
				place.judge(r)
				r.took = time.Since(start)
			}
		})
	}
	for _, r := range rows {
		work <- r
	}
	close(work)
	group.Wait()
	all := 0
	for _, r := range rows {
		all += r.suggested
		for _, fault := range r.useless {
			t.Errorf("%s\n  suggests what does not help: %s", r.script, fault)
		}
	}
	t.Logf("%d suggestions", all)
	return rows
}

// corpusSample chooses the rows that are run: those asked for, all, or a sample.
func corpusSample(t *testing.T, home int) machine.Rows {
	t.Helper()
	if *onlyRows != "" {
		return machine.Rows{Every: 1}
	}
	return machine.Sample(t, home)
}

// corpusChosen reports whether the n-th row is run. A slow one is not part of a sample.
func corpusChosen(row corpusRow, sample machine.Rows, n int) bool {
	return sample.Has(n) && (!slow(row) || sample.All() || machine.Thorough()) && strings.Contains(row.script, *onlyRows)
}

// pickRows returns the corpus for this user, or a sample of it.
func pickRows(t *testing.T) []*corpusResult {
	t.Helper()
	root, sample := os.Getuid() == 0, corpusSample(t, 9)
	seen := map[string]bool{}
	var rows []*corpusResult
	tables := corpusTables()
	for _, name := range []string{"denied", "ignored", "alike", "plain"} {
		for n, row := range tables[name] {
			if seen[row.script] {
				t.Errorf("the command is there twice: %s", row.script)
			}
			seen[row.script] = true
			if strings.Contains(row.script, "$PORT6") || strings.Contains(row.script, `"PORT6"`) {
				if !machine.IPv6().Works(t) {
					continue
				}
			}
			if row.user && root || row.root && !root || !corpusChosen(row, sample, n) {
				continue
			}
			rows = append(rows, &corpusResult{corpusRow: row, table: name})
		}
	}
	return rows
}

// slow rows take seconds.
func slow(r corpusRow) bool { return r.needs == "go" || r.needs == "npm" }

// corpusWords occur in the output of rows that only look denied.
var corpusWords = []string{"permission denied", "not permitted", "sandbox", "seccomp", "read-only file system", "eacces", "eperm", "landlock",
	"network is unreachable", "connection refused", "erlaubnis", "permiso", "permission non", "refus", "verweigert"}

func poses(o exec.Outcome) bool {
	text := strings.ToLower(o.Output.Text())
	return slices.ContainsFunc(corpusWords, func(w string) bool { return strings.Contains(text, w) })
}

// tellCorpus counts the verdicts and prints the wrong ones.
func tellCorpus(t *testing.T, results []*corpusResult) {
	t.Helper()
	var c struct{ denied, silent, handled, posing, right, wrong, missed, named, granted int }
	for _, r := range results {
		said := r.boxed.Verdict.Denied
		switch {
		case r.broken != "":
			t.Errorf("%s\n  cannot be judged: %s", r.script, r.broken)
			continue
		case r.label && said:
			c.right++
		case said:
			c.wrong++
			if r.boxed.Verdict.Confidence == sandbox.Certain {
				t.Errorf("%s\n  is certain, and wrong", r.script)
			}
			r.notes = append(r.notes, "FALSE ALARM")
		case r.label:
			c.missed++
			r.notes = append(r.notes, "MISSED")
		}
		if r.label {
			c.denied++
			count(&c.silent, len(r.boxed.Output.Text()) == 0)
			count(&c.named, r.named)
			count(&c.granted, r.named && r.granted && r.least)
			if !r.named && said {
				r.notes = append(r.notes, fmt.Sprintf("does not name %q", r.missing))
			}
			if r.named && said && !(r.granted && r.least) {
				r.notes = append(r.notes, fmt.Sprintf("suggests %q: passes=%v least=%v", suggestion(r.boxed.Verdict.Suggest), r.granted, r.least))
			}
		} else if r.boxed.Failed() {
			count(&c.handled, r.touched)
			count(&c.posing, !r.touched && poses(r.boxed))
		}
		if r.label != (r.table == "denied") || r.table == "ignored" && !r.touched || r.table == "alike" && (r.touched || !poses(r.boxed)) {
			r.notes = append(r.notes, fmt.Sprintf("stands under %q: label=%v touched=%v bare %s boxed %s", r.table, r.label, r.touched, ending(r.bare), ending(r.boxed)))
		}
		if len(r.notes) > 0 {
			t.Logf("%s\n  %s\n  trace %s\n  output %.600q", r.script, strings.Join(r.notes, "\n  "), traceWords(r.boxed.Trace), r.boxed.Output.Text())
		}
		if r.took > 3*time.Second {
			t.Logf("%s\n  took %s", r.script, r.took)
		}
	}
	f1 := 2 * float64(c.right) / float64(max(1, 2*c.right+c.wrong+c.missed))
	t.Logf("uid %d: %d commands: %d denied, %d of them without output; %d went on and failed for another reason; %d only look like it",
		os.Getuid(), len(results), c.denied, c.silent, c.handled, c.posing)
	t.Logf("precision %d/%d, recall %d/%d, F1 %.3f; target named %d/%d, least grant %d/%d",
		c.right, c.right+c.wrong, c.right, c.denied, f1, c.named, c.denied, c.granted, c.named)
	if !machine.Everything() {
		t.Log("too few for the minimums: they are checked with CI=true")
		return
	}
	if f1 < corpusF1 || share(c.named, c.denied) < corpusNamed || share(c.granted, c.named) < corpusGrants {
		t.Errorf("want F1 %.2f, targets named %.2f, least grants %.2f", corpusF1, corpusNamed, corpusGrants)
	}
	for _, n := range []struct {
		what       string
		have, want int
	}{{"commands", len(results), corpusRows}, {"denied", c.denied, corpusDenied}, {"denied without output", c.silent, corpusSilent},
		{"failed for another reason", c.handled, corpusHandled}, {"only looking like it", c.posing, corpusPosing}} {
		if n.have < n.want {
			t.Errorf("%d %s, want at least %d", n.have, n.what, n.want)
		}
	}
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

func share(n, of int) float64 { return float64(n) / float64(max(1, of)) }

func ending(o exec.Outcome) string {
	if o.TimedOut {
		return "timed out"
	}
	return fmt.Sprintf("%d/%d", o.Status.Exit, o.Status.Signal)
}

// traceWords formats a trace for debugging.
func traceWords(tr sandbox.Trace) string {
	words := []string{string(tr.Evidence)}
	for _, d := range tr.Denials {
		w := fmt.Sprintf("%d:%s %s(%s)=%s by %s %d", d.Order, d.Kind, d.Operation, d.Target, d.Errno, d.ProcessName(), d.PID)
		if d.Moot {
			w += " moot: " + d.MootReason
		}
		words = append(words, w)
	}
	for _, e := range tr.Exits {
		words = append(words, fmt.Sprintf("%d:%s %d<%d exits %d", e.Order, e.Comm, e.PID, e.Parent, e.Status))
	}
	return strings.Join(words, "\n    ")
}
