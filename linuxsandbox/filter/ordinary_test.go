//go:build linux

package filter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/machine"
)

// TestConfinedShell is a child that installs the filter on itself and becomes bash, with the script
// in its environment.
func TestConfinedShell(t *testing.T) {
	if os.Getenv(filterChild) != "shell" {
		t.Skip("body of TestOrdinaryProgramsUnderTheFilter")
	}
	if err := confineSelf(Options{User: uint32(os.Getuid()), Group: uint32(os.Getgid())}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(125)
	}
	err := syscall.Exec("/bin/bash", []string{"bash", "-ec", os.Getenv("SCRIPT")}, os.Environ())
	fmt.Fprintln(os.Stderr, err)
	os.Exit(126)
}

// ordinary are programs as people use them, and what they must print. If a refusal is expected, the
// row has the message that the user sees.
var ordinary = []struct{ name, needs, script, want string }{
	{"pipeline", "seq", `seq 1 1000 | sort -rn | head -3 | paste -sd, | tee /dev/stderr 2>/dev/null`, "1000,999,998"},
	{"process substitution and jobs", "bash", `diff <(echo a) <(echo a) && { sleep 0 & wait $!; echo "$?"; }`, "0"},
	{"nice, ionice, setarch, timeout", "ionice", `nice -n 5 ionice -c3 timeout 99 setarch "$(uname -m)" echo low`, "low"},
	{"ulimit", "bash", `ulimit -n 100; ulimit -c 0; ulimit -n`, "100"},
	{"copy and list", "lsattr", `echo x > a; cp --reflink=auto a b; lsattr a >/dev/null 2>&1 || true; cat b`, "x"},
	{"archive", "tar", `mkdir d; echo x > d/f; tar -cf - d | gzip | tar -xzf - -O`, "x"},
	{"git", "git", `git init -q .; echo x > f; git add f; git -c user.name=n -c user.email=e commit -qm one; git clone -q . ../copy; git -C ../copy gc -q; git -C ../copy log --format=%s`, "one"},
	{"make", "make", `printf 'all: a b\n\t@cat a b\na b:\n\t@echo $@ > $@\n' > Makefile; make -sj2`, "a\nb"},
	{"perl", "perl", `perl -MSocket -e 'socketpair(A,B,AF_UNIX,SOCK_STREAM,0) or die $!; if (!fork) { send(A,"hello",0); exit } recv(B,$x,9,0); wait; print $x'`, "hello"},
	{"cc and threads", "cc", `cat > t.c <<'C'
#include <pthread.h>
#include <stdio.h>
static void *f(void *p) { *(int *)p = 7; return 0; }
int main(void) { pthread_t t; int v = 0; if (pthread_create(&t, 0, f, &v)) return 1; pthread_join(t, 0); return printf("%d\n", v) < 0; }
C
cc -pthread -o t t.c && ./t`, "7"},
	{"go build", "go", `printf 'package main\nfunc main() { c := make(chan int); go func() { c <- 7 }(); println(<-c) }\n' > main.go
printf 'module hello\ngo 1.20\n' > go.mod; GOFLAGS=-mod=mod GOTOOLCHAIN=local go build -o hello . && ./hello 2>&1`, "7"},
	{"node", "node", `node -e 'const {execFileSync, spawn} = require("child_process"); const {Worker} = require("worker_threads");
new Worker("require(\"worker_threads\").parentPort.postMessage(execd)".replace("execd", JSON.stringify(String(execFileSync("echo", ["a"])).trim())), {eval: true})
.on("message", m => spawn("cat", {stdio: ["pipe", "inherit", "inherit"]}).stdin.end(m))'`, "a"},
	{"python asyncio", "python3", `python3 - <<'P'
import asyncio, socket
async def main():
    p = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate(b"through cat ")
    a, b = socket.socketpair()
    reader, _ = await asyncio.open_connection(sock=a)
    b.send(b"through a pair"); b.close()
    print((out + await reader.read()).decode(), await asyncio.to_thread(lambda: 7))
asyncio.run(main())
P`, "through cat through a pair 7"},
	{"python multiprocessing", "python3", `python3 - <<'P'
import multiprocessing as m
from concurrent.futures import ProcessPoolExecutor
if __name__ == "__main__":
    m.set_start_method("fork")
    with m.Pool(2) as p: a = sum(p.map(abs, range(-10, 0)))
    with ProcessPoolExecutor(2) as e: b = sum(e.map(abs, range(-10, 0)))
    print(a, b)
P`, "55 55"},
	{"python sqlite", "python3", `python3 -c 'import sqlite3; c = sqlite3.connect("x.db"); c.execute("create table t(a)"); c.execute("insert into t values (7)"); c.commit(); print(*c.execute("select a from t").fetchone())'`, "7"},
	{"refused: bash", "bash", `(exec 3<>/dev/tcp/127.0.0.1/9) 2>&1 | grep -o 'Operation not permitted' | head -1`, "Operation not permitted"},
	{"refused: python", "python3", `python3 -c 'import socket; socket.create_connection(("127.0.0.1", 9))' 2>&1 | tail -1`, "PermissionError: [Errno 1] Operation not permitted"},
	{"refused: node", "node", `node -e 'require("net").connect(9, "127.0.0.1").on("error", e => console.log(e.code))'`, "EPERM"},
	{"refused: unshare", "unshare", `unshare -U true 2>&1`, "unshare: unshare failed: Operation not permitted"},
	{"refused: renice of another process", "renice", `renice -n 5 -p 1 2>&1 | grep -o 'Operation not permitted'`, "Operation not permitted"},
}

// TestOrdinaryProgramsUnderTheFilter: programs of everyday use work.
func TestOrdinaryProgramsUnderTheFilter(t *testing.T) {
	for _, row := range ordinary {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(row.needs); err != nil {
				if machine.Thorough() { // where all programs are installed
					t.Fatalf("%s is not installed", row.needs)
				}
				t.Skipf("%s is not installed", row.needs)
			}
			dir := filepath.Join(t.TempDir(), "work")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestConfinedShell$")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), filterChild+"=shell", "SCRIPT="+row.script)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if got := strings.TrimSpace(string(out)); got != row.want {
				t.Errorf("printed %q, want %q (%v)\n%s", got, row.want, err, stderr.String())
			}
		})
	}
}
