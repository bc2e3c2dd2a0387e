//go:build linux

package linuxsandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// checkout is a workspace that contains codeagent's own binaries, like the project's own checkout.
type checkout struct {
	ws, helper, program, planted, elsewhere string
	backend                                 *Backend
	policy                                  sandbox.Policy
}

const (
	helperText  = "the helper"
	programText = "the program"
)

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	ws := t.TempDir()
	c := &checkout{
		ws: ws, helper: filepath.Join(ws, "bin", HelperName), program: filepath.Join(ws, "bin", "codeagent"),
		planted: filepath.Join(ws, "bin", "settings.toml"), elsewhere: t.TempDir(),
	}
	c.furnish(t)
	c.backend = newPlainBackend(t)
	t.Cleanup(func() { c.backend.Close() })
	c.policy = sandbox.Policy{
		Write:     []sandbox.Root{{Path: ws}},
		Protected: sandbox.ProtectedNames{Own: []string{c.helper, c.program, c.planted}},
	}
	return c
}

func (c *checkout) furnish(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(c.ws)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(c.ws, e.Name())
		_ = os.Chmod(path, 0o755)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Dir(c.helper), 0o750); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{c.helper: helperText, c.program: programText} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// intact lists codeagent's own files that have changed.
func (c *checkout) intact() (wrong []string) {
	for path, text := range map[string]string{c.helper: helperText, c.program: programText} {
		data, err := os.ReadFile(path)
		info, err2 := os.Lstat(path)
		if err != nil || err2 != nil || string(data) != text || info.Mode() != 0o755 {
			wrong = append(wrong, path)
		}
	}
	if _, err := os.Lstat(c.planted); err == nil {
		wrong = append(wrong, c.planted)
	}
	if info, err := os.Lstat(filepath.Dir(c.helper)); err != nil || info.Mode().Perm() != 0o750 || !info.IsDir() {
		wrong = append(wrong, filepath.Dir(c.helper))
	}
	return wrong
}

func (c *checkout) run(t *testing.T, script string) ([]sandbox.Denial, sandbox.Status) {
	t.Helper()
	proc, err := sandboxtest.Start(c.backend, context.Background(), c.policy, c.command(script), nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := proc.Wait()
	if err != nil {
		t.Error(err)
	}
	return proc.Trace().Denials, st
}

func (c *checkout) command(script string) sandbox.Command {
	return sandbox.Command{
		Path: "/bin/sh", Args: []string{"sh", "-ec", script}, Dir: c.ws, Env: []string{"PATH=/bin:/usr/bin", "OUT=" + c.elsewhere},
	}
}

// ownAttacks are scripts that each leave a foreign file in place of codeagent's own.
var ownAttacks = []struct{ name, script string }{
	{"overwrite in place", "echo evil > bin/linux-sandbox-helper; echo evil > bin/codeagent"},
	{"remove", "rm bin/linux-sandbox-helper"},
	{"remove all", "rm -r bin"},
	{"replace", "echo evil > x; chmod 755 x; mv x bin/linux-sandbox-helper"},
	{"move the folder away", "mv bin old; mkdir bin; echo evil > bin/linux-sandbox-helper; chmod 755 bin/*"},
	{"link instead of the file", "echo evil > x; rm bin/codeagent; ln -s ../x bin/codeagent"},
	{"link instead of the folder", "mv bin old; ln -s \"$OUT\" bin"},
	{"link to a folder inside", "mv bin old; mkdir new; echo evil > new/codeagent; ln -s new bin"},
	{"file instead of the folder", "mv bin old; echo evil > bin"},
	{"folder instead of the file", "rm bin/codeagent; mkdir -p bin/codeagent/deep; echo evil > bin/codeagent/deep/x"},
	{"by another name", "ln bin/linux-sandbox-helper x; echo evil > x"},
	{"same size and time", "touch -r bin/codeagent stamp; printf 'the programX' > bin/codeagent; touch -r stamp bin/codeagent"},
	{"plant what was absent", "echo evil > bin/settings.toml"},
	{"plant a folder", "mkdir bin/settings.toml"},
	{"shut the file", "chmod 0 bin/codeagent"},
	{"shut the folder", "echo evil > bin/codeagent; chmod 0 bin"},
}

// TestOwnFilesAreHeld: the broker refuses each change of codeagent's own files in a write root at once.
func TestOwnFilesAreHeld(t *testing.T) {
	c := newCheckout(t)
	for _, a := range ownAttacks {
		t.Run(a.name, func(t *testing.T) {
			c.furnish(t)
			plain := exec.Command("/bin/sh", "-ec", a.script)
			plain.Dir, plain.Env = c.ws, c.command("").Env
			if out, err := plain.CombinedOutput(); err != nil {
				t.Fatalf("without a sandbox: %v\n%s", err, out)
			}
			if len(c.intact()) == 0 {
				t.Fatal("the attack changes nothing even without a sandbox")
			}
			c.furnish(t)
			denials, st := c.run(t, a.script)
			if st.Exit == 0 || !slices.ContainsFunc(denials, func(d sandbox.Denial) bool {
				return d.Kind == sandbox.KindProtected && d.Evidence == sandbox.EvidenceKernel
			}) {
				t.Errorf("not refused: %+v %+v", st, denials)
			}
			if wrong := c.intact(); len(wrong) != 0 {
				t.Errorf("changed: %s", wrong)
			}
			if entries, _ := os.ReadDir(c.elsewhere); len(entries) != 0 {
				t.Errorf("something was written through a planted link: %v", entries)
			}
			if d, _ := c.run(t, "true"); len(d) != 0 {
				t.Errorf("the next command is accused: %+v", d)
			}
		})
	}
	if os.Getuid() == 0 {
		t.Run("as a user", func(t *testing.T) { tests.AsUser(t, "^TestOwnFilesAreHeld$") })
	}
}

// TestOwnFileWithOtherNames: no command runs where it could change codeagent's own file by another name of it.
func TestOwnFileWithOtherNames(t *testing.T) {
	c := newCheckout(t)
	if err := os.Link(c.program, filepath.Join(c.ws, "other")); err != nil {
		t.Fatal(err)
	}
	_, err := sandboxtest.Start(c.backend, context.Background(), c.policy, c.command("true"), nil)
	if err == nil || !strings.Contains(err.Error(), c.program+", which belongs to codeagent itself and has other names") {
		t.Errorf("start: %v", err)
	}
}
