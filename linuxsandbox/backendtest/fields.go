//go:build linux

package backendtest

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
	"codeagent/sandbox/sandboxtest"
)

// scene is where one attempt is made: files, and servers on the host.
type scene struct{ ws, out, temp, tcp, unix, bash string }

// cell is one field of the policy: what sets it, and an attempt that prints "ok" where nothing enforces it. native is what
// must come of it in the backend of the system and in containers: "held", "weakness ID" or "error TEXT"; bwrap in that one.
// An attempt that is "" is not made: the weakness is stated.
type cell struct {
	set           func(p *sandbox.Policy, s scene)
	attempt       string
	native, bwrap string
}

func roots(paths ...string) (out []sandbox.Root) {
	for _, path := range paths {
		out = append(out, sandbox.Root{Path: path})
	}
	return out
}

const dial = `(exec -a sandboxtest-probe "$EXE" $'dial\x1f'`

// cells has each field of resolved.Policy. Every policy may write $WS.
var cells = map[string]cell{
	"Unconfined": {func(p *sandbox.Policy, s scene) { p.Unconfined = true }, "echo ok", "error unconfined", "error unconfined"},
	"Roots":      {func(*sandbox.Policy, scene) {}, "echo x > $OUT/f && echo ok", "held", "held"},
	"Read": {func(p *sandbox.Policy, s scene) {
		p.Read = append(sandbox.Strict(s.ws, s.temp).Read, roots(os.Args[0])...)
	}, "cat $OUT/secret && echo ok", "held", "held"},
	"WasWrite":        {func(p *sandbox.Policy, s scene) { p.WasWrite = roots(s.out) }, "echo x > $OUT/f && echo ok", "held", "held"},
	"Protected.Paths": {func(p *sandbox.Policy, s scene) { p.Protected.Paths = []string{s.ws + "/deep/kept"} }, "mv deep away || rm -f deep/kept && echo ok", "held", "held"},
	"Protected.Names": {func(p *sandbox.Policy, s scene) { p.Protected.Names = []string{".envrc"} }, "mkdir new && echo x > new/.envrc && echo ok", "held", "weakness protected"},
	"Protected.Own":   {func(p *sandbox.Policy, s scene) { p.Protected.Own = []string{s.ws + "/deep/kept"} }, "mv deep away || rm -f deep/kept && echo ok", "held", "error belongs to codeagent itself"},
	"Protected.Hidden": {func(p *sandbox.Policy, s scene) {
		p.Protected.Own, p.Protected.Hidden = []string{s.out}, []string{s.out}
	}, "cat $OUT/secret && echo ok", "held", "held"},
	"DenyRead": {func(p *sandbox.Policy, s scene) {
		p.DenyRead = []string{s.ws + "/deep/kept", s.ws + "/shut", s.out + "/secret"}
	}, "cat deep/kept || cat shut/kept || cat $OUT/secret && echo ok", "held", "held"},
	"DenyGlobs":    {func(p *sandbox.Policy, s scene) { p.DenyGlobs = []string{"**/later"} }, "echo x > later; cat later && echo ok", "held", "weakness deny-read-glob"},
	"Network.Mode": {func(*sandbox.Policy, scene) {}, dial + `$'tcp\x1f'$TCP)`, "held", "held"},
	"Network.Hosts": {func(p *sandbox.Policy, s scene) {
		p.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "127.0.0.1", Port: 1}}}
	}, dial + `$'tcp\x1f'$TCP)`, "held", "error single hosts"},
	"Network.Deny": {func(p *sandbox.Policy, s scene) {
		p.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "127.0.0.1"}}, Deny: []sandbox.HostPort{{Host: "127.0.0.1"}}}
	}, dial + `$'tcp\x1f'$TCP)`, "held", "error single hosts"},
	"Sockets":           {func(p *sandbox.Policy, s scene) { p.Sockets = []string{s.out + "/another"} }, dial + `$'unix\x1f'$UNIX)`, "held", "error single sockets"},
	"Limits.CPUSeconds": {func(p *sandbox.Policy, _ scene) { p.Limits.CPUSeconds = 1 }, "end=$((SECONDS+4)); while [ $SECONDS -lt $end ]; do :; done; echo ok", "held", "held"},
	"Limits.CPUPercent": {func(p *sandbox.Policy, _ scene) { p.Limits.CPUPercent = 50 }, "", "weakness cpu-share", "weakness cpu-share"},
	"Limits.Memory":     {func(p *sandbox.Policy, _ scene) { p.Limits.Memory = 64 << 20 }, `x=$(head -c 100000000 /dev/zero | tr '\0' a) && echo ok`, "held", "held"},
	"Limits.Processes":  {func(p *sandbox.Policy, _ scene) { p.Limits.Processes = 50 }, "", "weakness process-limit", "weakness process-limit"},
	"Limits.OpenFiles":  {func(p *sandbox.Policy, _ scene) { p.Limits.OpenFiles = 20 }, `for i in $(seq 3 40); do eval "exec $i</dev/null" || exit; done; echo ok`, "held", "held"},
	"Limits.FileSize":   {func(p *sandbox.Policy, _ scene) { p.Limits.FileSize = 1 << 20 }, "head -c 3000000 /dev/zero > big && echo ok", "held", "held"},
	"Programs":          {func(p *sandbox.Policy, s scene) { p.Programs = []string{s.bash} }, "/bin/cat deep/kept && echo ok", "held", "error single programs"},
	"Temp":              {func(p *sandbox.Policy, s scene) { p.Temp = s.temp }, "mv $PROBE $PROBE.away && echo ok", "held", "held"},
}

// EveryField shows what becomes of each field of the policy on each of the backends. An attempt first works without one.
func EveryField(t *testing.T, rows machine.Rows, backends ...resolved.Backend) {
	sandboxtest.EveryField(t, cells)
	base := t.TempDir() // the same for all rows, so that one container may serve many
	for i, field := range slices.Sorted(maps.Keys(cells)) {
		if !rows.Has(i) {
			continue
		}
		c := cells[field]
		t.Run(field, func(t *testing.T) {
			if out := c.attemptIn(t, base, nil); c.attempt != "" && !strings.HasSuffix(out, "ok\n") {
				t.Fatalf("does not work without a sandbox: %s", out)
			}
			for _, b := range backends {
				want := c.native
				if b.Name() == "bwrap" || field == "Programs" && b.Name() != "linux" { // those of an image are others
					want = c.bwrap
				}
				if got := c.attemptIn(t, base, b); got != "held" && got != want && !(strings.HasPrefix(want, "error ") && strings.HasPrefix(got, "error ") && strings.Contains(got, want[6:])) {
					t.Errorf("%s: %s, want %s", b.Name(), got, want)
				} else {
					t.Logf("%s: %s", b.Name(), got)
				}
			}
		})
	}
}

// attemptIn makes the attempt in a place of its own. Without a backend it returns what the attempt prints.
func (c cell) attemptIn(t *testing.T, base string, b resolved.Backend) string {
	for _, dir := range []string{"/ws", "/out", "/temp"} { // the folders stay
		entries, _ := os.ReadDir(base + dir)
		for _, e := range entries {
			attack.RemoveAll(base + dir + "/" + e.Name())
		}
	}
	s := scene{ws: base + "/ws", out: base + "/out", temp: base + "/temp", unix: base + "/out/s"}
	var err error
	if s.bash, err = filepath.EvalSymlinks("/bin/bash"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{s.ws + "/deep", s.ws + "/shut", s.out, s.temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{s.ws + "/deep/kept", s.ws + "/shut/kept", s.out + "/secret"} {
		if err := os.WriteFile(file, []byte("content\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	probe, err := os.CreateTemp("/tmp", "probe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { os.Remove(probe.Name()); os.Remove(probe.Name() + ".away") }()
	probe.Close()
	for _, network := range []string{"tcp", "unix"} {
		l, err := net.Listen(network, map[string]string{"tcp": "127.0.0.1:0", "unix": s.unix}[network])
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if network == "tcp" {
			s.tcp = l.Addr().String()
		}
	}
	cmd := sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", c.attempt}, Dir: s.ws, Env: []string{
		"PATH=/bin:/usr/bin", "WS=" + s.ws, "OUT=" + s.out, "TCP=" + s.tcp, "UNIX=" + s.unix, "EXE=" + os.Args[0], "PROBE=" + probe.Name(), sandboxtest.NoPause,
	}}
	if b == nil {
		bare := exec.Cmd{Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env}
		out, _ := bare.CombinedOutput()
		return string(out)
	}
	p := sandbox.Policy{Write: roots(s.ws)}
	c.set(&p, s)
	e, err := sandboxtest.Enforcement(b, p)
	if err != nil {
		return fmt.Sprint("error ", err)
	}
	if _, out := sandboxtest.Output(t, b, p, cmd); c.attempt != "" && !strings.HasSuffix(out, "ok\n") {
		return "held"
	}
	for _, want := range []string{c.native, c.bwrap} {
		if id, ok := strings.CutPrefix(want, "weakness "); ok && e.Weak(id) {
			return want
		}
	}
	if c.attempt == "" {
		return "held" // by a control group
	}
	return "OUT, and no weakness states it"
}
