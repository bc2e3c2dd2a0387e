package exec_test

// corpusIgnored are denied something that they can do without, and then fail for another
// reason, or fail at something that would have failed anyway.
var corpusIgnored = []corpusRow{
	{script: `./up.js; ./down`, needs: "node", setup: `printf '#!/usr/bin/env node\nrequire("fs").writeFileSync(process.env.OUT + "/up", "x")\n' >up.js; printf '#!/bin/sh\nexec cat missing\n' >down; chmod +x up.js down`},
	{script: `./up && ls`, setup: `printf '#!/bin/sh\ntouch $OUT/up 2>/dev/null\nexec cat missing\n' >up; chmod +x up`},
	{script: `touch $OUT/x 2>/dev/null; false`},
	{script: `touch $OUT/x; false`},
	{script: `echo x >$OUT/x; cat missing`},
	{script: `mkdir -p $OUT/cache 2>/dev/null || true; grep -q nothing a`},
	{script: `touch $OUT/x || :; exit 3`},
	{script: `cp a $OUT/x || echo "no copy"; ls missing-file`},
	{script: `for f in 1 2 3; do touch $OUT/$f; done; test -d missing`},
	{script: `touch $OUT/x 2>&1 | cat; exit 4`},
	{script: `echo x | tee $OUT/log | grep -q y`},
	{script: `set +e; rm $OUT/f; mv missing elsewhere`},
	{script: `chmod 600 $OUT/f; cmp a b`},
	{script: `rm -f $OUT/f; diff a b`},
	{script: `if touch $OUT/stamp 2>/dev/null; then echo stamped; fi; test a = b`},
	{script: `(touch $OUT/x); python3 -c 'raise SystemExit(3)'`, needs: "python3"},
	{script: `python3 -c 'import os, sys
try: open(os.environ["OUT"] + "/cache", "w").close()
except OSError as e: print("no cache:", e)
sys.exit(3)'`, needs: "python3"},
	{script: `python3 -c 'import os
try: os.makedirs(os.environ["HOME"] + "/.cache/tool")
except PermissionError: pass
assert 1 == 2'`, needs: "python3"},
	{script: `python3 -c 'import os, urllib.request
try: urllib.request.urlopen("http://127.0.0.1:" + os.environ["PORT"]).read()
except OSError: pass
int("x")'`, needs: "python3"},
	{script: `node -e 'try { require("fs").writeFileSync(process.env.OUT + "/n", "x") } catch { console.log("no cache") } ; process.exit(7)'`, needs: "node"},
	{script: `node -e 'require("fs").mkdir(process.env.HOME + "/.cache", () => { throw new Error("tests failed") })'`, needs: "node"},
	{script: `node -e 'fetch("http://127.0.0.1:" + process.env.PORT).catch(() => 0).then(() => { require("assert").strictEqual(1, 2) })'`, needs: "node"},
	{script: `perl -e 'open(my $f, ">", "$ENV{OUT}/p"); die "2 tests failed\n"'`, needs: "perl"},
	{script: `perl -e 'mkdir "$ENV{HOME}/.tool"; open(my $f, "<", "absent") or die "absent: $!\n"'`, needs: "perl"},
	{script: `make all`, needs: "make", setup: `printf 'all:\n\t-touch $(OUT)/m\n\tfalse\n' >Makefile`},
	{script: `make -i first; make second`, needs: "make", setup: `printf 'first:\n\ttouch $(OUT)/m\nsecond:\n\tgrep -q nothing a\n' >Makefile`},
	{script: `make test`, needs: "make", setup: `printf 'test: stamp\n\ttest -f result\nstamp:\n\t-@touch $(OUT)/stamp 2>/dev/null\n' >Makefile`},
	{script: `curl -s http://127.0.0.1:$PORT/ -o page; grep -q nothing a`, needs: "curl"},
	{script: `curl -s http://127.0.0.1:$PORT/ || true; exit 5`, needs: "curl"},
	{script: `wget -q -O /dev/null http://127.0.0.1:$PORT/ || echo offline; false`, needs: "wget"},
	{script: `git config --global user.name dev; git rev-parse --verify nothing`, needs: "git", setup: `git init -q`},
	{script: `git -C $OUT init -q; git log`, needs: "git", setup: `git init -q`},
	{script: `sqlite3 $OUT/db 'create table t(a)'; sqlite3 db 'select * from missing'`, needs: "sqlite3"},
	{script: `touch $OUT/x && echo done; exit 6`},
	{script: `touch $OUT/x & wait; test -e missing`},
	{script: `trap 'rm -f $OUT/f' EXIT; grep -q nothing a`},
	{script: `echo start >>$OUT/f; go vet m.go`, needs: "go", setup: `printf 'package main\nfunc main() { x }\n' >m.go`},
	{script: `! true; touch $OUT/x 2>/dev/null; [ 1 = 2 ]`},
	{script: `while read -r n; do echo $n >>$OUT/f; done <<<$'1\n2'; exit 8`},
	{script: `ssh-keygen -q -t ed25519 -N '' -f $OUT/key; ssh-keygen -l -f a`, root: true, needs: "ssh-keygen"},
	{script: `cp a $OUT/x; gcc m.c`, needs: "gcc", setup: `echo 'int main(void) { return 0 }' >m.c`},
	{script: `exec 2>&1; touch $OUT/x; tar -xf missing.tar`},
	// What worked for long after a refusal went on without it.
	{script: `python3 -c 'import os, sys
try: open(os.environ["OUT"] + "/cache", "w").close()
except OSError: pass
sum(i * i for i in range(2000000))
sys.exit("2 tests failed")'`, needs: "python3"},
	{script: `node -e 'try { require("fs").mkdirSync(process.env.HOME + "/.tool") } catch {}
for (let i = 0, a = {}; i < 3e6; i++) a["k" + i % 1000] = i; throw new Error("1 of 7 tests")'`, needs: "node"},
	{script: `python3 -c 'import os, urllib.request
try: urllib.request.urlopen("http://localhost:" + os.environ["PORT"]).read()
except OSError: pass
sum(i * i for i in range(4000000))
print("FAILED (failures=1)"); raise SystemExit(1)'`, needs: "python3"},
	{script: `perl -e 'mkdir "$ENV{OUT}/seen"; $x += $_ for 1 .. 2e6; die "not ok 3\n"'`, needs: "perl"},
	{script: `npm config set a=b; npm run missing`, needs: "npm", setup: `echo '{"name":"x","version":"1.0.0"}' >package.json`},
}

// corpusAlike only look as if they were denied something.
var corpusAlike = []corpusRow{
	{script: `echo "touch: cannot touch '/etc/x': Permission denied"; exit 1`},
	{script: `echo "bash: /etc/passwd: Permission denied" >&2; exit 1`},
	{script: `echo "sandbox: write to $OUT/x refused: Operation not permitted" >&2; false`},
	{script: `cat app.log; false`},
	{script: `cat app.log >&2; exit 2`},
	{script: `grep -rn "denied" . && false`},
	{script: `grep -h "Permission denied" app.log; test -f missing`},
	{script: `tail -n 1 app.log; exit 1`},
	{script: `head -n 2 app.log; cmp a b`},
	{script: `printf 'seccomp: bad system call\n' >&2; exit 159`},
	{script: `echo "curl: (7) Failed to connect to 127.0.0.1 port $PORT after 0 ms: Connection refused"; exit 7`},
	{script: `echo "mkdir: cannot create directory '$OUT/d': Permission denied" >&2; exit 1`},
	{script: `echo "rm: cannot remove '$OUT/f': Read-only file system" >&2; exit 1`},
	{script: `cd $OUT; echo "touch: cannot touch 'x': Permission denied" >&2; exit 1`},
	{script: `python3 -c 'raise PermissionError(13, "Permission denied", "/etc/hosts")'`, needs: "python3"},
	{script: `python3 -c 'import os; raise PermissionError(13, "Permission denied", os.environ["OUT"] + "/x")'`, needs: "python3"},
	{script: `python3 -c 'import unittest
class T(unittest.TestCase):
  def test(self): self.assertEqual("Permission denied", "permission denied: sandbox")
unittest.main()'`, needs: "python3"},
	{script: `python3 -c 'import sys; sys.exit("Zugriff verweigert: /etc/hosts (Permission denied)")'`, needs: "python3"},
	{script: `node -e 'throw Object.assign(new Error("EACCES: permission denied, open " + process.env.OUT), {code: "EACCES"})'`, needs: "node"},
	{script: `node -e 'console.error("not ok 1 - sandbox refuses writes\n  Error: EPERM: operation not permitted"); process.exit(1)'`, needs: "node"},
	{script: `perl -e '$! = 13; die "open $ENV{OUT}/x: $!\n"'`, needs: "perl"},
	{script: `perl -e 'warn "Operation not permitted at line 3\n"; exit 255'`, needs: "perl"},
	{script: `make`, needs: "make", setup: `printf 'all:\n\t@echo "cp: cannot create regular file: Permission denied" >&2; exit 1\n' >Makefile`},
	{script: `git -C repo log --oneline && git -C repo diff --exit-code HEAD~1`, needs: "git", setup: `git init -q repo; cd repo; echo x >f; git add f; git commit -q -m 'fix: permission denied in sandbox'; echo y >f; git commit -qam 'seccomp: Operation not permitted'`},
	{script: `curl -sS --fail-with-body file://$WS/app.log; exit 3`, needs: "curl"},
	{script: `curl -sS http://127.0.0.1:$FREE/`, needs: "curl"},
	{script: `(exec 3<>/dev/tcp/127.0.0.1/$FREE)`},
	{script: `python3 -c 'import os, urllib.request; urllib.request.urlopen("http://127.0.0.1:" + os.environ["FREE"])'`, needs: "python3"},
	{script: `node -e 'fetch("http://localhost:" + process.env.FREE).catch(e => { console.error(String(e.cause)); process.exit(1) })'`, needs: "node"},
	{script: `go test ./...`, needs: "go", setup: `printf 'module m\ngo 1.21\n' >go.mod; printf 'package m\nimport "testing"\nfunc TestX(t *testing.T) { t.Fatal("open /etc/x: permission denied") }\n' >m_test.go`},
	{script: `diff app.log a`},
	{script: `sed -n /denied/p app.log; grep -q nothing a`},
	{script: `awk '/seccomp/ { print; exit 1 }' app.log`},
	{script: `jq . app.log; grep sandbox app.log >&2; exit 5`, needs: "jq"},
	{script: `cat $OUT/notes; test -f missing`, setup: `echo "mkdir: cannot create directory '/srv/x': Permission denied" >$OUT/notes`},
	{script: `bash -c 'echo "tee: /etc/x: Permission denied" >&2; exit 3'`},
	{script: `tclsh fail.tcl`, needs: "tclsh", setup: `echo 'puts stderr "couldn\x27t open \"/etc/x\": permission denied"; exit 2' >fail.tcl`},
	{script: `cat locked`, user: true, setup: `echo x >locked; chmod 000 locked`},
	{script: `ls closed`, user: true, setup: `mkdir closed; chmod 000 closed`},
	{script: `echo x >locked`, user: true, setup: `echo x >locked; chmod 444 locked`},
	{script: `touch closed/x`, user: true, setup: `mkdir closed; chmod 555 closed`},
	{script: `./noexec.sh`, setup: `echo 'echo hi' >noexec.sh; chmod 644 noexec.sh`},
	{script: `rm -rf closed`, user: true, setup: `mkdir closed; touch closed/x; chmod 555 closed`},
	{script: `echo x >>/etc/hosts`, user: true},
	{script: `mkdir /usr/share/x`, user: true},
	{script: `touch /usr/bin/x 2>&1; exit 1`, user: true},
	{script: `python3 -c 'open("/etc/hosts", "a")'`, user: true, needs: "python3"},
	{script: `node -e 'require("fs").writeFileSync("/etc/x", "")'`, user: true, needs: "node"},
	{script: `chown 0 a`, user: true},
	{script: `kill -0 1`, user: true},
	{script: `cat /etc/shadow`, user: true},
	{script: `chmod 600 /etc/passwd`, user: true},
	{script: `cat $OUT/locked`, user: true, setup: `echo x >$OUT/locked; chmod 000 $OUT/locked`},
	{script: `echo x >$OUT/locked`, user: true, setup: `echo x >$OUT/locked; chmod 444 $OUT/locked`},
	{script: `touch $OUT/closed/x`, user: true, setup: `mkdir $OUT/closed; chmod 555 $OUT/closed`},
	{script: `rm -f $OUT/closed/x`, user: true, setup: `mkdir $OUT/closed; touch $OUT/closed/x; chmod 555 $OUT/closed`},
	{script: `(trap '' PIPE; echo x) | true; echo 'Operation not permitted'; exit 126`},
}

// corpusPlain fail or succeed for reasons unrelated to the sandbox.
var corpusPlain = []corpusRow{
	{script: `false`},
	{script: `exit 2`},
	{script: `exit 126`},
	{script: `exit 127`},
	{script: `no-such-program-here`},
	{script: `cat missing`},
	{script: `kill -9 $$`},
	{script: `python3 -c 'import missing_module'`, needs: "python3"},
	{script: `python3 -c 'print('`, needs: "python3"},
	{script: `node missing.js`, needs: "node"},
	{script: `gcc missing.c`, needs: "gcc"},
	{script: `make missing`, needs: "make"},
	{script: `git rev-parse HEAD`, needs: "git"},
	{script: `mkdir sub`},
	{script: `mkdir $OUT/dir`},
	{script: `rmdir $OUT/dir`},
	{script: `rm $OUT/missing`},
	{script: `cat $OUT/missing/x`},
	{script: `touch $OUT/missing/x`},
	{script: `mv $OUT/missing b`},
	{script: `ln -s a $OUT/f`},
	{script: `set -C; echo x >$OUT/f`},
	{script: `echo x >$OUT/dir`},
	{script: `getent hosts absent.invalid`, needs: "getent"},
	{script: `curl -sS http://absent.invalid/`, needs: "curl"},
	{script: `git commit -q -m x`, needs: "git", setup: `git init -q`},
	{script: `true`},
	{script: `echo x >new && cat new`},
	{script: `cat $OUT/f`},
	{script: `touch $OUT/x 2>/dev/null; true`},
	{script: `cp a $OUT/x || cp a x`},
	{script: `git init -q && git add . && git commit -q -m x && git log --oneline`, needs: "git"},
	{script: `python3 -c 'import socket
a = socket.create_server(("127.0.0.1", 0)); b = socket.create_connection(a.getsockname()); c, _ = a.accept(); c.send(b"x"); assert b.recv(1) == b"x"'`, needs: "python3"},
	{script: `node -e 'const s = require("net").createServer(c => c.end("x")).listen(0, "127.0.0.1", () => require("net").connect(s.address().port, "127.0.0.1").on("data", () => process.exit(0)))'`, needs: "node"},
	{script: `sqlite3 db 'create table t(a); insert into t values (1); select * from t'`, needs: "sqlite3"},
	{script: `ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -l -f key`, root: true, needs: "ssh-keygen"},
	{script: `set -e; python3 -c 'import os
try: os.mkdir(os.environ["OUT"] + "/d")
except OSError: os.mkdir("d")
'; cp a b`, needs: "python3"},
	{script: `curl -sf http://127.0.0.1:$PORT/ || echo offline`, needs: "curl"},
}
