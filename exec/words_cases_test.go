package exec_test

// outputCase is one real command. Its output, as the programs printed it under the Linux
// backend, is in testdata/words.json. `go test ./exec -run TestJudgeTable -update`, as an
// ordinary user and as root, runs it again. The base folder of a case is written /home/u: ws
// is the workspace and working directory, out an existing folder of the same user beside it,
// with the file f.
type outputCase struct {
	name, script string
	// want lists the targets that must be found; none: not denied.
	want []string
	// suggest is the grant as sandbox.Grant.Lines formats it; empty: want itself, by its kind.
	suggest string
	// policy is "" for workspace-write, "ro" for read-only, "net" for
	// workspace-write with the whole network, "deny" for workspace-write where
	// /home/u/out/secret may not be read.
	policy string
	// asRoot: captured as root, who may write everything outside the sandbox.
	asRoot bool
	// assumed: not run outside the sandbox to see whether it passes there; it
	// would change the machine, or need a server.
	assumed bool
	// kept: recorded on a machine without namespaces, and not run again by -update.
	kept bool
	// miss says why the verdict is known to be wrong here.
	miss string
}

var outputCases = []outputCase{
	// Shells and coreutils, writing outside.
	{name: "bash redirect", script: `echo x > ~/out/new`, want: []string{"/home/u/out/new"}},
	{name: "bash redirect existing", script: `echo x >> ~/out/f`, want: []string{"/home/u/out/f"}},
	{name: "dash redirect", script: `sh -c 'echo x > ../out/new'`, want: []string{"/home/u/out/new"}},
	{name: "touch", script: `touch ~/out/new`, want: []string{"/home/u/out/new"}},
	{name: "touch space", script: `touch "$HOME/out/a b"`, want: []string{"/home/u/out/a b"}},
	{name: "touch quote", script: `touch "$HOME/out/it's"`, want: []string{"/home/u/out/it's"}},
	{name: "touch utf8", script: `LC_ALL=C.UTF-8 touch ~/out/ünï`, want: []string{"/home/u/out/ünï"}},
	{name: "mkdir", script: `mkdir ~/out/d`, want: []string{"/home/u/out/d"}},
	{name: "mkdir -p", script: `mkdir -p ~/out/d/e/f`, want: []string{"/home/u/out/d"}},
	{name: "mkdir utf8", script: `LC_ALL=C.UTF-8 mkdir ../out/d`, want: []string{"/home/u/out/d"}},
	{name: "cp", script: `cp a ~/out/copy`, want: []string{"/home/u/out/copy"}},
	{name: "cp over", script: `cp a ~/out/f`, want: []string{"/home/u/out/f"}},
	{name: "cp -r", script: `cp -r . ~/out/all`, want: []string{"/home/u/out/all"}},
	{name: "mv", script: `mv a ~/out/moved`, want: []string{"/home/u/out/moved"}},
	{name: "rm", script: `rm -f ~/out/f`, want: []string{"/home/u/out/f"}},
	{name: "rm -r", script: `rm -rf ~/out/dir`, want: []string{"/home/u/out/dir/g"}},
	{name: "rmdir", script: `rmdir ~/out/empty`, want: []string{"/home/u/out/empty"}},
	{name: "ln -s", script: `ln -s a ~/out/link`, want: []string{"/home/u/out/link"}},
	{name: "ln", script: `ln a ~/out/hard`, want: []string{"/home/u/out/hard"}},
	{name: "tee", script: `echo x | tee ~/out/t; exit ${PIPESTATUS[1]}`, want: []string{"/home/u/out/t"}},
	{name: "dd", script: `dd if=/dev/zero of=$HOME/out/dd count=1`, want: []string{"/home/u/out/dd"}},
	{name: "install", script: `install -m 755 a ~/out/bin`, want: []string{"/home/u/out/bin"}},
	{name: "truncate", script: `truncate -s 0 ~/out/f`, want: []string{"/home/u/out/f"}},
	{name: "sed -i", script: `sed -i s/a/b/ ~/out/f`, want: []string{"/home/u/out/sed*"}, suggest: "write /home/u/out"},
	{name: "mktemp", script: `mktemp -p ~/out`, want: []string{"/home/u/out/tmp.XXXXXXXXXX"}, suggest: "write /home/u/out"},
	{name: "patch", script: `printf -- '--- f\n+++ f\n@@ -1 +1 @@\n-f\n+g\n' | patch -d ~/out -p0`, want: []string{"/home/u/out/f"}, miss: "patch names its temporary file and not the folder it works in"},
	{name: "two files", script: `touch ~/out/one ~/out/two`, want: []string{"/home/u/out/one", "/home/u/out/two"}},
	{name: "system file", script: `echo x >> /etc/hosts`, asRoot: true, assumed: true, want: []string{"/etc/hosts"}},
	{name: "through a link", script: `echo x > link/new`, want: []string{"/home/u/out/new"}},
	{name: "read-only policy", script: `echo x > new`, policy: "ro", want: []string{"/home/u/ws/new"}},
	{name: "read-only relative", script: `touch sub/new`, policy: "ro", want: []string{"/home/u/ws/sub/new"}},
	{name: "read-only mkdir", script: `mkdir build`, policy: "ro", want: []string{"/home/u/ws/build"}},

	// Other programs, writing outside.
	{name: "python open", script: `/usr/bin/python3 -c 'import os; open(os.path.expanduser("~/out/py"), "w")'`, want: []string{"/home/u/out/py"}},
	{name: "python mkdir", script: `/usr/bin/python3 -c 'import pathlib; (pathlib.Path.home() / "out/p/q").mkdir(parents=True)'`, want: []string{"/home/u/out/p"}},
	{name: "python rename", script: `/usr/bin/python3 -c 'import os; os.rename("a", os.path.expanduser("~/out/a"))'`, want: []string{"/home/u/out/a"}},
	{name: "python shutil", script: `/usr/bin/python3 -c 'import shutil; shutil.rmtree("../out/dir")'`, want: []string{"/home/u/out/dir/g"}, miss: "rmtree names the entry alone and not its folder"},
	{name: "node write", script: `node -e 'require("fs").writeFileSync(process.env.HOME + "/out/n", "x")'`, want: []string{"/home/u/out/n"}},
	{name: "node mkdir", script: `node -e 'require("fs").mkdirSync("../out/n/m", {recursive: true})'`, want: []string{"/home/u/out/n/m"}},
	{name: "node rename", script: `node -e 'require("fs").renameSync("a", "../out/a")'`, want: []string{"/home/u/out/a"}},
	{name: "node promise", script: `node -e 'require("fs/promises").unlink("../out/f")'`, want: []string{"/home/u/out/f"}},
	{name: "perl", script: `perl -e 'open(my $f, ">", "$ENV{HOME}/out/p") or die "cannot open $ENV{HOME}/out/p: $!"'`, want: []string{"/home/u/out/p"}},
	{name: "perl unlink", script: `perl -e 'unlink "../out/f" or die "unlink ../out/f: $!\n"'`, want: []string{"/home/u/out/f"}},
	{name: "awk", script: `awk 'BEGIN { print "x" > "../out/awk" }'`, want: []string{"/home/u/out/awk"}},
	{name: "java", script: `printf 'public class W { public static void main(String[] a) throws Exception { java.nio.file.Files.writeString(java.nio.file.Path.of("../out/j"), "x"); } }' > W.java; java -Xshare:auto W.java`, want: []string{"/home/u/out/j"}},
	{name: "java io", script: `printf 'public class V { public static void main(String[] a) throws Exception { new java.io.FileOutputStream("../out/j"); } }' > V.java; java V.java`, want: []string{"/home/u/out/j"}},
	{name: "go program", script: `echo 'package main
import "os"
import "log"
func main() { if err := os.WriteFile("../out/g", nil, 0600); err != nil { log.Fatal(err) } }' > m.go; /usr/local/go/bin/go run m.go`, want: []string{"/home/u/out/g"}},
	{name: "go test", script: `mkdir -p t; cd t; printf 'module t\ngo 1.20\n' > go.mod; printf 'package t\nimport ("os"; "testing")\nfunc TestX(t *testing.T) { if err := os.Mkdir("/home/u/out/gt", 0700); err != nil { t.Fatal(err) } }' | sed "s|/home/u|$HOME|" > x_test.go; /usr/local/go/bin/go test ./...`, want: []string{"/home/u/out/gt"}},
	{name: "go cache", script: `printf 'package main\nfunc main() {}\n' > m.go; GOCACHE=$HOME/out/gocache /usr/local/go/bin/go build m.go`, want: []string{"/home/u/out/gocache"}},
	{name: "gcc", script: `echo 'int main(){return 0;}' > m.c; gcc m.c -o ../out/m`, want: []string{"/home/u/out/m"}},
	{name: "make", script: `printf 'all:\n\ttouch ../out/m\n' > Makefile; make`, want: []string{"/home/u/out/m"}},
	{name: "tar", script: `tar -cf a.tar a; tar -C ~/out -xf a.tar`, want: []string{"/home/u/out/a"}, miss: "tar names the member and not the folder it works in"},
	{name: "tar create", script: `tar -cf ../out/a.tar a`, want: []string{"/home/u/out/a.tar"}},
	{name: "zip", script: `zip -q ../out/a.zip a`, want: []string{"/home/u/out/a.zip"}},
	{name: "unzip", script: `zip -q a.zip a; unzip -d ../out/z a.zip`, want: []string{"/home/u/out/z"}},
	{name: "gzip", script: `gzip ../out/f`, want: []string{"/home/u/out/f.gz"}},
	{name: "git init", script: `git init -q ../out/repo`, want: []string{"/home/u/out/repo"}},
	{name: "git config --global", script: `git config --global user.name x`, want: []string{"/home/u/.gitconfig"}},
	{name: "git clone", script: `git init -q src; git clone -q src ../out/clone`, want: []string{"/home/u/out/clone"}},
	{name: "git commit elsewhere", script: `git -C ~/out/git add -A`, want: []string{"/home/u/out/git/.git/index.lock"}, suggest: "write /home/u/out/git/.git"},
	{name: "git worktree", script: `git init -q .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git worktree add ../out/wt`, want: []string{"/home/u/out/wt/.git"}},
	{name: "npm cache", script: `echo '{"name":"x","version":"1.0.0"}' > package.json; npm_config_cache=$HOME/out/npm npm_config_prefix=$HOME/out/prefix npm install -g --offline .`, want: []string{"/home/u/out/prefix"}},
	{name: "pip target", script: `mkdir -p p; printf 'from setuptools import setup\nsetup(name="p")\n' > p/setup.py; /usr/bin/python3 -m venv ../out/venv`, want: []string{"/home/u/out/venv"}},
	{name: "sqlite", script: `sqlite3 ../out/db 'create table t(a)'`, want: []string{"/home/u/out/db"}},
	{name: "curl -o", script: `curl -sS file://$PWD/a -o ../out/c`, want: []string{"/home/u/out/c"}, miss: "curl does not say which file"},
	{assumed: true, name: "wget -O", script: `wget -q -O ../out/w http://127.0.0.1:9/`, want: []string{"/home/u/out/w"}},
	{name: "ed", script: `ed -s ../out/new <<< $'a\nx\n.\nw\nq'`, want: []string{"/home/u/out/new"}, miss: "ed does not say which file"},
	{name: "stderr to stdout", script: `touch ../out/x 2>&1 | cat; exit ${PIPESTATUS[0]}`, want: []string{"/home/u/out/x"}},
	{name: "in a long log", script: `seq 1 3000; touch ../out/x; r=$?; seq 1 3000; exit $r`, want: []string{"/home/u/out/x"}},
	{name: "coloured", script: `touch ../out/x 2>&1 | sed "s/.*/$(printf '\033')[31m&$(printf '\033')[0m/"; exit ${PIPESTATUS[0]}`, want: []string{"/home/u/out/x"}},

	// Reading what the policy hides.
	{name: "cat secret", script: `cat ~/out/secret`, policy: "deny", want: []string{"/home/u/out/secret"}, suggest: "read /home/u/out/secret"},
	{name: "python secret", script: `/usr/bin/python3 -c 'open("../out/secret").read()'`, policy: "deny", want: []string{"/home/u/out/secret"}, suggest: "read /home/u/out/secret"},
	{name: "grep secret", script: `grep x ../out/secret`, policy: "deny", want: []string{"/home/u/out/secret"}, suggest: "read /home/u/out/secret"},

	// The network, if every network socket is denied; see also ownNetCases.
	{assumed: true, kept: true, name: "curl name", script: `curl -sS https://example.com/`, want: []string{"example.com:443"}},
	{assumed: true, kept: true, name: "curl port", script: `curl -sS http://127.0.0.1:8099/x`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, kept: true, name: "curl silent", script: `curl -s http://127.0.0.1:8099/x`, want: []string{"127.0.0.1:8099"}, miss: "it prints nothing"},
	{assumed: true, kept: true, name: "wget name", script: `wget -nv http://example.com/`, want: []string{"example.com:80"}},
	{assumed: true, kept: true, name: "wget address", script: `wget -t1 -nv http://127.0.0.1:8099/`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, kept: true, name: "git clone https", script: `git clone -q https://github.com/a/b b`, want: []string{"github.com:443"}},
	{assumed: true, kept: true, asRoot: true, name: "git clone ssh", script: `GIT_SSH_COMMAND='ssh -o StrictHostKeyChecking=no' git clone -q git@github.com:a/b b`, want: []string{"github.com:22"}},
	{assumed: true, kept: true, asRoot: true, name: "ssh", script: `ssh -o BatchMode=yes 127.0.0.1 true`, want: []string{"127.0.0.1:22"}},
	{assumed: true, kept: true, name: "python urllib", script: `/usr/bin/python3 -c 'import urllib.request; urllib.request.urlopen("http://example.com/")'`, want: []string{"example.com:80"}},
	{assumed: true, kept: true, name: "python socket", script: `/usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1", 80))'`, want: []string{"socket"}, suggest: "-"},
	{assumed: true, kept: true, name: "pip", script: `/usr/bin/python3 -m pip download --no-cache-dir --retries 1 requests`, want: []string{"socket"}, suggest: "-"},
	{assumed: true, kept: true, name: "node fetch", script: `node -e 'fetch("https://example.com/").catch(e => { console.error(e); process.exit(1) })'`, want: []string{"example.com:443"}},
	{assumed: true, kept: true, name: "node net", script: `node -e 'require("net").connect(8099, "127.0.0.1")'`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, kept: true, name: "npm", script: `npm_config_cache=$PWD/.npm npm view --fetch-retries=0 left-pad`, want: []string{"registry.npmjs.org:443"}},
	{assumed: true, kept: true, name: "node listen", script: `node -e 'require("http").createServer().listen(8099)'`, want: []string{"socket"}, suggest: "-"},
	{assumed: true, kept: true, name: "python server", script: `/usr/bin/python3 -m http.server 8099`, want: []string{"socket"}, suggest: "-"},
	{assumed: true, kept: true, name: "go dial", script: `echo 'package main
import ("fmt"; "net/http"; "os")
func main() { _, err := http.Get("https://example.com/x"); fmt.Fprintln(os.Stderr, err); os.Exit(1) }' > m.go; GODEBUG=netdns=go /usr/local/go/bin/go run m.go`, want: []string{"example.com:443"}},
	{assumed: true, kept: true, name: "go dial address", script: `echo 'package main
import ("fmt"; "net"; "os")
func main() { _, err := net.Dial("tcp", "127.0.0.1:8099"); fmt.Fprintln(os.Stderr, err); os.Exit(1) }' > m.go; /usr/local/go/bin/go run m.go`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, kept: true, name: "go get", script: `printf 'module t\ngo 1.20\n' > go.mod; GOFLAGS=-mod=mod GOMODCACHE=$PWD/.mod GOPROXY=https://proxy.golang.org GONOSUMDB=* /usr/local/go/bin/go get example.com/x@v1.0.0`, want: []string{"proxy.golang.org:443"}},
	{assumed: true, kept: true, name: "java net", script: `printf 'public class N { public static void main(String[] a) throws Exception { new java.net.URL("http://example.com/").openStream(); } }' > N.java; java N.java 2>&1`, want: []string{"example.com:80"}},
	{assumed: true, kept: true, name: "bash tcp", script: `exec 3<>/dev/tcp/127.0.0.1/8099`, want: []string{"127.0.0.1:8099"}},
	{assumed: true, kept: true, name: "perl net", script: `perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => "127.0.0.1:8099") or die "connect: $@\n"'`, want: []string{"socket"}, suggest: "-"},
	{assumed: true, kept: true, asRoot: true, name: "psql", script: `psql -h 127.0.0.1 -p 5499 -c 'select 1'`, want: []string{"127.0.0.1:5499"}},

	// System calls.
	{name: "unshare", script: `unshare -r true`, want: []string{"unshare"}, suggest: "outside the sandbox"},

	// Not denied: it would have failed, or failed, for other reasons.
	{name: "echoed words", script: `echo "Permission denied"; false`},
	{name: "echoed to stderr", script: `echo "bash: permission denied by policy" >&2; exit 1`},
	{name: "sandbox in a test", script: `echo "FAIL sandbox_test: sandbox refused the call: operation not permitted"; exit 1`},
	{name: "grep of a log", script: `printf '12:00 touch: cannot touch /etc/x: Permission denied\n' > app.log; grep -n "denied" app.log; exit 1`},
	{name: "mode 000", script: `chmod 000 a; cat a`},
	{name: "mode 444", script: `chmod 444 a; echo x > a`},
	{name: "folder 555", script: `mkdir -p ro; chmod 555 ro; touch ro/x`},
	{name: "not executable", script: `./a`},
	{name: "not executable outside", script: `~/out/f`},
	{name: "folder as a program", script: `./sub`},
	{name: "system file as a user", script: `echo x >> /etc/hosts`},
	{name: "system folder as a user", script: `touch /usr/bin/x`},
	{name: "shadow", script: `cat /etc/shadow`},
	{name: "ls root", script: `ls /root`},
	{name: "find", script: `find /root -name x`},
	{name: "kill 1", script: `kill -9 1`},
	{name: "mount", script: `mount -t tmpfs none sub`},
	{name: "chown", script: `chown root a`},
	{name: "absent", script: `cat ~/out/nothing`},
	{name: "absent folder", script: `echo x > nothing/y`},
	{name: "is a folder", script: `echo x > sub`},
	{name: "not found", script: `no-such-command`},
	{name: "exit 1", script: `exit 1`},
	{name: "exit 126", script: `exit 126`},
	{name: "exit 127", script: `exit 127`},
	{name: "signal", script: `kill -SEGV $$`},
	{name: "compile error", script: `echo 'int main({' > m.c; gcc -c m.c`},
	{name: "failing test that names a path", script: `echo 'want "open /etc/passwd: permission denied", got nil'; exit 1`},
	{name: "test title", script: `echo '  ✓ reports EACCES: permission denied, open "/home/u/out/x"'; echo '  ✗ adds'; exit 1`},
	{name: "allowed and ignored", script: `touch ~/out/x || true; exit 0`, want: nil},
	{name: "ignored, fails otherwise", script: `touch ~/out/x; cat nothing`, want: nil, miss: "nothing in the output tells which of the two mattered"},
	{name: "warning only", script: `chmod 700 .; mkdir -p ../out; git config -f ../out/gitconfig x.y z 2>&1 | sed 's/^error/warning/'; exit 1`},
	{name: "retried elsewhere", script: `mkdir ~/out/cache 2>/dev/null || mkdir cache; exit 1`},
	{name: "silent", script: `touch ~/out/x 2>/dev/null`, want: []string{"/home/u/out/x"}, miss: "it prints nothing"},
	{assumed: true, name: "connection refused", script: `curl -sS http://127.0.0.1:9/`, policy: "net"},
	{assumed: true, name: "unknown host", script: `curl -sS http://no-such-host.invalid/`, policy: "net"},
	{name: "http 404 body", script: `echo 'curl: (22) The requested URL returned error: 403'; exit 22`},
	{name: "password", script: `echo 'git@github.com: Permission denied (publickey).' >&2; exit 128`},
	{name: "database password", script: `echo 'ERROR 1045 (28000): Access denied for user root' >&2; exit 1`},
	{name: "sudo", script: `sudo -n true`},
	{name: "disk quota words", script: `echo 'write /home/u/out/x: no space left on device' >&2; exit 1`},
}
