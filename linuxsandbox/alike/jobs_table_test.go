//go:build linux

package alike

import "slices"

// jobs is the complete table.
var jobs = slices.Concat(gitJobs, buildJobs, nodeJobs, pythonJobs, shellJobs, systemJobs, socketJobs, networkJobs)

// repo creates a repository with one commit.
const repo = "git init -q .; echo one > a; git add a; git commit -qm one; "

var gitJobs = []job{
	{name: "git commit", needs: "git", script: repo + "echo two >> a; git add -A; git commit -qm two; git log --oneline | wc -l", says: "2"},
	{name: "git status and diff", needs: "git", script: repo + "echo two >> a; git status --porcelain; git diff --stat", says: "1 insertion"},
	{name: "git branch and merge", needs: "git", script: repo + "git checkout -qb side; echo s > s; git add s; git commit -qm s; git checkout -q main; echo m > m; git add m; git commit -qm m; git merge -q --no-edit side; test -f s; git log --merges --oneline | wc -l", says: "1"},
	{name: "git rebase", needs: "git", script: repo + "git checkout -qb side; echo s > s; git add s; git commit -qm s; git checkout -q main; echo m > m; git add m; git commit -qm m; git rebase -q main side; git log --format=%s", says: "s\nm\none"},
	{name: "git rebase with autosquash", needs: "git", script: repo + "echo b > b; git add b; git commit -qm b; echo c >> b; git commit -qa --fixup HEAD; GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~2; git log --oneline | wc -l", says: "2"},
	{name: "git stash", needs: "git", script: repo + "echo two >> a; git stash -q; git diff --quiet; git stash pop -q; ! git diff --quiet"},
	{name: "git gc and fsck", needs: "git", script: repo + "git gc -q --prune=now; git fsck --strict; ls .git/objects/pack", says: ".pack"},
	{name: "git worktree", needs: "git", script: repo + "git worktree add -q ../ws/tree -b side; cd tree; echo x > x; git add x; git commit -qm x; cd ..; git worktree remove tree; git log --oneline side | wc -l", says: "2"},
	{name: "git submodule", needs: "git", script: "mkdir lib app; cd lib; " + repo + "cd ../app; " + repo + "git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub; git submodule status", says: " sub (heads/main)"},
	{name: "nested repository", needs: "git", script: repo + "mkdir in; cd in; " + repo + "git config user.name me; echo x >> a; git commit -qam x; cd ..; git status --porcelain", says: "?? in/"},
	{name: "git clone of a local path", needs: "git", script: "mkdir lib; cd lib; " + repo + "cd ..; git clone -q lib copy; git -C copy log --oneline; git clone -q --bare lib bare.git; git -C copy push -q ../bare.git HEAD:refs/heads/new; git -C bare.git branch", says: "new"},
	{name: "git tag and describe", needs: "git", script: repo + "git tag -a v1 -m v1; git describe", says: "v1"},
	{name: "git bundle", needs: "git", script: repo + "git bundle create -q all.bundle --all; git clone -q all.bundle copy; cat copy/a", says: "one"},
	{name: "git hooks of a new repository", needs: "git", script: repo + "printf '#!/bin/sh\\necho hooked\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git commit -q --allow-empty -m x", says: "hooked"},
	{name: "git apply and cherry-pick", needs: "git", script: repo + "git checkout -qb side; echo s > s; git add s; git commit -qm s; git format-patch -q -1; git checkout -q main; git am -q 0001-s.patch; git checkout -qb other HEAD~1; git cherry-pick side >/dev/null; cat s", says: "s"},
	{name: "git archive and grep", needs: "git tar", script: repo + "git archive HEAD | tar t; git grep -n one", says: "a:1:one"},
}

const goProgram = `printf 'package main\n\nimport "fmt"\n\nfunc Add(a, b int) int { return a + b }\n\nfunc main() { fmt.Println("sum", Add(1, 2)) }\n' > main.go; `

var buildJobs = []job{
	{name: "go mod init and gofmt", needs: "go gofmt", script: "go mod init example.org/x 2>/dev/null; " + goProgram + "gofmt -l .; go list -m; go env GOMOD", says: "example.org/x"},
	{name: "go build, vet and test", needs: "go", slow: true, script: "go mod init example.org/x 2>/dev/null; " + goProgram +
		`printf 'package main\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n' > main_test.go; ` +
		"go vet .; go test .; CGO_ENABLED=0 go build -o x .; ./x", says: "sum 3"},
	{name: "gcc", needs: "gcc", script: `printf '#include <stdio.h>\nint main(void){puts("built");return 0;}\n' > a.c; gcc -O1 -o a a.c; ./a`, says: "built"},
	{name: "gcc with a library", needs: "gcc ar", script: `printf 'int f(void){return 7;}\n' > f.c; printf 'int f(void);int main(void){return f()-7;}\n' > m.c; gcc -c f.c; ar rcs libf.a f.o; gcc -shared -fPIC -o libf.so f.c; gcc -o m m.c -L. -lf -Wl,-rpath,"$PWD"; ./m`},
	{name: "sanitizers", needs: "gcc", layer: "notify", why: noTracing, script: `printf '#include <stdlib.h>\nint main(int n, char **v){if (n == 1) free(malloc(9)); else malloc(9); return 0;}\n' > a.c; gcc -g -O0 -fsanitize=address,undefined -o a a.c; ./a; ! ./a leak 2> err; grep -o "detected memory leaks" err`, says: "detected memory leaks"},
	{name: "gdb", needs: "gcc gdb", layer: "notify", why: noTracing, script: `printf 'int two(int n){return 2*n;}\nint main(void){return two(21)-42;}\n' > a.c; gcc -g -O0 -o a a.c; gdb -nx -batch -ex 'break two' -ex run -ex bt -ex finish -ex continue ./a`, says: "exited normally"},
	{name: "strace", needs: "strace gcc", layer: "notify", why: noTracing, script: `strace -f -o trace sh -c 'cat a 2>/dev/null; true | cat'; grep execve trace`, says: "execve"},
	{name: "strace of what runs", needs: "strace python3", layer: "notify", why: noTracing, script: letsTrace + `strace -o late -p $traced 2>said & tracer=$!; ` +
		`until grep -q attached said; do kill -0 $tracer; sleep 0.01; done; kill $traced; wait; grep -o "killed by SIGTERM" late`, says: "killed by SIGTERM"},
	{name: "make", needs: "make", script: `printf 'all: x y\nx y:\n\techo $@ > $@\nclean:\n\trm -f x y\n' > Makefile; make -j4 >/dev/null; cat x y; make clean; test ! -e x`, says: "y"},
	{name: "build tree with renames across folders", needs: "mv ln", script: `mkdir -p target/debug/deps target/debug/incremental/x-working target/tmp; echo o > target/tmp/x.o; mv target/tmp/x.o target/debug/deps/x.o; ln target/debug/deps/x.o target/debug/x; mv target/debug/incremental/x-working target/debug/incremental/x-done; mkdir other; mv target/debug/incremental/x-done other/; mv -f other target/; cat target/debug/x; test -d target/other/x-done; rm -rf target`, says: "o"},
	{name: "rename from the temporary folder", needs: "mv mktemp", script: `f=$(mktemp); echo t > "$f"; mv "$f" ./t; d=$(mktemp -d); echo u > "$d/u"; mv "$d" ./d; cat t d/u`, says: "u"},
	{name: "cargo build", needs: "cargo", optional: true, slow: true, script: "export CARGO_HOME=$TMPDIR/cargo; cargo init -q --vcs none --name x .; cargo build -q --offline; ./target/debug/x", says: "Hello"},
}

// letsTrace starts a process that lets any other trace it, also where Yama
// allows ancestors alone (PR_SET_PTRACER of prctl(2)).
const letsTrace = `python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0); open("ready", "w").close(); time.sleep(100)' & traced=$!; ` +
	`until test -e ready; do sleep 0.01; done; `

const noTracing = "without a broker the keeper could become a tracer"

var nodeJobs = []job{
	{name: "node fs", needs: "node", script: `node -e 'const fs=require("fs");fs.mkdirSync("d/e",{recursive:true});fs.writeFileSync("d/e/f","x");fs.renameSync("d/e/f","d/g");fs.copyFileSync("d/g","h");fs.rmSync("d",{recursive:true});console.log(fs.readFileSync("h","utf8"))'`, says: "x"},
	{name: "node child_process", needs: "node", script: `node -e 'const c=require("child_process");console.log(c.execSync("echo from-child").toString());const p=c.fork("-e",{execArgv:["-e","process.send(process.pid>0)"]});p.on("message",m=>console.log("ipc",m))'`, says: "from-child"},
	{name: "node worker_threads", needs: "node", script: `node -e 'const {Worker}=require("worker_threads");new Worker("require(\"worker_threads\").parentPort.postMessage(6*7)",{eval:true}).on("message",m=>console.log("worker",m))'`, says: "worker 42"},
	{name: "node promises and timers", needs: "node", script: `node --input-type=module -e 'import fs from "node:fs/promises";await fs.writeFile("a","1");const w=await Promise.all([1,2,3].map(async i=>{await new Promise(r=>setTimeout(r,1));return i}));console.log("sum",w.reduce((a,b)=>a+b))'`, says: "sum 6"},
	{name: "npm init and pack", needs: "npm", script: "npm init -y >/dev/null; npm pack --offline 2>/dev/null; ls", says: "ws-1.0.0.tgz"},
	{name: "npm install of a local folder", needs: "npm", slow: true, script: `mkdir dep; (cd dep; npm init -y >/dev/null; echo 'module.exports=41+1' > index.js); npm init -y >/dev/null; npm install --offline ./dep >/dev/null; node -e 'console.log("dep", require("dep"))'`, says: "dep 42"},
	{name: "npm run", needs: "npm", script: `npm init -y >/dev/null; npm pkg set scripts.hello='echo said $npm_lifecycle_event'; npm run -s hello`, says: "said hello"},
}

const noShm = "POSIX semaphores are files in /dev/shm, which is the whole machine's without a private one"

var pythonJobs = []job{
	{name: "python venv", needs: "python3", script: `python3 -m venv --without-pip v; . v/bin/activate; python -c 'import sys;print("prefix", sys.prefix)'`, says: "/v"},
	{name: "python venv with pip", needs: "python3", slow: true, script: `python3 -m venv v; mkdir mine-1.dist-info; cd mine-1.dist-info; : > RECORD
printf 'Metadata-Version: 2.1\nName: mine\nVersion: 1\n' > METADATA; printf 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n' > WHEEL
cd ..; echo 'x = 42' > mine.py; python3 -m zipfile -c mine-1-py3-none-any.whl mine.py mine-1.dist-info; rm mine.py
v/bin/pip install -q --no-index --disable-pip-version-check ./mine-1-py3-none-any.whl; v/bin/python -c 'import mine; print("mine", mine.x)'`, says: "mine 42"},
	{name: "python asyncio", needs: "python3", script: `python3 -c '
import asyncio
async def one(i):
    await asyncio.sleep(0); return i
async def main():
    p = await asyncio.create_subprocess_exec("echo", "sub", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
    print(out.decode().strip(), sum(await asyncio.gather(*map(one, range(5)))))
asyncio.run(main())'`, says: "sub 10"},
	{name: "python multiprocessing", needs: "python3", layer: "mountns", why: noShm, script: `python3 -c '
import multiprocessing as m
def f(x): return x * x
if __name__ == "__main__":
    with m.get_context("fork").Pool(2) as p: print("squares", p.map(f, [1, 2, 3]))'`, says: "squares [1, 4, 9]"},
	{name: "python multiprocessing over pipes", needs: "python3", script: `python3 -c '
import multiprocessing as m
def f(end): end.send(sum(end.recv())); end.close()
if __name__ == "__main__":
    c = m.get_context("fork"); a, b = c.Pipe(); p = c.Process(target=f, args=(b,)); p.start(); a.send([1, 2, 3]); print("sum", a.recv()); p.join()'`, says: "sum 6"},
	{name: "python subprocess and threads", needs: "python3", script: `python3 -c '
import subprocess, concurrent.futures as c
with c.ThreadPoolExecutor(4) as e: print(list(e.map(lambda i: subprocess.run(["expr", str(i), "+", "1"], capture_output=True, text=True).stdout.strip(), range(4))))'`, says: "['1', '2', '3', '4']"},
	{name: "python sqlite3", needs: "python3", script: `python3 -c '
import sqlite3
d = sqlite3.connect("x.db"); d.execute("pragma journal_mode=wal"); d.execute("create table t(a)"); d.executemany("insert into t values(?)", [(i,) for i in range(9)]); d.commit()
print("rows", sqlite3.connect("x.db").execute("select count(*) from t").fetchone()[0])'`, says: "rows 9"},
	{name: "python tempfile", needs: "python3", script: `python3 -c '
import tempfile, shutil
with tempfile.NamedTemporaryFile() as f, tempfile.TemporaryDirectory() as d, tempfile.TemporaryFile() as g:
    g.write(b"x"); shutil.copy(f.name, d); print("ok")'`, says: "ok"},
	{name: "python ssl and zoneinfo", needs: "python3", script: `python3 -c '
import ssl, hashlib, pwd, os, locale
ssl.create_default_context(); print("ssl", hashlib.sha256(b"").hexdigest()[:4], len(os.urandom(8)))'`, says: "ssl e3b0 8"},
	{name: "python unittest", needs: "python3", script: `printf 'import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n' > test_x.py; python3 -m unittest -q 2>&1`, says: "OK"},
	{name: "python pty", needs: "python3", layer: "mountns", why: "the machine's terminals are all in /dev/pts without a private one", script: `python3 -c '
import pty, os
m, s = pty.openpty(); os.write(s, b"terminal"); print(os.read(m, 99).decode())'`, says: "terminal"},
}
