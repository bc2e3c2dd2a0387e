package sandbox_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"codeagent/sandbox"
)

var update = flag.Bool("update", false, "rewrite golden files")

// full has every field set.
func full() sandbox.Policy {
	return sandbox.Policy{
		Read:     []sandbox.Root{{Path: "/usr"}, {Path: "/opt", Optional: true}},
		Write:    []sandbox.Root{{Path: "/w"}},
		WasWrite: []sandbox.Root{{Path: "/w/was"}},
		Protected: sandbox.ProtectedNames{
			Paths: []string{"/w/.git/config"}, Names: []string{".codeagent", ".vscode/tasks.json"}, Reasons: map[string]string{"/w/.git/config": "git runs the programs that it names"}, Own: []string{"/own"}, Hidden: []string{"/own/records"},
		},
		DenyRead:  []string{"/secret", "/w*/[x"},
		DenyGlobs: []string{"**/.env"},
		Network:   sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "example.com", Port: 443}, {Host: "::1", Port: 80}, {Host: "*.example.org", Port: 443}}, Deny: []sandbox.HostPort{{Host: "10.0.0.0/8"}, {Host: "bad.example", Port: 22}}},
		Sockets:   []string{"/run/s"}, Programs: []string{"/usr/bin/git"}, Workdirs: []string{"/w"},
		Limits:     sandbox.Limits{WallMillis: 1, CPUSeconds: 2, CPUPercent: 8, Memory: 3, Processes: 4, OpenFiles: 5, FileSize: 6, Output: 7},
		Env:        sandbox.Env{Inherit: sandbox.EnvAll, Include: []string{"A"}, Exclude: []string{"B*"}, Set: map[string]string{"C": "d"}},
		Temp:       "/state/tmp",
		SharedTemp: true, Revision: 3,
		Unconfined: true,
	}
}

func TestPolicyGolden(t *testing.T) {
	noZero(t, "Policy", reflect.ValueOf(full()))
	data, err := sandbox.EncodePolicy(full())
	if err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	golden := filepath.Join("testdata", "policy.json")
	if *update {
		if err := os.WriteFile(golden, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pretty.Bytes(), want) {
		t.Errorf("the JSON of a policy changed; a helper of another version reads it differently:\n%s", &pretty)
	}
	back, err := sandbox.DecodePolicy(want)
	if err != nil || !reflect.DeepEqual(back, full()) {
		t.Errorf("read back as %+v, %v", back, err)
	}
}

// noZero fails for a field that full does not set: the golden file and the round trip would miss
// it.
func noZero(t *testing.T, name string, v reflect.Value) {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			noZero(t, name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	} else if v.IsZero() {
		t.Errorf("%s is not set", name)
	}
}

func TestPresetsRoundTrip(t *testing.T) {
	for name, p := range map[string]sandbox.Policy{
		"zero": {}, "read-only": sandbox.ReadOnly(), "workspace-write": sandbox.WorkspaceWrite("/w", "/x"),
		"full": sandbox.FullAccess(), "strict": sandbox.Strict("/w", "/s"), "workspace": workspace(),
	} {
		data, err := sandbox.EncodePolicy(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if back, err := sandbox.DecodePolicy(data); err != nil || !reflect.DeepEqual(back, p) {
			t.Errorf("%s: %+v became %+v, %v", name, p, back, err)
		}
	}
}

func TestDecodePolicyRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty":             ``,
		"null":              `null`,
		"no version":        `{}`,
		"version 0":         `{"version":0}`,
		"version 2":         `{"version":2}`,
		"unknown field":     `{"version":1,"writes":[]}`,
		"unknown inner":     `{"version":1,"network":{"mode":"allow","host":[]}}`,
		"unknown in a root": `{"version":1,"write":[{"path":"/w","recursive":true}]}`,
		"a second object":   `{"version":1}{"version":1}`,
		"trailing text":     `{"version":1} x`,
		"relative root":     `{"version":1,"write":[{"path":"w"}]}`,
		"empty root":        `{"version":1,"write":[{}]}`,
		"unclean root":      `{"version":1,"write":[{"path":"/w/../etc"}]}`,
		"slash at the end":  `{"version":1,"write":[{"path":"/w/"}]}`,
		"NUL":               `{"version":1,"read":[{"path":"/w\u0000"}]}`,
		"not UTF-8":         "{\"version\":1,\"write\":[{\"path\":\"/w\xff\"}]}",
		"own":               `{"version":1,"protected":{"own":["x"]}}`,
		"name leads out":    `{"version":1,"protected":{"names":["../x"]}}`,
		"name is dots":      `{"version":1,"protected":{"names":[".."]}}`,
		"name is all":       `{"version":1,"protected":{"names":["."]}}`,
		"absolute name":     `{"version":1,"protected":{"names":["/x"]}}`,
		"temp":              `{"version":1,"temp":"tmp"}`,
		"socket":            `{"version":1,"sockets":["s"]}`,
		"deny_read":         `{"version":1,"deny_read":["etc"]}`,
		"bad glob":          `{"version":1,"deny_globs":["**/[a"]}`,
		"glob over a slash": `{"version":1,"deny_globs":["/w/[a/b]"]}`,
		"unclean glob":      `{"version":1,"deny_globs":["**/../x"]}`,
		"network mode":      `{"version":1,"network":{"mode":"some"}}`,
		"host":              `{"version":1,"network":{"mode":"allow","hosts":["a@b:1"]}}`,
		"negative limit":    `{"version":1,"limits":{"cpu_s":-1}}`,
		"limit too large":   `{"version":1,"limits":{"memory":9223372036854775808}}`,
		"env mode":          `{"version":1,"env":{"inherit":"some"}}`,
		"env name":          `{"version":1,"env":{"set":{"A=B":"c"}}}`,
		"env value":         `{"version":1,"env":{"set":{"A":"\u0000"}}}`,
		"env glob":          `{"version":1,"env":{"exclude":["[a"]}}`,
	} {
		if p, err := sandbox.DecodePolicy([]byte(text)); err == nil {
			t.Errorf("%s: %s is read as %+v", name, text, p)
		}
	}
}

func TestEncodePolicyRefuses(t *testing.T) {
	for name, p := range map[string]sandbox.Policy{
		"path not UTF-8":       sandbox.WorkspaceWrite("/w\xff"),
		"relative":             sandbox.WorkspaceWrite("w"),
		"a host nobody parsed": {Network: sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "a\nb", Port: 1}}}},
		"a host in capitals":   {Network: sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "A", Port: 1}}}},
	} {
		if data, err := sandbox.EncodePolicy(p); err == nil {
			t.Errorf("%s: written as %s", name, data)
		}
	}
}

func FuzzDecodePolicy(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "policy.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{"version":1,"write":[{"path":"/w"}],"deny_globs":["**/[a-z]"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := sandbox.DecodePolicy(data)
		if err != nil {
			return
		}
		again, err := sandbox.EncodePolicy(p)
		if err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", p, err)
		}
		back, err := sandbox.DecodePolicy(again)
		if err != nil {
			t.Fatalf("%s was written and cannot be read: %v", again, err)
		}
		third, err := sandbox.EncodePolicy(back)
		if err != nil || !bytes.Equal(again, third) {
			t.Errorf("%s becomes %s (%v)", again, third, err)
		}
		p.JudgeWrite("/w/a")
		p.JudgeRead("/w/a")
	})
}

// TestStrict: what the preset for untrusted programs opens, and what it does not.
func TestStrict(t *testing.T) {
	p := sandbox.Strict("/w", "/s")
	for access, want := range map[string]bool{
		"r /usr/lib/libc.so": true, "r /w/x": true, "r /s/x": true, "w /s/x": true,
		"r /home/u/x": false, "r /root": false, "r /var/lib/x": false, "w /w/x": false, "w /usr/x": false, "w /tmp/x": false, "h example.com:80": false,
	} {
		if got := judge(t, p, access); got != want {
			t.Errorf("%s: %v", access, got)
		}
	}
	if p.Limits != (sandbox.Limits{CPUSeconds: 1, Memory: 64 << 20, Processes: 64}) {
		t.Errorf("limits %+v", p.Limits)
	}
}

func TestStartErrorWords(t *testing.T) {
	for code, want := range map[int]string{
		sandbox.ExitNotFound: "command not found", sandbox.ExitCannotExec: "cannot be executed", sandbox.ExitCannotConfine: "landlock: x (the command did not run)",
	} {
		err := &sandbox.StartError{Code: code, Stage: "landlock", Err: os.ErrPermission}
		if want = strings.ReplaceAll(want, ": x", ": permission denied"); !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %q, want %q in it", code, err, want)
		}
	}
}
