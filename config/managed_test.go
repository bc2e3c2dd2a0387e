package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

// managedBy makes text the managed settings of the test.
func managedBy(t *testing.T, text string) (file string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	before, owner := ManagedFile, managedOwner
	ManagedFile, managedOwner = filepath.Join(dir, "managed.toml"), uint32(os.Getuid())
	t.Cleanup(func() { ManagedFile, managedOwner = before, owner })
	write(t, ManagedFile, text)
	return ManagedFile
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// samples are values as TOML, of which each setting takes at least two that differ.
var samples = map[kind][]string{
	text: {`"groq"`, `"openai"`, `"https://a.example/v1"`, `"https://b.example/v1"`, `"KEY_A"`, `"KEY_B"`, `"/opt/a"`, `"/opt/b"`},
	texts: {`["a.example:443"]`, `["a.example:443", "b.example:443"]`, `["5173"]`, `["5173", "5174"]`, `["/srv/a"]`, `["/srv/a", "/srv/b"]`, `["KEY_A"]`, `["KEY_A", "KEY_B"]`,
		`[".ex"]`, `[".ex", ".exs"]`, `["network"]`, `["network", "edit"]`, `["landlock"]`, `["landlock", "seccomp"]`, `[]`},
	table:  {`{input = "1"}`, `{input = "2"}`, `{A = "$A"}`, `{A = "$B"}`, `{Authorization = "$A"}`},
	tables: {`[{command = "a"}]`, `[{command = "b"}]`},
	flag:   {"true", "false"},
	number: {"0", "10", "20"},
}

// plain is a checked value as the Config has it.
func (s setting) plain(v any) any {
	c := newConfig()
	s.apply(c, "plain", v)
	return s.at(c, "plain").Interface()
}

// values are the samples that the setting takes.
func (s setting) values() (out []string) {
	list := samples[s.kind()]
	for _, c := range s.choices {
		if s.kind() == choice {
			list = append(list, fmt.Sprintf("%q", c))
		}
	}
	for _, v := range list {
		_, err := s.parseValue(v)
		if s.key == "model_provider" && v != `"groq"` && v != `"openai"` || err != nil {
			continue
		}
		if k := s.kind(); (k != text && k != texts) || len(out) < 2 || v == "[]" {
			out = append(out, v)
		}
	}
	return out
}

// narrowerThan are the values that are narrower than another, written down by hand; of the rest none is.
var narrowerThan = map[string]map[string]string{
	"ask_for_approval":    {"on-failure": "untrusted on-request granular never", "on-request": "untrusted granular never", "granular": "never"},
	"sandbox.mode":        {FullAccess: "read-only workspace-write strict", WorkspaceWrite: "read-only strict"},
	"sandbox.env.inherit": {"all": "core none", "core": "none"},
	"sandbox.network":     {"full": "deny"}, "sandbox.tmp": {"shared": "private"}, "sandbox.fallback": {"warn": "refuse"}, "undo.unkept": {"allow": "ask"},
	"models.NAME.sandbox": {"": ReadOnly}, "sandbox.deny_secrets": {"false": "true"}, "tools.NAME.enabled": {"true": "false"}, "web_search": {"true": "false"},
}

// opening are the lists each element of which opens something, closing those each element of which closes something.
const (
	opening = " trusted_folders sandbox.add_dirs sandbox.add_files sandbox.allow_hosts sandbox.allow_fetch sandbox.allow_sockets sandbox.publish sandbox.env.include " +
		"mcp.servers.NAME.sandbox.read mcp.servers.NAME.sandbox.write mcp.servers.NAME.sandbox.allow_hosts mcp.servers.NAME.sandbox.allow_sockets mcp.servers.NAME.sandbox.env diagnostics.servers.NAME.read "
	closing = " granular.refuse sandbox.deny_read sandbox.deny_hosts sandbox.protected sandbox.required_layers sandbox.env.exclude "
)

// within is the test's own idea of what is at most as wide.
func within(s setting, most, v any) bool {
	subset := func(a, b any) bool {
		return !slices.ContainsFunc(a.([]string), func(one string) bool { return !slices.Contains(b.([]string), one) })
	}
	switch {
	case reflect.DeepEqual(most, v) || slices.Contains(strings.Fields(narrowerThan[s.key][fmt.Sprint(most)]), fmt.Sprint(v)):
		return true
	case strings.Contains(opening, " "+s.key+" "):
		return subset(v, most)
	case strings.Contains(closing, " "+s.key+" "):
		return subset(most, v)
	case strings.HasPrefix(s.key, "sandbox.limits."):
		return most == int64(0) || v != int64(0) && v.(int64) <= most.(int64)
	}
	return false
}

// TestNothingWidensManagedSettings: of each setting, each managed value and each other value by each other source.
func TestNothingWidensManagedSettings(t *testing.T) {
	const model = "gpt-5"
	tried, refused, narrowed := 0, 0, 0
	file := filepath.Join(t.TempDir(), "config.toml")
	managedBy(t, "")
	for _, s := range settings {
		key := strings.ReplaceAll(s.key, "NAME", "x")
		if strings.HasPrefix(key, "models.") {
			key = strings.Replace(s.key, "NAME", `"gpt-*"`, 1)
		}
		if slices.Contains(fileNever, s.key) {
			write(t, ManagedFile, key+" = true\n")
			if _, err := Load(t.Context(), Sources{Getenv: func(string) string { return "" }}); err == nil {
				t.Errorf("%s is taken from the managed settings", key)
			}
			continue
		}
		values := s.values()
		if len(values) < 2 {
			t.Errorf("%s: only %q is known for it", s.key, values)
		}
		// What a setting needs beside it to be valid.
		beside := ""
		for needs, line := range map[string]string{"providers.x.": `providers.x.base_url = "https://x.example/v1"`, "mcp.servers.x.": `mcp.servers.x.command = "c"`, "diagnostics.servers.x.": "diagnostics.servers.x.command = \"c\"\ndiagnostics.servers.x.extensions = [\".x\"]"} {
			if strings.HasPrefix(key, needs) {
				for one := range strings.SplitSeq(line, "\n") {
					if name, _, _ := strings.Cut(one, " "); name != key && key != "mcp.servers.x.url" && key != "mcp.servers.x.headers" {
						beside += one + "\n"
					}
				}
			}
		}
		if key == "mcp.servers.x.headers" {
			beside = "mcp.servers.x.url = \"https://x.example/mcp\"\n"
		}
		for _, other := range values {
			sources := map[string]func(src *Sources, file string){
				"file": func(_ *Sources, file string) { write(t, file, beside+key+" = "+other+"\n") },
				"profile": func(src *Sources, file string) {
					src.Profile = "p"
					write(t, file, beside+"profiles.p."+key+" = "+other+"\n")
				},
				"-c": func(src *Sources, file string) {
					write(t, file, beside)
					src.Overrides = []string{key + "=" + other}
				},
				"flag": func(src *Sources, file string) {
					write(t, file, beside)
					v, _ := s.parseValue(other)
					list, ok := v.([]string)
					if !ok {
						list = []string{fmt.Sprint(v)}
					}
					src.Flags = []Flag{{Name: "--flag", Key: key, Values: list}}
				},
			}
			if k := s.kind(); k == table || k == tables {
				delete(sources, "flag")
			}
			if strings.HasPrefix(key, "models.") { // a more specific name
				sources["another name"] = func(_ *Sources, file string) {
					write(t, file, strings.Replace(key, "gpt-*", model, 1)+" = "+other+"\n")
				}
			}
			for variable, of := range map[string]string{"OPENAI_MODEL": "model", "OPENAI_BASE_URL": "base_url"} {
				if of == key {
					text := strings.Trim(other, `"`)
					sources["environment"] = func(src *Sources, file string) {
						write(t, file, beside)
						src.Getenv = func(name string) string { return map[string]string{variable: text}[name] }
					}
				}
			}
			for source, set := range sources {
				load := func(managed string) (Config, error) {
					write(t, ManagedFile, managed)
					src := Sources{File: file, Getenv: func(string) string { return "" }}
					set(&src, file)
					return Load(t.Context(), src)
				}
				name := "x"
				if strings.HasPrefix(key, "models.") {
					if name = "gpt-*"; source == "another name" {
						name = model
					}
				}
				was, err := load("")
				v, _ := s.parseValue(other)
				if got := s.at(&was, name).Interface(); err != nil || !reflect.DeepEqual(got, s.plain(v)) {
					if list, ok := v.([]string); !ok || len(list) > 0 || len(got.([]string)) > 0 {
						t.Errorf("without managed settings: %s = %s by %s is %v, %v", key, other, source, got, err)
					}
					continue
				}
				for _, most := range values {
					m, _ := s.parseValue(most)
					tried++
					c, err := load(key + " = " + most + "\n")
					if err != nil {
						if refused++; !strings.Contains(err.Error(), "managed settings") {
							t.Errorf("managed %s = %s, %s by %s: the error does not say who decides: %v", key, most, other, source, err)
						}
						if within(s, s.plain(m), s.plain(v)) {
							t.Errorf("managed %s = %s, %s by %s is narrower, and refused: %v", key, most, other, source, err)
						}
						continue
					}
					if got := s.at(&c, name).Interface(); !within(s, s.plain(m), got) {
						t.Errorf("managed %s = %s, %s by %s: it became %v", key, most, other, source, got)
					}
					narrowed++
				}
			}
		}
	}
	t.Logf("%d settings, %d attempts: %d refused with words, %d within what is managed", len(settings), tried, refused, narrowed)
	if refused < 500 {
		t.Errorf("only %d of %d attempts are refused", refused, tried)
	}
}

// TestManagedAlone: what is managed holds where nothing else is set, and what makes it worth something too.
func TestManagedAlone(t *testing.T) {
	load := func(src Sources) (Config, error) {
		src.Getenv = func(string) string { return "" }
		return Load(t.Context(), src)
	}
	managedBy(t, "granular.refuse = [\"network\"]\nsandbox.deny_read = [\"~/.ssh\"]\nsandbox.limits.wall_s = 300\ntools.fetch_url.enabled = false\nsandbox.allow_hosts = [\"a.example:443\"]\nsandbox.network = \"full\"\n")
	c, err := load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"ask_for_approval": "granular", "limits": int64(300), "hosts": 0, "network": "deny", "mode": WorkspaceWrite, "fallback": "refuse"} {
		got := map[string]any{"ask_for_approval": c.AskForApproval, "limits": c.Sandbox.Limits.WallSeconds, "hosts": len(c.Sandbox.AllowHosts), "network": c.Sandbox.Network, "mode": c.Sandbox.Mode, "fallback": c.Sandbox.Fallback}[key]
		if got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	if !c.DisabledTools()["fetch_url"] || c.DisabledTools()["shell"] || !slices.Equal(c.Sandbox.DenyRead, []string{"~/.ssh"}) || c.Origin("sandbox.deny_read").Kind != "managed" {
		t.Errorf("%+v %v", c.Tools, c.Sandbox.DenyRead)
	}
	for _, o := range []string{"sandbox.mode=danger-full-access", "sandbox.fallback=warn", "ask_for_approval=on-request"} {
		if _, err := load(Sources{Overrides: []string{o}}); err == nil || !strings.Contains(err.Error(), "-c: ") || !strings.Contains(err.Error(), "managed.toml:") {
			t.Errorf("%s: %v", o, err)
		}
	}
	if err := (Sources{File: "config.toml"}).Check(t.Context(), []byte("sandbox.limits.wall_s = 301\n")); err == nil {
		t.Error("a setting that is too wide can be kept")
	}
	for text, words := range map[string]string{"sandbox.mode = \"all\"\n": "invalid value", "[profiles.x]\nmodel = \"m\"\n": "no profiles", "sandbx = 1\n": "unknown setting", "x": "not valid TOML"} {
		managedBy(t, text)
		if _, err := load(Sources{}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
	managedBy(t, "sandbox.backend = \"native\"\n")
	if c, err = load(Sources{}); err != nil {
		t.Fatal(err)
	}
	if _, err = c.BackendKind(Bwrap); err == nil || !strings.Contains(err.Error(), "managed.toml:") {
		t.Errorf("a rule or a server chooses another backend than the managed one: %v", err)
	}
	for _, name := range []string{"", Native} {
		if _, err = c.BackendKind(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	managedBy(t, "base_url = \"https://gw.example/v1\"\nmodel = \"m\"\n")
	for _, o := range []string{"model_provider=groq", "model=groq/llama"} {
		if _, err := load(Sources{Overrides: []string{o}}); err == nil {
			t.Errorf("%s is taken", o)
		}
	}
	if c, err = load(Sources{}); err != nil || c.DecidesModel(Provider{}, "m") != nil || c.DecidesModel(Provider{Name: "groq"}, "m") == nil || c.DecidesModel(Provider{}, "n") == nil {
		t.Errorf("%v: a session may ask another model than the managed one", err)
	}
}

// TestManagedFileOfAnother: a file that somebody else than its owner could have written stops everything.
func TestManagedFileOfAnother(t *testing.T) {
	load := func() error {
		_, err := Load(t.Context(), Sources{Getenv: func(string) string { return "" }})
		return err
	}
	for name, spoil := range map[string]func(file string) error{
		"writable by the group":          func(f string) error { return os.Chmod(f, 0o664) },
		"writable by all":                func(f string) error { return os.Chmod(f, 0o646) },
		"in a folder writable by all":    func(f string) error { return os.Chmod(filepath.Dir(f), 0o777) },
		"of another user":                func(string) error { managedOwner++; return nil },
		"a folder":                       func(f string) error { return os.Rename(filepath.Dir(f), filepath.Dir(f)+"x") },
		"a link to a file writable by a": func(f string) error { return os.Symlink(f, f+"x") },
	} {
		file := managedBy(t, "sandbox.mode = \"read-only\"\n")
		if err := load(); err != nil {
			t.Fatal(err)
		}
		if err := spoil(file); err != nil {
			t.Fatal(err)
		}
		switch name {
		case "a folder":
			ManagedFile += "x"
			if err := os.MkdirAll(ManagedFile, 0o755); err != nil {
				t.Fatal(err)
			}
		case "a link to a file writable by a":
			if ManagedFile += "x"; os.Chmod(file, 0o666) != nil {
				t.Fatal(name)
			}
		}
		if err := load(); err == nil {
			t.Errorf("%s: it is read, or passed over", name)
		}
	}
	managedBy(t, "")
	if err := os.Remove(ManagedFile); err != nil {
		t.Fatal(err)
	}
	if err := load(); err != nil {
		t.Error("an absent file:", err)
	}
	ManagedFile = "/nowhere/at/all/managed.toml"
	if err := load(); err != nil {
		t.Error("an absent folder:", err)
	}
}

// TestCeiling: nobody can be asked for what managed settings close, and a server's settings do not open it.
func TestCeiling(t *testing.T) {
	home := t.TempDir()
	work := filepath.Join(home, "w")
	for _, dir := range []string{work, filepath.Join(home, ".ssh"), filepath.Join(home, "data"), filepath.Join(home, "own")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := Place{Workspace: work, Home: home, Files: hostfile.OS{}, Program: func(...string) string { return "/bin/sh" }}
	host := func(name string) Opening {
		return Opening{Hosts: []sandbox.HostPort{{Host: name, Port: 443}}}
	}
	writes := func(p string) Opening { return Opening{Write: []string{filepath.Join(home, p)}} }
	reads := func(p string) Opening { return Opening{Read: []string{filepath.Join(home, p)}} }
	for _, row := range []struct {
		name, managed string
		grant         Opening
		fetch         bool
		key           string // "": it stays open
	}{
		{"outside", "sandbox.limits.wall_s = 9", Opening{Unsandboxed: true}, false, "sandbox.limits.wall_s"},
		{"outside, allowed", "sandbox.mode = \"danger-full-access\"", Opening{Unsandboxed: true}, false, ""},
		{"a closed file", "sandbox.deny_read = [\"~/.ssh\"]", reads(".ssh/id"), false, "sandbox.deny_read"},
		{"the closed folder", "sandbox.deny_read = [\"~/.ssh\"]", reads(".ssh"), false, "sandbox.deny_read"},
		{"a pattern", "sandbox.deny_read = [\"**/.env\"]", Opening{Read: []string{"**/.env"}}, false, "sandbox.deny_read"},
		{"a file of it", "sandbox.deny_read = [\"**/.env\"]", reads("w/.env"), false, "sandbox.deny_read"},
		{"secrets", "sandbox.deny_secrets = true", reads(".ssh/id"), false, "sandbox.deny_secrets"},
		{"outside, with a list of programs", "sandbox.allowed_programs = [\"~/data/tool\"]\nsandbox.mode = \"danger-full-access\"", Opening{Unsandboxed: true}, false, "sandbox.allowed_programs"},
		{"a listed program", "sandbox.allowed_programs = [\"~/data/tool\"]\nsandbox.add_dirs = [\"~/data\"]", writes("data/tool"), false, "sandbox.allowed_programs"},
		{"the folder of a listed program", "sandbox.allowed_programs = [\"~/data/tool\"]\nsandbox.add_dirs = [\"~/data\"]", writes("data"), false, "sandbox.allowed_programs"},
		{"beside a listed program", "sandbox.allowed_programs = [\"~/data/tool\"]\nsandbox.add_dirs = [\"~/data\"]", writes("data/other"), false, ""},
		{"another file", "sandbox.deny_read = [\"~/.ssh\"]", reads("data"), false, ""},
		{"to read under strict", "sandbox.mode = \"strict\"", reads("data"), false, "sandbox.mode"},
		{"to write under read-only", "sandbox.mode = \"read-only\"", writes("w/x"), false, "sandbox.mode"},
		{"to write", "sandbox.mode = \"workspace-write\"", writes("data"), false, ""},
		{"a protected name", "sandbox.protected = [\"Makefile\"]", writes("w/a/Makefile"), false, "sandbox.protected"},
		{"below a protected path", "sandbox.protected = [\"~/data\"]", writes("data/x"), false, "sandbox.protected"},
		{"beside it", "sandbox.protected = [\"~/data\"]", writes("w/x"), false, ""},
		{"another folder", "sandbox.add_dirs = []", writes("data"), false, "sandbox.add_dirs"},
		{"another file", "sandbox.add_files = []", writes("data"), false, "sandbox.add_files"},
		{"a listed folder", "sandbox.add_dirs = [\"~/data\"]", writes("data/x"), false, ""},
		{"another host", "sandbox.allow_hosts = [\"a.example:443\"]", host("b.example"), false, "sandbox.allow_hosts"},
		{"a listed host", "sandbox.allow_hosts = [\"a.example:443\"]", host("a.example"), false, ""},
		{"another page", "sandbox.allow_fetch = [\"a.example:443\"]", host("b.example"), true, "sandbox.allow_fetch"},
		{"a listed page", "sandbox.allow_fetch = [\"a.example:443\"]", host("a.example"), true, ""},
		{"a socket", "sandbox.allow_sockets = []", Opening{Sockets: []string{"/run/docker.sock"}}, false, "sandbox.allow_sockets"},
	} {
		managedBy(t, row.managed+"\n")
		c, err := Load(t.Context(), Sources{Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(row.name, err)
		}
		most, err := c.Ceiling(at)
		if err != nil {
			t.Fatal(row.name, err)
		}
		if got, _, _ := strings.Cut(most(row.grant, row.fetch), " ("); got != row.key {
			t.Errorf("%s: %q, want %q", row.name, got, row.key)
		}
	}
	if most, err := (Config{}).Ceiling(at); most != nil || err != nil {
		t.Error("without managed settings there is a ceiling")
	}
}
