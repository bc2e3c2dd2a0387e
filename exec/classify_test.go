package exec_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/netip"
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

const captureFile = "testdata/classify.json"

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

// paper is the file system of the cases: what exists, where links lead, and
// what the user may do.
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

// Listens: the host of the cases serves version 4.
func (p paper) Listens(at netip.AddrPort) bool {
	return at.Addr().Is4() && slices.Contains(listening, at.Port())
}

func newPaper(root bool) paper {
	p := paper{modes: map[string]fs.FileMode{}, links: map[string]string{"/home/u/ws/link": "../out"}, root: root}
	for _, dir := range []string{"/", "/home", "/home/u", "/home/u/ws", "/home/u/ws/sub", "/home/u/out", "/home/u/out/dir", "/home/u/out/empty",
		"/home/u/out/git", "/home/u/out/git/.git", "/home/u/tmp", "/tmp", "/etc", "/usr", "/usr/bin", "/root"} {
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

func TestClassifyTable(t *testing.T) {
	if *update {
		capture(t)
	}
	all := readCaptures(t)
	var right, missed, wrong int
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
		v := exec.Classify(c.policyFor(), c.outcome(o), newPaper(c.asRoot), "/home/u/ws")
		switch {
		case v.Denied && truth:
			right++
		case v.Denied:
			wrong++
		case truth:
			missed++
		}
		problem := c.check(v)
		if c.miss != "" {
			if problem == "" {
				t.Errorf("%s: is judged rightly now; its miss (%s) can go", c.name, c.miss)
			}
			t.Logf("known miss: %s: %s (%s)", c.name, problem, c.miss)
			continue
		}
		if problem != "" {
			t.Errorf("%s: %s\n%.4000s", c.name, problem, o.Output)
		}
	}
	t.Logf("%d cases; precision %d/%d, recall %d/%d", len(outputCases)+len(ownNetCases), right, right+wrong, right, right+missed)
}

// check says what is wrong with a verdict.
func (c outputCase) check(v sandbox.Verdict) string {
	got := targets(v)
	if v.Denied != (len(c.want) > 0) {
		return fmt.Sprintf("denied=%v, targets %q, want %q", v.Denied, got, c.want)
	}
	if !v.Denied {
		if !v.Suggest.Empty() || v.Confidence != sandbox.NoConfidence {
			return fmt.Sprintf("not denied, and yet %+v", v)
		}
		return ""
	}
	matches := func(got, want string) bool { ok, err := path.Match(want, got); return err == nil && ok }
	if !slices.EqualFunc(got, c.want, matches) {
		return fmt.Sprintf("targets %q, want %q", got, c.want)
	}
	if v.Confidence != sandbox.Likely || v.Evidence != sandbox.EvidenceOutputOnly {
		return fmt.Sprintf("confidence %q, evidence %q", v.Confidence, v.Evidence)
	}
	want := c.suggest
	if want == "" {
		var words []string
		for _, d := range v.Denials {
			words = append(words, map[sandbox.DenialKind]string{sandbox.KindNetwork: "h:"}[d.Kind]+d.Target)
		}
		want = strings.Join(words, " ")
		if !strings.HasPrefix(want, "h:") {
			want = "w:" + strings.Join(words, " w:")
		}
	}
	if g := suggestion(v.Suggest); g != strings.TrimPrefix(want, "-") {
		return fmt.Sprintf("suggests %q, want %q", g, want)
	}
	return ""
}

func suggestion(g sandbox.Grant) string {
	var words []string
	for _, p := range g.Write {
		words = append(words, "w:"+p)
	}
	for _, p := range g.Read {
		words = append(words, "r:"+p)
	}
	for _, h := range g.Hosts {
		words = append(words, "h:"+h.String())
	}
	for _, s := range g.Sockets {
		words = append(words, "s:"+s)
	}
	if g.Unsandboxed {
		words = append(words, "!")
	}
	return strings.Join(words, " ")
}
