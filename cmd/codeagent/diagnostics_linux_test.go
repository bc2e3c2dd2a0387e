package main

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// TestGopls: the real server, which `go install` has put into ~/go/bin, says what an edit breaks, of a package
// in the workspace and of one in ~/go/pkg/mod, and is silent once it is mended. No setting is made.
func TestGopls(t *testing.T) {
	t.Parallel()
	need(t, "gopls")
	need(t, "go")
	inSettings(t, func(t *testing.T, _ string, u user, launch func(*exec.Cmd) *exec.Cmd) {
		reachable(t, u, "go")
		gopls, err := exec.LookPath("gopls")
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(gopls)
		if err != nil {
			t.Fatal(err)
		}
		path := "PATH=" + u.home + "/go/bin:" + os.Getenv("PATH")
		u.put(t, map[string]string{
			"work/go.mod":                          "module example.com/work\n\ngo 1.21\n\nrequire example.com/dep v1.0.0\n",
			"work/main.go":                         "package main\n\nimport \"example.com/dep\"\n\nfunc main() {\n\tprintln(dep.One)\n}\n",
			"proxy/example.com/dep/@v/v1.0.0.info": `{"Version":"v1.0.0"}`, "proxy/example.com/dep/@v/v1.0.0.mod": "module example.com/dep\n",
			"proxy/example.com/dep/@v/v1.0.0.zip": zipped(t, map[string]string{"example.com/dep@v1.0.0/go.mod": "module example.com/dep\n", "example.com/dep@v1.0.0/dep.go": "package dep\n\nconst One = 1\n"}),
			"home/go/bin/":                        "",
		})
		if err := machine.WriteProgram(u.home+"/go/bin/gopls", data); err != nil {
			t.Fatal(err)
		}
		fetch := u.codeagent("mod", "tidy")
		fetch.Path, _ = exec.LookPath("go")
		fetch.Env = append(fetch.Env, "GOPROXY=file://"+filepath.Dir(u.home)+"/proxy", "GONOSUMDB=*", "GOFLAGS=-mod=mod -modcacherw", "GOTOOLCHAIN=local")
		if out, err := fetch.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}

		edit := func(old, now string) scripted.Reply {
			return scripted.Reply{Calls: []scripted.Call{{Name: "apply_patch", Arguments: `{"patch":"*** Begin Patch\n*** Update File: main.go\n@@\n-\tprintln(` + old + `)\n+\tprintln(` + now + `)\n*** End Patch"}`}}}
		}
		steps := []struct {
			edit scripted.Reply
			want string // in a result before the next step; "": nothing is found within some calls
		}{
			{edit("dep.One", "dep.Two"), "main.go:6:14: error: undefined: dep.Two"},
			{edit("dep.Two", "dep.One"), ""},
			{edit("dep.One", "dep.One, total"), "main.go:6:19: error: undefined: total"},
			{edit("dep.One, total", "dep.One, missing"), "main.go:6:19: error: undefined: missing"},
		}
		at, calls, seen := 0, 0, ""
		srv := answering(t, func(r scripted.Request) scripted.Reply {
			if at > 0 {
				seen += r.Last().Text + "\n"
				step := steps[at-1]
				if found := strings.Contains(seen, "[diagnostics]"); !found && calls < map[bool]int{true: 3, false: 120}[step.want == ""] {
					calls++
					return scripted.Reply{Calls: []scripted.Call{shellCall("sleep 1")}}
				} else if found != (step.want != "") || !strings.Contains(seen, step.want) || strings.Count(seen, "error: ") > 1 {
					t.Errorf("after edit %d: want %q, found\n%s", at, step.want, seen)
				}
			}
			if at == len(steps) {
				return scripted.Reply{Text: "Done."}
			}
			at, calls, seen = at+1, 0, ""
			return steps[at-1].edit
		})
		cmd := u.codeagent("exec", "--model", "test", "go on")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, path)
		if r := run1(t, launch(cmd)); r.code != 0 || at != len(steps) {
			t.Errorf("%d edits: %v", at, r)
		}
		doctor := u.codeagent("doctor")
		doctor.Env = append(doctor.Env, path)
		if r := run1(t, launch(doctor)); !strings.Contains(r.stdout, "\nlanguage gopls ("+u.home+"/go/bin/gopls): works\n") {
			t.Errorf("doctor: %v", r)
		}
	})
}

// put writes files of a user, below the folder of home and work. A name that ends with a slash is a folder.
func (u user) put(t testing.TB, files map[string]string) {
	t.Helper()
	base := filepath.Dir(u.home)
	for name, text := range files {
		err := os.MkdirAll(filepath.Join(base, filepath.Dir(name)), 0o755)
		if err == nil && !strings.HasSuffix(name, "/") {
			err = os.WriteFile(filepath.Join(base, name), []byte(text), 0o644)
		}
		for at := filepath.Join(base, name); err == nil && u.uid >= 0 && at != base; at = filepath.Dir(at) {
			err = os.Lchown(at, u.uid, u.uid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func zipped(t testing.TB, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
