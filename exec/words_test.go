package exec_test

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
)

var (
	update    = flag.Bool("update", false, "run the commands of the table again and record what they print")
	onlyCases = flag.String("cases", "", "with -update: only cases whose name contains this")
)

const captureFile = "testdata/words.json"

// capturedOutput is what one case printed under the sandbox.
type capturedOutput struct {
	Output   string
	Exit     int
	Signal   int  `json:",omitempty"`
	TimedOut bool `json:",omitempty"`
	// PassesOutside: the same command, without the sandbox, exits with 0.
	PassesOutside bool
}

func readCaptures(t *testing.T) map[string]capturedOutput {
	t.Helper()
	all := map[string]capturedOutput{}
	data, err := os.ReadFile(captureFile)
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// paper is the file system of the cases: what exists, where links lead, and what the user may
// do.
type paper struct {
	modes map[string]fs.FileMode
	links map[string]string
	root  bool
}

func (p paper) Lstat(name string) (fs.FileMode, error) {
	if _, ok := p.links[name]; ok {
		return fs.ModeSymlink | 0o777, nil
	}
	if mode, ok := p.modes[name]; ok {
		return mode, nil
	}
	return 0, fs.ErrNotExist
}

func (p paper) Readlink(name string) (string, error) { return p.links[name], nil }

func (p paper) Access(name string, write bool) error {
	if _, err := p.Lstat(name); err != nil {
		return err
	}
	switch {
	case p.root || sandbox.Covers("/home/u", name) || name == "/tmp":
		return nil
	case write || name == "/etc/shadow" || sandbox.Covers("/root", name):
		return syscall.EACCES
	}
	return nil
}

func newPaper(root bool) paper {
	p := paper{modes: map[string]fs.FileMode{}, links: map[string]string{"/home/u/ws/link": "../out"}, root: root}
	for _, dir := range []string{"/", "/home", "/home/u", "/home/u/ws", "/home/u/ws/sub", "/home/u/out", "/home/u/out/dir", "/home/u/out/empty",
		"/home/u/out/git", "/home/u/out/git/.git", "/home/u/ws/.git", "/home/u/run", "/home/u/tmp", "/tmp", "/etc", "/usr", "/usr/bin", "/root"} {
		p.modes[dir] = fs.ModeDir | 0o755
	}
	for _, file := range []string{"/home/u/ws/a", "/home/u/out/f", "/home/u/out/dir/g", "/home/u/out/secret", "/etc/hosts", "/etc/shadow"} {
		p.modes[file] = 0o644
	}
	return p
}

func (c outputCase) policyFor() sandbox.Policy {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	p.Temp = "/home/u/tmp"
	switch c.policy {
	case "ro":
		p = sandbox.ReadOnly()
	case "net":
		p.Network.Mode = sandbox.NetworkFull
	case "deny":
		p.DenyRead = []string{"/home/u/out/secret"}
	}
	return p
}

func (c outputCase) outcome(o capturedOutput) exec.Outcome {
	out := exec.Outcome{
		Status: sandbox.Status{Exit: o.Exit, Signal: o.Signal}, TimedOut: o.TimedOut, Argv: []string{"/bin/bash", "-c", c.script},
	}
	out.Output = exec.Printed(o.Output)
	return out
}

func targets(v sandbox.Verdict) []string {
	out := []string{}
	for _, d := range v.Denials {
		if !d.Moot {
			out = append(out, d.Target)
		}
	}
	return out
}

// The minimum quality of verdicts that rely only on an output's words.
const (
	wordsPrecision = 0.90
	wordsRecall    = 0.70
	wordsNamed     = 0.80
)

// TestWordsTable: the output is read only if no broker observed the denials. The result is
// marked as a guess, and suggests what the output names.
func TestWordsTable(t *testing.T) {
	if *update {
		capture(t)
	}
	all := readCaptures(t)
	var right, missed, wrong, named int
	for _, c := range slices.Concat(outputCases, ownNetCases) {
		o, ok := all[c.name]
		if !ok {
			t.Errorf("%s: no output is recorded", c.name)
			continue
		}
		truth := len(c.want) > 0
		if !c.assumed && truth != (o.PassesOutside && (o.Exit != 0 || o.Signal != 0)) {
			t.Errorf("%s: labelled denied=%v, but exit %d inside and passes outside=%v", c.name, truth, o.Exit, o.PassesOutside)
		}
		v := exec.Judge(c.policyFor(), c.outcome(o), newPaper(c.asRoot), "/home/u/ws")
		if v.Denied && (v.Confidence != sandbox.Likely || v.Evidence != sandbox.EvidenceOutputOnly) {
			t.Errorf("%s: %+v", c.name, v)
		}
		switch {
		case v.Denied && truth:
			right++
			// A name that could not be looked up has no port.
			matches := func(got, want string) bool {
				ok, err := path.Match(want, got)
				return err == nil && ok || strings.HasPrefix(want, got+":")
			}
			if slices.EqualFunc(targets(v), c.want, matches) {
				named++
			}
		case v.Denied:
			wrong++
			t.Logf("%s: false alarm: %q", c.name, targets(v))
		case truth:
			missed++
			t.Logf("%s: missed: %.300q", c.name, o.Output)
		}
	}
	precision, recall := float64(right)/float64(right+wrong), float64(right)/float64(right+missed)
	t.Logf("precision %d/%d, recall %d/%d, target named %d", right, right+wrong, right, right+missed, named)
	if precision < wordsPrecision || recall < wordsRecall || float64(named) < wordsNamed*float64(right) {
		t.Errorf("want precision %.2f, recall %.2f, targets named %.2f", wordsPrecision, wordsRecall, wordsNamed)
	}
}

func suggestion(g sandbox.Grant) string { return strings.Join(g.Lines(nil), " ") }
