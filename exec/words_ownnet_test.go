package exec_test

import (
	"strings"
	"testing"

	"codeagent/sandbox"
)

// ownNetCases are outputs from the session's own network namespace, where a socket can be
// made but nothing of the host can be reached: name lookups fail, addresses have no route,
// and on the loopback only the session's own servers answer. Words do not distinguish a
// server of the host from one of the command's own that is not running, so without a broker
// neither counts as denied.
var ownNetCases = []outputCase{
	{assumed: true, name: "own net: curl name", script: `curl -sS https://example.com/`, want: []string{"example.com:443"}},
	{assumed: true, name: "own net: curl address", script: `curl -sS http://192.0.2.1:8080/`, want: []string{"192.0.2.1:8080"}},
	{assumed: true, name: "own net: curl port", script: `curl -sS http://127.0.0.1:8099/x`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: curl localhost", script: `curl -sS http://localhost:8099/x`, want: []string{"localhost:8099"}},
	{assumed: true, name: "own net: curl silent", script: `curl -s https://example.com/`, want: []string{"example.com:443"}, miss: "it prints nothing"},
	{assumed: true, name: "own net: wget name", script: `wget -nv http://example.com/`, want: []string{"example.com:80"}},
	{assumed: true, name: "own net: wget address", script: `wget -t1 -nv http://192.0.2.1/`, want: []string{"192.0.2.1:80"}},
	{assumed: true, name: "own net: wget port", script: `wget -t1 http://127.0.0.1:8099/`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: wget port, terse", script: `wget -t1 -nv http://127.0.0.1:8099/`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: git clone https", script: `git clone -q https://github.com/a/b b`, want: []string{"github.com:443"}},
	{assumed: true, name: "own net: git clone address", script: `git clone -q https://192.0.2.1/a b`, want: []string{"192.0.2.1:443"}},
	{assumed: true, name: "own net: git clone git", script: `git clone -q git://example.com/a b`, want: []string{"example.com:9418"}},
	{assumed: true, asRoot: true, name: "own net: git clone ssh", script: `GIT_SSH_COMMAND='ssh -o StrictHostKeyChecking=no' git clone -q git@github.com:a/b b`, want: []string{"github.com:22"}},
	{assumed: true, asRoot: true, name: "own net: ssh", script: `ssh -o BatchMode=yes 127.0.0.1 true`, want: []string{"127.0.0.1:22"}},
	{assumed: true, asRoot: true, name: "own net: ssh address", script: `ssh -o BatchMode=yes 192.0.2.1 true`, want: []string{"192.0.2.1:22"}},
	{assumed: true, asRoot: true, name: "own net: apt-get update", script: `mkdir -p l/partial c/partial; echo 'deb [trusted=yes] http://deb.debian.org/debian stable main' > s; apt-get -o Dir::Etc::sourcelist=$PWD/s -o Dir::Etc::sourceparts=- -o Dir::State::lists=$PWD/l -o Dir::Cache=$PWD/c -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any update 2>&1 | grep -v archives; exit ${PIPESTATUS[0]}`, want: []string{"deb.debian.org:80"}},
	{assumed: true, name: "own net: getent", script: `getent hosts example.com`, want: []string{"example.com"}, miss: "it prints nothing"},
	{assumed: true, name: "own net: python urllib", script: `/usr/bin/python3 -c 'import urllib.request; urllib.request.urlopen("http://example.com/")'`, want: []string{"example.com:80"}},
	{assumed: true, name: "own net: python urllib port", script: `/usr/bin/python3 -c 'import urllib.request; urllib.request.urlopen("http://127.0.0.1:8099/")'`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: python getaddrinfo", script: `/usr/bin/python3 -c 'import socket; socket.getaddrinfo("example.com", 80)'`, want: []string{"socket"}, suggest: "-"},
	{assumed: true, name: "own net: python socket", script: `/usr/bin/python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80))'`, want: []string{"socket"}, suggest: "-"},
	{assumed: true, name: "own net: python socket port", script: `/usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8099))'`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: pip", script: `/usr/bin/python3 -m pip download --no-cache-dir --retries 1 requests`, want: []string{"socket"}, suggest: "-"},
	{assumed: true, name: "own net: node fetch", script: `node -e 'fetch("https://example.com/").catch(e => { console.error(e); process.exit(1) })'`, want: []string{"example.com:443"}},
	{assumed: true, name: "own net: node fetch port", script: `node -e 'fetch("http://127.0.0.1:8099/").catch(e => { console.error(e); process.exit(1) })'`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: node localhost", script: `node -e 'require("http").get("http://localhost:8099/")'`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: node net", script: `node -e 'require("net").connect(8080, "192.0.2.1")'`, want: []string{"192.0.2.1:8080"}},
	{assumed: true, name: "own net: npm", script: `npm_config_cache=$PWD/.npm npm view --fetch-retries=0 left-pad`, want: []string{"registry.npmjs.org:443"}},
	{assumed: true, name: "own net: go dial", script: goMain + `func main() { _, err := http.Get("https://example.com/x"); fmt.Fprintln(os.Stderr, err); os.Exit(1) }' > m.go; GODEBUG=netdns=go /usr/local/go/bin/go run m.go`, want: []string{"example.com:443"}},
	{assumed: true, name: "own net: go dial address", script: goMain + `func main() { _, err := http.Get("http://192.0.2.1:8080/"); fmt.Fprintln(os.Stderr, err); os.Exit(1) }' > m.go; /usr/local/go/bin/go run m.go`, want: []string{"192.0.2.1:8080"}},
	{assumed: true, name: "own net: go dial port", script: goMain + `func main() { _, err := http.Get("http://127.0.0.1:8099/"); fmt.Fprintln(os.Stderr, err); os.Exit(1) }' > m.go; /usr/local/go/bin/go run m.go`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: go mod download", script: `printf 'module t\ngo 1.20\nrequire example.com/x v1.0.0\n' > go.mod; GOFLAGS=-mod=mod GOMODCACHE=$PWD/.mod GOPROXY=https://proxy.golang.org GONOSUMDB=* /usr/local/go/bin/go mod download`, want: []string{"proxy.golang.org:443"}},
	{assumed: true, name: "own net: java net", script: javaGet("http://example.com/"), want: []string{"example.com:80"}},
	{assumed: true, name: "own net: java port", script: javaGet("http://127.0.0.1:8099/"), want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: bash tcp", script: `exec 3<>/dev/tcp/127.0.0.1/8099`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, name: "own net: bash tcp address", script: `exec 3<>/dev/tcp/192.0.2.1/80`, want: []string{"192.0.2.1:80"}},
	{assumed: true, name: "own net: bash tcp name", script: `exec 3<>/dev/tcp/example.com/80`, want: []string{"example.com:80"}},
	{assumed: true, name: "own net: perl net", script: `perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => "127.0.0.1:8099") or die "connect: $@\n"'`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, asRoot: true, name: "own net: psql", script: `psql -h 127.0.0.1 -p 5499 -c 'select 1'`, want: []string{"127.0.0.1:5499"}},
	{assumed: true, asRoot: true, name: "own net: psql name", script: `psql -h db.example.com -c 'select 1'`, want: []string{"db.example.com:5432"}},

	// A server of the session's own that is not running: nothing on the host listens there
	// either.
	{assumed: true, name: "own net: curl, no server", script: `curl -sS http://127.0.0.1:3000/`},
	{assumed: true, name: "own net: curl localhost, no server", script: `curl -sS http://localhost:3000/`},
	{assumed: true, name: "own net: wget, no server", script: `wget -t1 http://127.0.0.1:3000/`},
	{assumed: true, name: "own net: python, no server", script: `/usr/bin/python3 -c 'import urllib.request; urllib.request.urlopen("http://127.0.0.1:3000/")'`},
	{assumed: true, name: "own net: python socket, no server", script: `/usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1", 3000))'`},
	{assumed: true, name: "own net: node, no server", script: `node -e 'fetch("http://localhost:3000/").catch(e => { console.error(e); process.exit(1) })'`},
	{assumed: true, name: "own net: go, no server", script: goMain + `func main() { _, err := http.Get("http://127.0.0.1:3000/"); fmt.Fprintln(os.Stderr, err); os.Exit(1) }' > m.go; /usr/local/go/bin/go run m.go`},
	{assumed: true, name: "own net: java, no server", script: javaGet("http://127.0.0.1:3000/")},
	{assumed: true, name: "own net: bash tcp, no server", script: `exec 3<>/dev/tcp/127.0.0.1/3000`},
	{assumed: true, asRoot: true, name: "own net: psql, no server", script: `psql -h 127.0.0.1 -p 3000 -c 'select 1'`},
	{assumed: true, name: "own net: a test's server failed", script: `node -e 'const s = require("http").createServer(); s.listen(0, () => { const p = s.address().port; s.close(() => require("net").connect(p, "127.0.0.1")) })'`},
	{assumed: true, name: "own net: port in use", script: `node -e 'const n = require("net"); n.createServer().listen(8099, () => n.createServer().listen(8099))'`},
}

const goMain = `echo 'package main
import ("fmt"; "net/http"; "os")
`

func javaGet(url string) string {
	return `printf 'public class N { public static void main(String[] a) throws Exception { new java.net.URL("` + url + `").openStream(); } }' > N.java; java N.java 2>&1`
}

// TestJudgeWordsOfOthers: programs that the cases could not be recorded with.
func TestJudgeWordsOfOthers(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	for words, want := range map[string]string{
		"ping: connect: Network is unreachable":                                                "socket",
		"ping: example.com: Temporary failure in name resolution":                              "example.com",
		"nc: connect to 192.0.2.1 port 80 (tcp) failed: Network is unreachable":                "192.0.2.1:80",
		`nc: getaddrinfo for host "example.com" port 80: Temporary failure in name resolution`: "example.com:80",
		"requests.exceptions.ConnectionError: HTTPSConnectionPool(host='example.com', port=443): Max retries exceeded with url: / (Caused by NameResolutionError(\"<urllib3.connection.HTTPSConnection object at 0x7f>: Failed to resolve 'example.com' ([Errno -3] Temporary failure in name resolution)\"))": "example.com",
		"dial tcp 192.0.2.1:5432: connect: connection refused":                            "",
		"FAIL: expected ConnectionRefusedError: [Errno 111] Connection refused, got None": "",
	} {
		got := strings.Join(targets(judged(p, said(words))), " ")
		if got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}
