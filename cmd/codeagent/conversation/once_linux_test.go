package conversation

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/machine"
)

// TestAnsweredOnce runs jobs that need more than the sandbox gives, with the real gate and sandbox, and a person who answers "once" to every
// question. All but those that say why are done, with at most as many questions as their row says. Outside CI this is a sample.
func TestAnsweredOnce(t *testing.T) { inStages(t, "TestAnsweredOnceJobs", 2) }

// TestAnsweredOnceJobs is the body of TestAnsweredOnce, in a process of its user.
func TestAnsweredOnceJobs(t *testing.T) {
	stage, most := stageOf(t, "TestAnsweredOnce"), 0
	for _, j := range needyJobs {
		most += max(j.most, 1)
	}
	if len(needyJobs) < 40 || 5*most > 8*len(needyJobs) {
		t.Errorf("%d jobs may cause %d questions", len(needyJobs), most)
	}
	registry := httptest.NewServer(registryOf(t))
	defer registry.Close()
	home, questions, tried := stage+"/lived", 0, 0
	bash(t, onceEnv(stage, home, "", registry.URL), stage, livedIn)
	for i, j := range jobsHere(t, needyJobs, machine.SampleOf(t, 18, os.Geteuid() != 0)) {
		t.Run(j.name, func(t *testing.T) {
			base := fmt.Sprintf("%s/%02d", stage, i)
			if why := onceBare(t, j, base+"/bare", home, registry.URL); why != "" {
				t.Logf("not tried: %s (it fails without a sandbox: %s)", j.name, why)
				return
			}
			asked, ok := onceJob(t, j, base+"/real", home, registry.URL)
			tried, questions = tried+1, questions+asked
			switch t.Logf("%d questions", asked); {
			case !ok && j.open != "":
				t.Logf("not done: %s (%s)", j.name, j.open)
			case !ok || asked > max(j.most, 1):
				t.Errorf("done %v, %d questions", ok, asked)
			}
		})
	}
	t.Logf("%d questions in %d jobs", questions, tried)
}

func onceEnv(base, home, out, registry string) []string {
	golang, _ := exec.LookPath("go")
	return []string{"HOME=" + home, "OUT=" + out, "REG=" + registry, "PATH=" + filepath.Dir(golang) + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "USER=u", "TERM=dumb",
		"CODEAGENT_HOME=" + base + "/own", "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "GOTOOLCHAIN=local"}
}

// onceSetup makes the folders of a job.
func onceSetup(t *testing.T, j job, base, lived, registry string) (env []string) {
	t.Helper()
	env = onceEnv(base, base+"/home", base+"/home/srv/out", registry)
	out, err := bash(t, env, base+"/home/srv/out", "cp -a "+lived+"/. ~/")
	if err == nil {
		out, err = bash(t, env, base+"/work", j.setup)
	}
	if err != nil {
		t.Fatalf("%s: %v %s", j.name, err, out)
	}
	return env
}

// compiledOnce is the cache of Go that the trials of all jobs share, beside the home folder that the jobs get copies of.
func compiledOnce(lived string) string { return filepath.Dir(lived) + "/go-build" }

// onceBare says why a job fails without a sandbox.
func onceBare(t *testing.T, j job, base, lived, registry string) string {
	t.Helper()
	env := append(onceSetup(t, j, base, lived, registry), "GOCACHE="+compiledOnce(lived))
	defer func() { _, _ = bash(t, env, base+"/work", "gpgconf --kill all; chmod -R u+w "+base) }()
	if out, err := bash(t, env, base+"/work", j.script); err != nil {
		return fmt.Sprintf("%v %.300q", err, out)
	}
	if out, err := bash(t, env, base+"/work", j.check); err != nil || !strings.Contains(out, j.want) {
		return fmt.Sprintf("%v %.300q", err, out)
	}
	return ""
}

// onceJob runs a job in a session of its own, and returns how often the person was asked.
func onceJob(t *testing.T, j job, base, lived, registry string) (asked int, ok bool) {
	t.Helper()
	env := onceSetup(t, j, base, lived, registry)
	defer func() { _, _ = bash(t, env, base+"/work", "gpgconf --kill all; chmod -R u+w "+base) }()
	compiled := ""
	if j.needs == "go" || j.needs == "dlv" {
		compiled = compiledOnce(lived)
	}
	s := openJobs(t, env, base+"/work", compiled)
	s.play.insists = true
	s.do(t, j, base+"/work", strings.NewReplacer("$OUT", base+"/home/srv/out", "$REG", registry).Replace(j.script), true)
	out, err := bash(t, env, base+"/work", j.check)
	ok = err == nil && strings.Contains(out, j.want)
	if asked = len(s.person.asked); !ok || asked > max(j.most, 1) {
		t.Logf("after it: %.300s", out)
		s.report(t)
	}
	return asked, ok
}

// registryOf serves two packages of each kind, and a version as Kubernetes does.
func registryOf(t *testing.T) http.Handler {
	t.Helper()
	files := map[string][]byte{"/version": []byte(`{"major":"1","minor":"30","gitVersion":"v1.30.0"}`)}
	mux := http.NewServeMux()
	for name, needs := range map[string]string{"first": `,"dependencies":{"second":"^1.0.0"}`, "second": ""} {
		about := fmt.Sprintf(`{"name":%q,"version":"1.0.0"%s}`, name, needs)
		files["/npm/"+name+"/-/"+name+"-1.0.0.tgz"] = gzipped(t, map[string]string{"package/package.json": about, "package/index.js": ""})
		files["/pip/files/"+name+"-1.0-py3-none-any.whl"] = zipped(t, map[string]string{
			name + ".py": "x = 1\n", name + "-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n",
			name + "-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n", name + "-1.0.dist-info/RECORD": "",
		})
		files["/pip/simple/"+name+"/"] = fmt.Appendf(nil, `<a href="../../files/%s-1.0-py3-none-any.whl">%[1]s</a>`, name)
		module := "/go/example.org/" + name + "/@v/"
		files[module+"list"], files[module+"v1.0.0.info"] = []byte("v1.0.0\n"), []byte(`{"Version":"v1.0.0","Time":"2025-01-01T00:00:00Z"}`)
		files["/go/example.org/"+name+"/@latest"] = files[module+"v1.0.0.info"]
		files[module+"v1.0.0.mod"] = []byte("module example.org/" + name + "\n")
		in := "example.org/" + name + "@v1.0.0/"
		files[module+"v1.0.0.zip"] = zipped(t, map[string]string{in + "go.mod": "module example.org/" + name + "\n", in + "f.go": "package " + name + "\n", in + "cmd/hello/main.go": "package main\n\nfunc main() {}\n"})
		mux.HandleFunc("/npm/"+name, func(w http.ResponseWriter, r *http.Request) {
			tarball := "/npm/" + name + "/-/" + name + "-1.0.0.tgz"
			sum := sha512.Sum512(files[tarball])
			dist := fmt.Sprintf(`,"dist":{"tarball":"http://%s%s","integrity":"sha512-%s"}}`, r.Host, tarball, base64.StdEncoding.EncodeToString(sum[:]))
			fmt.Fprintf(w, `{"name":%q,"dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":%s%s}}`, name, strings.TrimSuffix(about, "}"), dist)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/"):
			w.Header().Set("Content-Type", "text/html")
		case path.Ext(r.URL.Path) == "" || filepath.Ext(r.URL.Path) == ".info":
			w.Header().Set("Content-Type", "application/json")
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data)))
		_, _ = w.Write(data)
	})
	return mux
}

func gzipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
	_, _ = w.Close(), z.Close()
	return b.Bytes()
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
