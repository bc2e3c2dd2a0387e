//go:build linux

package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// suite is a set of tests of another project.
type suite struct {
	name  string
	quick bool
	// prepare sets up the suite and returns its command and working folder, "" for a new one.
	prepare func(st *stage, s suite) (argv []string, dir string, err error)
	// parse parses the outcomes from the output.
	parse func(output string) outcomes
}

var suites = []suite{
	{"os", true, goTests, goOutcomes},
	{"os/exec", true, goTests, goOutcomes},
	{"os/signal", false, goTests, goOutcomes},
	{"net", false, goTests, goOutcomes},
	{"syscall", true, goTests, goOutcomes},
	{"test_os", true, pythonTests, pythonOutcomes},
	{"test_pty", true, pythonTests, pythonOutcomes},
	{"test_socket", false, pythonTests, pythonOutcomes},
	{"test_asyncio", false, pythonTests, pythonOutcomes},
	{"test_multiprocessing_fork", false, pythonTests, pythonOutcomes},
	{"test_subprocess", false, pythonTests, pythonOutcomes},
}

// suiteLimit ends a suite that hangs.
const suiteLimit = 10 * time.Minute

// goTests compiles the tests of a package of the standard library. They run in the package's
// folder, as with `go test`.
func goTests(st *stage, s suite) ([]string, string, error) {
	binary := filepath.Join(st.dir, strings.ReplaceAll(s.name, "/", "-")+".test")
	cmd := exec.Command("go", "test", "-c", "-o", binary, s.name)
	cmd.Dir = filepath.Join(st.goroot, "src")
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("%w\n%s", err, out)
	}
	return []string{binary, "-test.v", "-test.short", "-test.timeout=" + suiteLimit.String()}, filepath.Join(st.goroot, "src", s.name), nil
}

var goLine = regexp.MustCompile(`(?m)--- (PASS|FAIL|SKIP): (\S+) \(`)

func goOutcomes(output string) outcomes {
	words := map[string]outcome{"PASS": pass, "FAIL": fail, "SKIP": skip}
	out := outcomes{}
	for _, m := range goLine.FindAllStringSubmatch(output, -1) {
		out[m[2]] = words[m[1]]
	}
	return out
}

//go:embed runner.py
var pythonRunner string

// python is the system's own. Other installations have their tests elsewhere, or lack them.
const python = "/usr/bin/python3"

func pythonTests(st *stage, s suite) ([]string, string, error) {
	runner := filepath.Join(st.dir, "runner.py")
	if err := os.WriteFile(runner, []byte(pythonRunner), 0o644); err != nil {
		return nil, "", err
	}
	if out, err := exec.Command(python, "-c", "import test."+s.name).CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("python's own tests are not installed (Debian: libpython3.N-testsuite): %w\n%s", err, out)
	}
	return []string{python, runner, "test." + s.name}, "", nil
}

var pythonLine = regexp.MustCompile(`(?m)^COMPAT (\S+) (\S+)$`)

func pythonOutcomes(output string) outcomes {
	out := outcomes{}
	for _, m := range pythonLine.FindAllStringSubmatch(output, -1) {
		test := strings.TrimPrefix(m[2], "test.")
		if was, ok := out[test]; !ok || was == pass {
			out[test] = outcome(m[1])
		}
	}
	return out
}

func (s suite) runBare(st *stage, argv []string, dir string) (outcomes, string, error) {
	return s.execute(st, st.bare(argv, dir))
}

func (s suite) runBoxed(st *stage, argv []string, dir string) (outcomes, string, error) {
	return s.execute(st, st.boxed(argv, dir))
}

// execute runs argv to its end. A failing test makes the suite's command fail too.
func (s suite) execute(st *stage, argv []string) (outcomes, string, error) {
	var output bytes.Buffer
	err := st.run(argv, &output)
	failed := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &failed) {
		return nil, "", err
	}
	got := s.parse(output.String())
	if len(got) == 0 {
		return nil, "", fmt.Errorf("no test reported a result: %v\n%s", err, output.String())
	}
	return got, output.String(), nil
}
