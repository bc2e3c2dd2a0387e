//go:build linux

package network

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// envServices holds the folder of the services and their ports, in the order of servicePorts.
const envServices = "CODEAGENT_TEST_SERVICES"

var servicePorts = []string{"WEB", "SSH", "SQL", "REDIS"}

// clients are programs that get something of a service under the name example.com.
var clients = []struct{ name, needs, port, script, says string }{
	{"curl", "curl", "WEB", `curl -sS -m 120 $URL/page`, "a page"},
	{"git over https", "git", "WEB", `git clone -q $URL/git/repo copy; cat copy/a`, "from git"},
	{"git over ssh", "git ssh gcc", "SSH", `install -m 600 $SERVICES/key key; export LD_PRELOAD=$SERVICES/me.so
GIT_SSH_COMMAND="ssh -F none -i $PWD/key -o UserKnownHostsFile=$SERVICES/known -o BatchMode=yes" git clone -q ssh://dev@$AT$SERVICES/repo copy; cat copy/a`, "from git"},
	{"npm", "npm", "WEB", `echo '{"name": "x"}' > package.json; npm install --silent --fetch-retries=0 --registry=$URL/npm/ left; node -p 'require("left")'`, "left of npm"},
	{"pip", "/usr/bin/pip3", "WEB", `/usr/bin/python3 -m pip -q --disable-pip-version-check --retries 0 install --no-compile --index-url $URL/pip --target lib left; PYTHONPATH=lib /usr/bin/python3 -c 'import left'`, "left of pip"},
	// A sparse index is stable since Rust 1.68; older ones know it under the same flag.
	{"cargo", "/usr/bin/cargo", "WEB", `mkdir src; touch src/lib.rs; printf '[package]\nname = "x"\nversion = "1.0.0"\n[dependencies]\nleft = { version = "1", registry = "own" }\n' > Cargo.toml
export CARGO_HOME=$PWD/cargo CARGO_NET_RETRY=0 CARGO_REGISTRIES_OWN_INDEX=sparse+$URL/cargo/ RUSTC_BOOTSTRAP=1; /usr/bin/cargo -q -Z sparse-registry fetch; cat cargo/registry/src/*/left-1.0.0/src/lib.rs`, "left of cargo"},
	{"go get", "go", "WEB", `printf 'module x\n\ngo 1.21\n' > go.mod; export GOPROXY=$URL/go GOSUMDB=off GOFLAGS=-modcacherw; go get example.com/left@v1.0.0 2>/dev/null; cat $(go list -m -f '{{.Dir}}' example.com/left)/left.go`, "left of go"},
	{"psql", "psql", "SQL", `psql "host=example.com port=$PORT user=dev dbname=postgres" -Atc "select 'answer ' || 40 + 2"`, "answer 42"},
	{"redis-cli", "redis-cli", "REDIS", `redis-cli -h example.com -p $PORT ping`, "PONG"},
	{"python over https", "python3", "WEB", `python3 -c 'import os, urllib.request; print(urllib.request.urlopen(os.environ["URL"] + "/page", timeout=120).read().decode())'`, "a page"},
	{"python, raw", "python3", "REDIS", `python3 -c 'import os, socket; s = socket.create_connection(("example.com", int(os.environ["PORT"]))); s.sendall(b"PING\r\n"); print(s.recv(9).decode())'`, "+PONG"},
	{"node over https", "node", "WEB", `node -e 'fetch(process.env.URL + "/page").then(async r => console.log(await r.text())).catch(e => { console.log(e); process.exit(3) })'`, "a page"},
	{"node, raw", "node", "REDIS", `node -e 'const s = require("net").connect(+process.env.PORT, "example.com", () => s.write("PING\r\n")); s.on("data", d => { console.log("" + d); s.end() }).on("error", e => { console.log(e); process.exit(3) })'`, "+PONG"},
}

// TestClients runs them in every setting, with services of the host.
func TestClients(t *testing.T) {
	services := newServices(t)
	attack.InSettings(t, true, 2, func(t *testing.T, s attack.Setting) *exec.Cmd {
		cmd := tests.Command(t, s, "^TestClientsInSetting$")
		cmd.Env = append(cmd.Env, envServices+"="+services)
		return cmd
	})
}

// TestClientsInSetting: ordinary clients get what they want of an allowed host, and of one that is allowed only while
// they wait; else they fail, the name is recorded, and nobody looks it up.
func TestClientsInSetting(t *testing.T) {
	attack.CurrentSetting(t, "TestClients")
	th := backendtest.NetworkTheatre(t)
	services := strings.Fields(os.Getenv(envServices))
	base, rows := th.Policy, machine.Sample(t, 4)
	for i, c := range clients {
		if !rows.Has(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for program := range strings.FieldsSeq(c.needs) {
				if !path.IsAbs(program) {
					attack.Need(t, program)
				} else if _, err := os.Stat(program); err != nil && machine.Thorough() {
					t.Fatal(err)
				} else if err != nil {
					t.Skip(err)
				}
			}
			// Nobody serves at the first address of each family, so clients try one after the other. hiredis gives up.
			addrs := "::1 127.77.0.8 127.77.0.1"
			if c.name == "redis-cli" {
				addrs = "127.77.0.1"
			}
			asked := recordNames(t, th, map[string]string{"example.com": addrs})
			port := services[1+slices.Index(servicePorts, c.port)]
			at := "example.com:" + port
			ca := services[0] + "/ca.pem"
			cmd := sandbox.Command{Path: "bash", Args: []string{"bash", "-ec", "rm -rf w; mkdir -p w/home w/tmp; cd w; " + c.script},
				Env: append(backendtest.JobEnv(th.Dir+"/w", th.Dir+"/w/tmp"), "SERVICES="+services[0], "AT="+at, "URL=https://"+at, "PORT="+port,
					"CURL_CA_BUNDLE="+ca, "GIT_SSL_CAINFO="+ca, "SSL_CERT_FILE="+ca, "PIP_CERT="+ca, "npm_config_cafile="+ca, "CARGO_HTTP_CAINFO="+ca, "NODE_EXTRA_CA_CERTS="+ca)}
			for _, try := range []struct {
				what    string
				allowed []string
				holder  *backendtest.Asker
				passes  bool
				asks    []string
			}{
				{"not allowed", nil, &backendtest.Asker{Answer: backendtest.No}, false, []string{"example.com"}},
				{"allowed on another port", []string{"example.com:1"}, &backendtest.Asker{Answer: backendtest.No}, false, []string{at}},
				{"allowed while it waits", nil, granting(t, at), true, []string{"example.com"}},
				{"allowed", []string{at}, &backendtest.Asker{Answer: backendtest.No}, true, nil},
			} {
				th.Policy = backendtest.Allowing(t, base, try.allowed...)
				asked()
				st, out, denials := th.Ask(t, try.holder, cmd)
				var refused []string
				for _, d := range denials {
					if d.Kind == sandbox.KindNetwork {
						refused = append(refused, d.Target)
					}
				}
				slices.Sort(refused)
				if !try.passes && !slices.Equal(slices.Compact(refused), try.asks) || try.passes && len(refused) > 0 || !slices.Equal(try.holder.Targets(), try.asks) {
					t.Errorf("%s: asked about %q, refused %q, want %q", try.what, try.holder.Targets(), refused, try.asks)
				}
				if (st.Exit == 0) != try.passes || strings.Contains(out, c.says) != try.passes {
					t.Errorf("%s: %+v, %q", try.what, st, out)
				}
				if got := asked(); (len(got) > 0) != (try.passes || len(try.allowed) > 0) {
					t.Errorf("%s: looked up %q", try.what, got)
				}
			}
		})
	}
}

// recordNames gives names their addresses. The function returns which names were looked up since its last call.
func recordNames(t *testing.T, th *backendtest.Theatre, names map[string]string) func() []string {
	var mu sync.Mutex
	var asked []string
	th.Names(t).Set(func(_ context.Context, network, host string) ([]netip.Addr, error) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(asked, host) {
			asked = append(asked, host)
		}
		var found []netip.Addr
		for text := range strings.FieldsSeq(names[host]) {
			if a := netip.MustParseAddr(text); a.Is4() == (network == "ip4") {
				found = append(found, a)
			}
		}
		if len(found) == 0 {
			return nil, &net.DNSError{Name: host, IsNotFound: true}
		}
		return found, nil
	}, true)
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		defer func() { asked = nil }()
		return asked
	}
}

// servicesScript makes and runs the services that take programs, until its standard input ends. Libraries find an
// account for its user, and for that of the clients.
const servicesScript = `
trap 'kill $(jobs -p) 2>/dev/null || :; wait' EXIT
printf '#include <pwd.h>\n#include <stddef.h>\n#include <unistd.h>\nstatic struct passwd me = {"dev", "x", 0, 0, "dev", "/", "/bin/sh"};\nstruct passwd *getpwuid(uid_t u) { me.pw_uid = me.pw_gid = u; return &me; }\nstruct passwd *getpwnam(const char *n) { return getpwuid(getuid()); }\nint getpwuid_r(uid_t u, struct passwd *p, char *b, size_t n, struct passwd **r) { *p = *getpwuid(u); *r = p; return 0; }\n' > me.c
gcc -shared -fPIC -o me.so me.c; export LD_PRELOAD=$PWD/me.so PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
git init -q repo; echo from git > repo/a; git -C repo add a; git -C repo -c user.name=dev -c user.email=dev@example.org commit -qm one
for k in host key; do ssh-keygen -q -t ed25519 -N "" -f $k; done; echo "[example.com]:$SSH $(cat host.pub)" > known
printf '%s\n' "HostKey $PWD/host" "AuthorizedKeysFile $PWD/key.pub" "ListenAddress 127.77.0.1:$SSH" "PidFile none" "StrictModes no" > sshd.conf
initdb -N -A trust -U dev -D db >/dev/null; chmod 644 key
exec 2> log
$SSHD -D -e -f sshd.conf & postgres -D db -F -h 127.77.0.1 -p $SQL -k "" & redis-server --bind 127.77.0.1 --port $REDIS --save "" >/dev/null &
until (exec 3<>/dev/tcp/127.77.0.1/$SSH) && redis-cli -h 127.77.0.1 -p $REDIS ping >/dev/null && pg_isready -q -h 127.77.0.1 -p $SQL; do test $SECONDS -lt 60; sleep 0.1; done
echo ready; read -r _ || :`

// newServices serves at 127.77.0.1 until the test ends, and returns what envServices says.
func newServices(t *testing.T) string {
	t.Helper()
	uid := os.Getuid()
	if uid == 0 { // PostgreSQL does not run as root
		uid = attack.PlainUser
	}
	dir := filepath.Join(attack.Stage(t, uid), "files")
	var ports, env []string
	for _, name := range servicePorts {
		l, err := net.Listen("tcp", "127.77.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports, env = append(ports, port), append(env, name+"="+port)
		if name != "WEB" {
			l.Close()
			continue
		}
		server := httptest.NewUnstartedServer(web(dir))
		server.Listener.Close()
		server.Listener = l
		server.EnableHTTP2 = true
		server.StartTLS()
		t.Cleanup(server.Close)
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		if err := os.WriteFile(dir+"/ca.pem", ca, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sshd := attack.Need(t, "gcc", "git", "ssh-keygen", "psql", "redis-server", "sshd")
	cmd := exec.Command("bash", "-ec", servicesScript)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(env, "SSHD="+sshd, "PATH="+attack.Path, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	stdin, err := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	line := make([]byte, 6)
	if _, err := io.ReadFull(stdout, line); string(line) != "ready\n" {
		log, _ := os.ReadFile(dir + "/log")
		t.Fatalf("the services: %q, %v\n%s", line, err, log)
	}
	return dir + " " + strings.Join(ports, " ")
}

// web serves a page, a repository of dir, and a package of each kind.
func web(dir string) http.Handler {
	tgz := func(prefix string, files ...string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for i := 0; i < len(files); i += 2 {
			_ = w.WriteHeader(&tar.Header{Name: prefix + files[i], Mode: 0o644, Size: int64(len(files[i+1]))})
			_, _ = io.WriteString(w, files[i+1])
		}
		_, _ = w.Close(), z.Close()
		return b.Bytes()
	}
	zipped := func(files ...string) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			f, _ := w.Create(files[i])
			_, _ = io.WriteString(f, files[i+1])
		}
		_ = w.Close()
		return b.Bytes()
	}
	crate := tgz("left-1.0.0/", "Cargo.toml", "[package]\nname = \"left\"\nversion = \"1.0.0\"\n", "src/lib.rs", "// left of cargo\n")
	files := map[string][]byte{
		"/page":                               []byte("a page\n"),
		"/npm/left":                           []byte(`{"name": "left", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "left", "version": "1.0.0", "dist": {"tarball": "BASE/npm/left.tgz"}}}}`),
		"/npm/left.tgz":                       tgz("package/", "package.json", `{"name": "left", "version": "1.0.0"}`, "index.js", `module.exports = "left of npm"`),
		"/pip/left/":                          []byte(`<a href="/left-1.0-py3-none-any.whl">left-1.0-py3-none-any.whl</a>`),
		"/cargo/config.json":                  []byte(`{"dl": "BASE/crates"}`),
		"/cargo/le/ft/left":                   fmt.Appendf(nil, `{"name": "left", "vers": "1.0.0", "deps": [], "cksum": "%x", "features": {}, "yanked": false}`+"\n", sha256.Sum256(crate)),
		"/crates/left/1.0.0/download":         crate,
		"/go/example.com/left/@v/v1.0.0.info": []byte(`{"Version": "v1.0.0"}`),
		"/go/example.com/left/@v/v1.0.0.mod":  []byte("module example.com/left\n"),
		"/go/example.com/left/@v/v1.0.0.zip":  zipped("example.com/left@v1.0.0/go.mod", "module example.com/left\n", "example.com/left@v1.0.0/left.go", "package left // left of go\n"),
		"/left-1.0-py3-none-any.whl": zipped("left.py", `print("left of pip")`, "left-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: left\nVersion: 1.0\n",
			"left-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "left-1.0.dist-info/RECORD", ""),
	}
	mux := http.NewServeMux()
	mux.Handle("/git/", &cgi.Handler{Path: "/usr/lib/git-core/git-http-backend", Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/") {
			w.Header().Set("Content-Type", "text/html")
		}
		_, _ = w.Write(bytes.ReplaceAll(body, []byte("BASE"), []byte("https://"+r.Host)))
	})
	return mux
}
