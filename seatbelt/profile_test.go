package seatbelt

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"
	"codeagent/sandbox/resolved"
)

var update = flag.Bool("update", false, "rewrite golden files")

// workspace is the policy under which most commands run.
func workspace() sandbox.Policy {
	p := sandbox.WorkspaceWrite("/Users/u/src/app", "/Users/u/extra")
	p.Protected.Paths = []string{"/Users/u/src/app/.git/config", "/Users/u/src/app/.git/hooks"}
	p.Protected.Own = []string{"/Users/u/.config/codeagent", "/Users/u/src/app/bin/codeagent", "/Users/u/.local/state/codeagent"}
	p.Protected.Hidden = []string{"/Users/u/.local/state/codeagent/undo", "/Users/u/.local/state/codeagent/sessions"}
	p.DenyRead = []string{"/Users/u/.ssh", "/Users/u/src/app/key.pem"}
	p.DenyGlobs = []string{"**/.env", "/Users/u/src/app/conf/*/token", "*.secret"}
	p.Temp = "/Users/u/.cache/codeagent/tmp/session-1"
	return p
}

func policies() map[string]sandbox.Policy {
	strict := sandbox.Strict("/Users/u/src/app", "/Users/u/.cache/codeagent/tmp/session-1")
	strict.Temp = "/Users/u/.cache/codeagent/tmp/session-1"
	strict.DenyRead = []string{"/Users/u/src/app/key.pem"}
	network := workspace()
	network.Network.Mode, network.SharedTemp, network.Sockets = sandbox.NetworkFull, true, []string{"/var/run/docker.sock"}
	granted := workspace().With(sandbox.Grant{
		Write: []string{"/Users/u/.npm", "/Users/u/src/app/.git/config", "/Users/u/src/app/.envrc", "/private/etc/hosts"},
		Read:  []string{"/Users/u/src/app/key.pem"},
	})
	hostile := sandbox.WorkspaceWrite(`/Users/u/")(allow default)(`)
	hostile.Protected.Paths = []string{`/Users/u/")(allow default)(/a"b`}
	hostile.DenyRead = []string{`/Users/u/")(allow default)(/c\d;`}
	hostile.DenyGlobs = []string{`**/")(allow default)(`, `**/*")(allow default)(`}
	hostile.Protected.Names = append(hostile.Protected.Names, `")(allow default)(`)
	return map[string]sandbox.Policy{
		"read-only": sandbox.ReadOnly(), "workspace-write": workspace(), "strict": strict, "full-network": network, "granted": granted, "hostile": hostile,
	}
}

// profileOf is the profile of p on a Mac.
func profileOf(p sandbox.Policy) (string, []Param, error) {
	exact, err := resolved.Of(p, mac)
	if err != nil {
		return "", nil, err
	}
	return Profile(exact)
}

var mac = resolved.Machine{SharedTemp: []string{"/private/tmp", "/private/var/tmp"}}

func compile(t *testing.T, p sandbox.Policy) *profile {
	t.Helper()
	text, params, err := profileOf(p)
	if err != nil {
		t.Fatal(err)
	}
	return parseProfile(t, text, params)
}

func TestGolden(t *testing.T) {
	for name, p := range policies() {
		if table := len(protect.Names()); len(p.Protected.Names) >= table { // a row more changes nothing here
			p.Protected.Names = append([]string{".codeagent", ".envrc", ".vscode/tasks.json"}, p.Protected.Names[table:]...)
		}
		text, params, err := profileOf(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, param := range params {
			text += fmt.Sprintf(";; -D %s=%s\n", param.Name, param.Value)
		}
		golden := filepath.Join("testdata", name+".sb")
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), text); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// wider are the paths that every profile lets a command write although no policy names them:
// nothing written there is stored.
var wider = []string{"/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr", "/dev/fd", "/dev/ptmx"}

// TestAgreesWithPolicy asks profile and policy the same questions: about each path that the policy
// names, its parent, the paths beside it, and paths below it. They must agree on all. For another
// spelling the profile may only refuse more.
func TestAgreesWithPolicy(t *testing.T) {
	policies := policies()
	policies["names above the roots"] = sandbox.WorkspaceWrite(protecttest.In("/Users/u/{editor/}"), protecttest.In("/Users/u/app/{agent}/skills"))
	for name, p := range policies {
		sb := compile(t, p)
		rows, allowed := 0, 0
		for _, target := range targets(p) {
			write, read := p.JudgeWrite(target).Allowed, p.JudgeRead(target).Allowed
			for op, want := range map[string]bool{"file-write-create": write, "file-write-mode": write, "file-read-data": read} {
				rows++
				got := sb.allows(query{op: op, path: target})
				if got {
					allowed++
				}
				if got != want && !(target == "/" && op == "file-read-data") { // the linker reads the root
					t.Errorf("%s: %s %q: the profile says %v, the policy %v", name, op, target, got, want)
				}
			}
			if write || !covered(p, target) {
				continue
			}
			for _, other := range respelt(target) {
				rows++
				if sb.allows(query{op: "file-write-create", path: other}) {
					t.Errorf("%s: %q can be written as %q", name, target, other)
				}
			}
		}
		t.Logf("%s: %d rows, %d allowed", name, rows, allowed)
		if rows < 30 || allowed == 0 {
			t.Errorf("%s: %d rows, %d allowed: too few to show anything", name, rows, allowed)
		}
	}
}

// covered reports whether target is in a write root, so that a refusal comes from a protection.
func covered(p sandbox.Policy, target string) bool {
	return slices.ContainsFunc(p.Write, func(r sandbox.Root) bool { return sandbox.Covers(r.Path, target) && r.Path != target })
}

// targets are paths around everything that a policy names, in their real form.
func targets(p sandbox.Policy) []string {
	seeds := []string{"/", "/Users", "/Users/u", "/usr/bin/true", "/private/etc/hosts", "/private/tmp/x", "/private/var/folders/x", "/Users/u/.bashrc", "/System/x"}
	for _, r := range p.Read {
		seeds = append(seeds, r.Path)
	}
	for _, r := range p.Write {
		seeds = append(seeds, r.Path)
		for _, name := range append([]string{"main.go", ".git", ".git/HEAD", ".env", "sub/.env", "sub/.env/x", "a.secret", "conf/a/token", "conf/token", "conf/a/b/token", "café", "x\ny"}, p.Protected.Names...) {
			seeds = append(seeds, path.Join(r.Path, name), path.Join(r.Path, "sub", name))
			if rest, begins := strings.CutPrefix(name, path.Base(r.Path)+"/"); begins {
				seeds = append(seeds, path.Join(r.Path, rest))
			}
		}
	}
	seeds = append(seeds, p.Protected.Paths...)
	seeds = append(seeds, p.Protected.Own...)
	seeds = append(seeds, p.Protected.Hidden...)
	seeds = append(seeds, p.DenyRead...)
	if p.Temp != "" {
		seeds = append(seeds, p.Temp)
	}
	var out []string
	for _, s := range seeds {
		// The policy names /etc where macOS means /private/etc.
		if real, err := exact(s); err != nil || real != s {
			continue
		}
		out = append(out, s, path.Dir(s), path.Join(s, "x"), path.Join(s, "x/y"), s+"x", s+".lock", s+" ")
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return !path.IsAbs(s) || path.Clean(s) != s })
}

// respelt returns spellings that a case-insensitive volume treats as the same path.
func respelt(target string) []string {
	dir, base := path.Split(target)
	return []string{
		dir + strings.ToUpper(base), dir + strings.ToLower(base),
		dir + strings.NewReplacer("k", "\u212a", "s", "\u017f").Replace(base), // Kelvin sign, long s
		dir + strings.ToUpper(base[:min(2, len(base))]) + base[min(2, len(base)):],
	}
}

// TestPackages: names are protected in packages, too, unlike on Linux. A profile cannot look into a folder
// that is renamed, so what is made there could be moved to where people work.
func TestPackages(t *testing.T) {
	sb := compile(t, workspace())
	const pkg = "/Users/u/src/app/node_modules/a"
	expect(t, sb, "file-write-unlink", map[string]bool{pkg: true})
	expect(t, sb, "file-write-create", map[string]bool{"/Users/u/src/app/a": true, pkg + "/x": true, pkg + protecttest.In("/{agent}/x"): false, pkg + protecttest.In("/{repository}"): false})
}

// TestWiderList: the devices can be written, but nothing can replace them.
func TestWiderList(t *testing.T) {
	for name, p := range policies() {
		sb := compile(t, p)
		for _, device := range wider {
			if !sb.allows(query{op: "file-write-data", path: device, device: true}) {
				t.Errorf("%s: %s cannot be written", name, device)
			}
		}
		// A file in place of a device is not a device.
		for _, device := range []string{"/dev/null", "/dev/zero"} {
			if sb.allows(query{op: "file-write-data", path: device}) || sb.allows(query{op: "file-write-unlink", path: device, device: true}) {
				t.Errorf("%s: %s can be replaced", name, device)
			}
		}
		for _, device := range []string{"/dev/disk0", "/dev/tty", "/dev/ttys001", "/dev/mem"} {
			if sb.allows(query{op: "file-write-data", path: device, device: true}) || sb.allows(query{op: "file-ioctl", path: device, device: true}) {
				t.Errorf("%s: %s is open", name, device)
			}
		}
		if !sb.allows(query{op: "file-write-data", path: "/dev/ttys001", device: true, extension: true}) {
			t.Errorf("%s: a terminal that the command opened is closed to it", name)
		}
	}
}

// TestStaysClosed: operations other than on files stay closed.
func TestStaysClosed(t *testing.T) {
	for name, p := range policies() {
		sb := compile(t, p)
		full := p.Network.Mode == sandbox.NetworkFull
		for _, c := range []struct {
			q    query
			want bool
		}{
			{query{op: "network-outbound", path: "/private/tmp/x.sock"}, full},
			{query{op: "network-outbound"}, full},
			{query{op: "network-inbound"}, full},
			{query{op: "network-bind", path: "/Users/u/src/app/s.sock"}, full},
			{query{op: "system-socket"}, full},
			{query{op: "mach-lookup", name: "com.apple.trustd.agent"}, full},
			{query{op: "mach-lookup", name: "com.apple.system.opendirectoryd.libinfo"}, true},
			{query{op: "mach-lookup", name: "com.apple.coreservices.launchservicesd"}, false},
			{query{op: "mach-lookup", name: "com.apple.coreservices.appleevents"}, false},
			{query{op: "mach-lookup", name: "com.apple.pasteboard.1"}, false},
			{query{op: "mach-lookup", name: "com.apple.SecurityServer"}, false},
			{query{op: "mach-lookup", name: "com.apple.dock.server"}, false},
			{query{op: "mach-register", name: "x"}, false},
			{query{op: "mach-priv-task-port"}, false},
			{query{op: "appleevent-send"}, false},
			{query{op: "lsopen"}, false},
			{query{op: "job-creation"}, false},
			{query{op: "distributed-notification-post"}, false},
			{query{op: "signal", same: true}, true},
			{query{op: "signal"}, false},
			{query{op: "process-info-pidinfo", same: true}, true},
			{query{op: "process-info-pidinfo"}, false},
			{query{op: "process-exec", path: "/bin/ls"}, true},
			{query{op: "process-fork"}, true},
			{query{op: "sysctl-read", name: "hw.ncpu"}, true},
			{query{op: "sysctl-read", name: "kern.procargs2"}, false},
			{query{op: "sysctl-write", name: "kern.hostname"}, false},
			{query{op: "file-link", path: "/Users/u/src/app/x"}, false},
			{query{op: "file-mount", path: "/Users/u/src/app/x"}, false},
			{query{op: "iokit-open"}, false},
			{query{op: "system-privilege"}, false},
			{query{op: "nvram-set"}, false},
		} {
			if got := sb.allows(c.q); got != c.want {
				t.Errorf("%s: %+v: %v", name, c.q, got)
			}
		}
	}
	sb := compile(t, sandbox.Policy{Sockets: []string{"/var/run/docker.sock"}})
	expect(t, sb, "network-outbound", map[string]bool{"/private/var/run/docker.sock": true, "/private/var/run/other.sock": false})
}

// TestPins: folders above a protected or denied path cannot be moved.
func TestPins(t *testing.T) {
	sb := compile(t, workspace())
	const ws = "/Users/u/src/app"
	for target, want := range map[string]bool{
		ws: false, ws + "/.git": false, ws + "/.GIT": false, ws + "/bin": false, ws + "/conf": false, ws + "/conf/a": false, ws + "/.vscode": false, ws + "/sub/.vscode": false,
		ws + "/.git/hooks": false, ws + "/key.pem": false, "/Users/u/extra": false,
		ws + "/main.go": true, ws + "/sub": true, ws + "/.git/index.lock": true, ws + "/conf/a/b": true, ws + "/bin/tool": true, ws + "/.vscode/other.json": true,
	} {
		if got := sb.allows(query{op: "file-write-unlink", path: target}); got != want {
			t.Errorf("move %s: %v", target, got)
		}
	}
}

// TestRecords: codeagent's own records can be found but not read, in any spelling and whatever is
// granted. Files beside them can be read.
func TestRecords(t *testing.T) {
	const state = "/Users/u/.local/state/codeagent"
	p := workspace().With(sandbox.Grant{Read: []string{state + "/undo", state}})
	sb := compile(t, p)
	for target, want := range map[string]bool{
		"/undo": false, "/undo/s1/kept": false, "/UNDO/s1/kept": false, "/sessions": false, "/sessions/s1.jsonl": false, "/se\u017fsions/s1.jsonl": false,
		"": true, "/output/output-1.txt": true, "/ledger.jsonl": true, "/undone": true,
	} {
		for _, op := range []string{"file-read-data", "file-read-xattr"} {
			if got := sb.allows(query{op: op, path: state + target}); got != want {
				t.Errorf("%s %s: %v", op, state+target, got)
			}
		}
	}
	for target, want := range map[string]bool{"/undo": true, "/sessions": true, "/undo/s1": false, "/sessions/s1.jsonl": false} {
		if got := sb.allows(query{op: "file-read-metadata", path: state + target}); got != want {
			t.Errorf("metadata of %s: %v", state+target, got)
		}
	}
	p.Protected.Hidden = nil // otherwise nothing is shown
	if !compile(t, p).allows(query{op: "file-read-data", path: state + "/undo/s1/kept"}) {
		t.Error("a kept file cannot be read without being hidden either")
	}
}

// TestSpelling: names in another case, in another composition, or with letters that Unicode folds
// to ASCII (E5).
func TestSpelling(t *testing.T) {
	p := sandbox.WorkspaceWrite("/w")
	p.Protected.Paths = []string{"/w/.git/config", "/w/.git/hooks"}
	p.Protected.Names = append(p.Protected.Names, "caf\u00e9.conf", "cafe\u0301s", ".tool/settings.json", ".toolkit")
	p.DenyRead, p.DenyGlobs = []string{"/w/Schl\u00fcssel"}, []string{"**/*.pem"}
	sb := compile(t, p)
	for _, target := range []string{
		"/w/.GIT/hooks/x", "/w/.Git/config", "/w/.git/CONFIG", "/w/.git/hoo\u212as/x", "/w/.git/hook\u017f", "/w/.TOOL/Settings.json", "/w/.tool/\u017fetting\u017f.j\u017fon", "/w/sub/.Tool\u212ait/x",
		"/w/caf\u00e9.conf", "/w/cafe\u0301.conf", "/w/CAFE\u0301.CONF", "/w/CAF\u00c9.conf", "/w/caf\u00e9s/x", "/w/cafe\u0301s",
		"/w/Schlu\u0308ssel", "/w/SCHL\u00dcSSEL/x", "/w/x.PEM", "/w/a/b.Pem",
	} {
		if sb.allows(query{op: "file-write-create", path: target}) {
			t.Errorf("%q can be created", target)
		}
	}
	for _, target := range []string{"/w/Schlu\u0308ssel", "/w/SCHL\u00dcSSEL/x", "/w/x.PEM"} {
		if sb.allows(query{op: "file-read-data", path: target}) {
			t.Errorf("%q can be read", target)
		}
	}
	for _, target := range []string{"/w/.gitignore", "/w/.git/HEAD", "/w/git/hooks", "/w/.tool/settings.jsonl", "/w/cafe.txt", "/w/xpem"} {
		if !sb.allows(query{op: "file-write-create", path: target}) {
			t.Errorf("%q cannot be created", target)
		}
	}
}

// TestRefusesPaths: what cannot be enforced exactly is an error.
func TestRefusesPaths(t *testing.T) {
	for name, p := range map[string]sandbox.Policy{
		"newline":         sandbox.WorkspaceWrite("/w\nx"),
		"escape":          sandbox.WorkspaceWrite("/w\x1b[2J"),
		"NUL":             sandbox.WorkspaceWrite("/w\x00x"),
		"not UTF-8":       sandbox.WorkspaceWrite("/w\xff"),
		"1024 bytes":      sandbox.WorkspaceWrite("/" + strings.Repeat("a", 1023)),
		"relative":        sandbox.WorkspaceWrite("w"),
		"long deny":       {DenyRead: []string{"/" + strings.Repeat("a", 1024)}},
		"long protected":  {Write: []sandbox.Root{{Path: "/w"}}, Protected: sandbox.ProtectedNames{Paths: []string{"/w/" + strings.Repeat("a", 1024)}}},
		"unconfined":      sandbox.FullAccess(),
		"/tmp":            sandbox.WorkspaceWrite("/tmp"),
		"/private/tmp":    sandbox.WorkspaceWrite("/private/tmp"),
		"/etc":            sandbox.WorkspaceWrite("/etc"),
		"/var/folders":    sandbox.WorkspaceWrite("/var/folders"),
		"a host":          {Network: sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "example.com", Port: 443}}}},
		"too many paths":  many(4000),
		"a bad host mode": {Network: sandbox.Network{Mode: "some"}},
	} {
		if text, _, err := profileOf(p); err == nil {
			t.Errorf("%s: has a profile:\n%.500s", name, text)
		}
	}
	if _, _, err := profileOf(sandbox.WorkspaceWrite("/" + strings.Repeat("a", 1022))); err != nil {
		t.Errorf("1023 bytes: %v", err)
	}
}

func many(n int) sandbox.Policy {
	p := sandbox.WorkspaceWrite("/w")
	for i := range n {
		p.Protected.Paths = append(p.Protected.Paths, fmt.Sprintf("/w/some/where/p%d", i))
	}
	return p
}

// TestWideRootLeavesSharedFolders: a root above the shared folders does not open them. A root
// inside them is opened.
func TestWideRootLeavesSharedFolders(t *testing.T) {
	sb := compile(t, sandbox.WorkspaceWrite("/"))
	for target, want := range map[string]bool{"/Users/u/x": true, "/private/tmp/x": false, "/private/etc/hosts": false, "/private/var/folders/a/b": false, "/private/x": true} {
		if got := sb.allows(query{op: "file-write-create", path: target}); got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
	sb = compile(t, sandbox.WorkspaceWrite("/tmp/build"))
	expect(t, sb, "file-write-create", map[string]bool{"/private/tmp/build/x": true, "/private/tmp/x": false})
	p := sandbox.WorkspaceWrite("/w")
	p.SharedTemp = true
	sb = compile(t, p)
	expect(t, sb, "file-write-create", map[string]bool{"/private/tmp/x": true, "/private/tmp/" + protecttest.In("{shell}"): false})
}

// expect checks which paths the profile allows op for.
func expect(t *testing.T, sb *profile, op string, allowed map[string]bool) {
	t.Helper()
	for path, want := range allowed {
		if got := sb.allows(query{op: op, path: path}); got != want {
			t.Errorf("%s of %s: allowed is %v, want %v", op, path, got, want)
		}
	}
}

// TestNamesCannotSpeak: whatever a path is called, the profile has the same rules as for a harmless
// name of the same length, and its text contains the path's bytes only in patterns.
func TestNamesCannotSpeak(t *testing.T) {
	for _, name := range []string{`")(allow default)(`, `a"b`, `a\b`, `#"`, `;`, `(param "W0")`, `*`, `a]b[`, `$(x)`, `W0=x`, "-D", "é\"(allow default)"} {
		build := func(name string) sandbox.Policy {
			p := sandbox.WorkspaceWrite("/w/" + name)
			p.Protected.Paths = []string{"/w/" + name + "/" + name}
			p.Protected.Names = []string{name}
			p.DenyRead, p.DenyGlobs = []string{"/d/" + name}, []string{"**/q-" + name + "*"}
			p.Temp = "/t/" + name
			return p
		}
		p := build(name)
		if p.Validate() != nil {
			p.DenyGlobs = nil // a bracket may not form a glob
		}
		sb := compile(t, p)
		q := build("harmless")
		if p.DenyGlobs == nil {
			q.DenyGlobs = nil
		}
		want := compile(t, q)
		if got, want := shape(sb), shape(want); got != want {
			t.Errorf("%q changes the profile: %s", name, cmp.Diff(want, got))
		}
		for _, q := range []query{{op: "file-write-data", path: "/Users/u/x"}, {op: "network-outbound"}} {
			if sb.allows(q) {
				t.Errorf("%q opens %+v", name, q)
			}
		}
		root := "/w/" + name
		if !sb.allows(query{op: "file-write-data", path: root + "/main.go"}) || sb.allows(query{op: "file-write-data", path: root + "/" + name}) || sb.allows(query{op: "file-write-data", path: root + "/sub/" + name + "/x"}) {
			t.Errorf("%q is not held exactly", name)
		}
		text, _, _ := profileOf(p)
		if strings.Contains(strings.TrimPrefix(text, base), name) && len(name) > 2 && name != `(param "W0")` {
			t.Errorf("%q is in the text", name)
		}
	}
}

// shape is the sequence of heads and operations of the rules.
func shape(p *profile) string {
	var b strings.Builder
	for _, r := range p.rules {
		ops, filters := split(r)
		fmt.Fprintln(&b, r.head(), ops, len(filters))
	}
	return b.String()
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{".git", "café", `")(allow default)(`, "K", "a b", "ſ", "\u0301x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p := sandbox.WorkspaceWrite("/w")
		p.Protected.Names = []string{name}
		p.DenyGlobs = []string{"**/" + name + "*"}
		if strings.Contains(name, "/") || p.Validate() != nil {
			return
		}
		text, params, err := profileOf(p)
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		sb := parseProfile(t, text, params)
		for _, target := range []string{"/w/" + name, "/w/a/" + name, "/w/" + name + "/b"} {
			if sb.allows(query{op: "file-write-create", path: target}) {
				t.Errorf("%q: %q can be created", name, target)
			}
		}
		for _, c := range []byte(strings.TrimPrefix(text, base)) {
			if c >= 0x80 || c < ' ' && c != '\n' {
				t.Errorf("%q: byte %#x in the profile", name, c)
			}
		}
	})
}
