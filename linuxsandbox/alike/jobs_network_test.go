//go:build linux

package alike

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

const (
	anyNetwork    = "netns connect"
	ownNetwork    = "netns"
	ownNetworkWhy = "without a network of its own no socket can be made for it"
)

// networkJobs run servers and connect to them.
var networkJobs = []job{
	{name: "python serves and curl fetches", needs: "python3 curl", layer: anyNetwork, why: ownNetworkWhy,
		script: `echo served > f; mkfifo up; python3 -u -m http.server 8099 --bind 127.0.0.1 > up 2>/dev/null & read -r line < up; curl -sS http://127.0.0.1:8099/f; kill $!`, says: "served"},
	{name: "node serves and fetches", needs: "node", layer: anyNetwork, why: ownNetworkWhy,
		script: `node -e 'require("net").setDefaultAutoSelectFamilyAttemptTimeout?.(60000); const s = require("http").createServer((_, r) => r.end("served")).listen(0, "localhost", async () => { console.log(await (await fetch("http://localhost:" + s.address().port)).text()); s.close(); s.closeAllConnections() })'`, says: "served"},
	{name: "python over version 6", needs: "python3", layer: anyNetwork, why: ownNetworkWhy,
		script: `python3 -c 'import socket; s = socket.create_server(("::1", 0), family=socket.AF_INET6); c = socket.create_connection(s.getsockname()[:2]); a, _ = s.accept(); a.send(b"through"); print(c.recv(9).decode())'`, says: "through"},
	{name: "datagrams on the loopback", needs: "python3", layer: anyNetwork, why: ownNetworkWhy,
		script: `python3 -c 'import socket; a, b = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "ab"]; a.bind(("127.0.0.1", 0)); b.sendto(b"through", a.getsockname()); print(a.recv(9).decode())'`, says: "through"},
	{name: "ping of the loopback", needs: "python3", layer: ownNetwork, why: ownNetworkWhy,
		script: `python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP); s.sendto(bytes([8, 0, 0, 0, 0, 0, 0, 1]), ("127.0.0.1", 0)); print("type", s.recv(99)[0])'`, says: "type 0"},
	{name: "names and addresses of this machine", needs: "python3", layer: anyNetwork, why: ownNetworkWhy,
		script: `python3 -c 'import socket; print(sorted({a[4][0] for a in socket.getaddrinfo("localhost", 80)})); print(socket.if_nameindex())'`, says: "127.0.0.1"},
	{name: "java serves", needs: "java", layer: anyNetwork, why: ownNetworkWhy, slow: true, optional: true,
		script: `printf 'import java.net.*; public class S { public static void main(String[] a) throws Exception { ServerSocket s = new ServerSocket(0); Socket c = new Socket("localhost", s.getLocalPort()); s.accept().getOutputStream().write(65); System.out.println("read " + c.getInputStream().read()); } }' > S.java; java S.java`, says: "read 65"},
	{name: "go tests with a server", needs: "go", layer: anyNetwork, why: ownNetworkWhy, slow: true,
		script: `go mod init example.org/x 2>/dev/null; printf 'package x\n\nimport (\n\t"net/http"\n\t"net/http/httptest"\n\t"testing"\n)\n\nfunc TestX(t *testing.T) {\n\ts := httptest.NewServer(http.NotFoundHandler())\n\tdefer s.Close()\n\tif r, err := http.Get(s.URL); err != nil || r.StatusCode != 404 {\n\t\tt.Fatal(r, err)\n\t}\n}\n' > x_test.go; CGO_ENABLED=0 go test .`, says: "ok"},
	// An unreachable name server must fail at once. The wait is longer than any delay of a loaded
	// machine, so the job notices it.
	{name: "a name that cannot be looked up", needs: "getent timeout", layer: anyNetwork, why: ownNetworkWhy, script: `RES_OPTIONS="timeout:30 attempts:5" timeout 120 getent hosts example.com || echo "status $?"`, says: "status 2"},
}

// TestDevServer: a later command of the session reaches a server that an earlier one started, while
// that one runs.
func TestDevServer(t *testing.T) {
	b := backendtest.New(t)
	defer b.Close()
	if !sandboxtest.HasLayer(t, b, "netns") && !sandboxtest.HasLayer(t, b, "connect") {
		t.Skip("commands have no sockets here")
	}
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws, "page"), []byte("the page"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := sandbox.WorkspaceWrite(ws)
	p.Temp = t.TempDir()
	shell := func(script string) sandbox.Command {
		return sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Dir: ws, Env: backendtest.JobEnv(ws, p.Temp)}
	}
	for _, row := range []struct{ program, serve string }{
		{"python3", "exec python3 -u -m http.server 8099"},
		{"node", `exec node -e 'require("http").createServer((q, r) => r.end(require("fs").readFileSync("." + q.url))).listen(8099, () => console.log("up"))'`},
	} {
		t.Run(row.program, func(t *testing.T) {
			for _, program := range []string{row.program, "curl"} {
				if _, err := attack.LookIn(attack.Path, program); err != nil {
					t.Skip("needs " + program)
				}
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := shell(row.serve)
			cmd.Stdout, cmd.Stderr = w, w
			server, err := sandboxtest.Start(b, t.Context(), p, cmd, nil)
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(r).ReadString('\n'); err != nil {
				t.Fatalf("the server says %q: %v", line, err)
			}
			for _, host := range []string{"127.0.0.1", "localhost"} {
				if st, out := sandboxtest.Output(t, b, p, shell("curl -sS http://"+host+":8099/page")); st.Exit != 0 || out != "the page" {
					t.Errorf("%s: %+v, %q", host, st, out)
				}
			}
			server.Kill()
			if _, err := server.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
