package conversation

import (
	"os"
	"testing"

	"codeagent/internal/machine"
)

// TestNeedless runs ordinary jobs that need nothing beyond the sandbox, in a home folder that other programs have used: all succeed, with at
// most one question over the whole table. Outside CI this is a sample.
func TestNeedless(t *testing.T) { inStages(t, "TestNeedlessJobs", 2) }

// TestNeedlessJobs is the body of TestNeedless, in a process of its user.
func TestNeedlessJobs(t *testing.T) {
	stage := stageOf(t, "TestNeedless")
	if len(needlessJobs) < 60 {
		t.Errorf("%d jobs are too few", len(needlessJobs))
	}
	bash(t, onceEnv(stage, stage+"/lived/home", "", "http://127.0.0.1:1"), stage, livedIn)
	jobs := jobsHere(t, needlessJobs, machine.SampleOf(t, 12, os.Geteuid() != 0))
	questions, tried := inOneSession(t, stage+"/lived", true, jobs)
	if t.Logf("%d questions in %d jobs", questions, tried); questions > 1 {
		t.Errorf("%d questions", questions)
	}
}

const (
	cmakeProject = cProgram + `; printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nenable_testing()\nadd_executable(p main.c f.c)\nadd_test(runs p)\n' > CMakeLists.txt`
	words        = `for i in 3 1 2; do echo "word $i" > $i.txt; done`
	pythonServer = `python3 -m http.server $P --bind 127.0.0.1 >log 2>&1 & until curl -sf http://127.0.0.1:$P/ >/dev/null; do sleep 0.05; done`
)

var needlessJobs = []job{
	{name: "cmake, ninja and ctest", needs: "ninja", setup: cmakeProject, script: "cmake -G Ninja -S . -B build >/dev/null && cmake --build build && ctest --test-dir build", want: "100% tests passed"},
	{name: "cmake with make, and install below", needs: "cmake", setup: cmakeProject + "; echo 'install(TARGETS p)' >> CMakeLists.txt", script: "cmake -S . -B b && make -C b && cmake --install b --prefix $PWD/inst && inst/bin/p", want: "42"},
	{name: "meson", needs: "meson", setup: cProgram + `; printf "project('p', 'c')\nexecutable('p', 'main.c', 'f.c')\n" > meson.build`, script: "meson setup b && meson compile -C b && b/p", want: "42"},
	{name: "autoconf and configure", needs: "autoconf", setup: cProgram + `; printf 'AC_INIT([p],[1])\nAC_PROG_CC\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n' > configure.ac; printf 'p: main.c f.c\n\t@CC@ -o p main.c f.c\n' > Makefile.in`, script: "autoconf && ./configure && make && ./p", want: "42"},
	{name: "g++ with a map file", needs: "g++", script: `printf '#include <vector>\n#include <iostream>\nint main() { std::vector<int> v(42); std::cout << v.size() << "\\n"; }\n' > m.cc && g++ -O1 -Wl,-Map=m.map m.cc -o m && ./m && ls m.map`, want: "42"},
	{name: "a shared library", needs: "gcc", setup: cProgram, script: "gcc -shared -fPIC f.c -o libf.so && gcc main.c -L. -lf -Wl,-rpath,$PWD -o p && ./p && ldd p", want: "42"},
	{name: "gcov", needs: "gcov", setup: cProgram, script: "gcc --coverage main.c f.c -o p && ./p && gcov p-main.gcda && ls *.gcov", want: "main.c.gcov"},
	{name: "make in parallel with subfolders", needs: "make", setup: `for d in x y; do mkdir $d; printf 'all:\n\techo built $(CURDIR) > out\n' > $d/Makefile; done; printf 'all: x y\n.PHONY: x y\nx y:\n\t$(MAKE) -C $@\n' > Makefile`, script: "make -j4 && cat x/out y/out && make -q || true", want: "built"},
	{name: "m4 and a generated header", needs: "m4", setup: `printf 'define(N,42)\nint n = N;\n' > n.m4`, script: "m4 n.m4 > n.h && cat n.h", want: "int n = 42"},
	{name: "ctags", needs: "ctags", setup: cProgram, script: "ctags -R . && grep '^main' tags", want: "main.c"},
	{name: "cscope", needs: "cscope", setup: cProgram, script: "cscope -bR && cscope -dL1 f", want: "f.c"},
	{name: "gdb of a crash", needs: "gdb", script: `printf 'int main(void) { *(volatile int *)0 = 1; }\n' > c.c && gcc -g c.c -o c && gdb -batch -ex run -ex bt ./c`, want: "SIGSEGV"},
	{name: "strace", needs: "strace", script: "strace -f -e trace=openat -o trace cat /etc/hostname && grep -c openat trace", want: ""},

	{name: "go test as JSON", needs: "go", setup: goModule, script: "go test -count=1 -json ./... | tail -1", want: "pass", slow: true},
	{name: "go build with flags and run", needs: "go", setup: goModule, script: "go build -trimpath -ldflags=-s -o bin/m . && bin/m && go version -m bin/m", want: "trimpath", slow: true},
	{name: "go workspace", needs: "go", setup: "mkdir a && cd a && " + goModule, script: "go work init ./a && go build ./a && go work sync && cat go.work", want: "use ./a"},
	{name: "go mod edit and graph", needs: "go", setup: goModule, script: "go mod edit -go=1.22 -require=example.org/x@v1.0.0 -replace=example.org/x=./x && go mod edit -json && go mod edit -droprequire=example.org/x && go mod graph", want: "example.org/x"},
	{name: "gofmt and vet of one file", needs: "go", setup: goModule, script: "gofmt -d sum.go && go vet sum.go && echo clean", want: "clean"},

	{name: "python in a new venv", needs: "python3", script: "/usr/bin/python3 -m venv --without-pip v && . v/bin/activate && python -c 'import sys; print(sys.prefix)'", want: "/v"},
	{name: "python doctest and pdb", needs: "python3", script: `printf 'def f():\n    """\n    >>> f()\n    42\n    """\n    return 42\n' > d.py && python3 -m doctest -v d.py && echo c | python3 -m pdb d.py`, want: "1 passed"},
	{name: "python subprocesses and sockets", needs: "python3", script: `python3 -c 'import socket, subprocess; a, b = socket.socketpair(); a.send(b"hi"); print(b.recv(9), subprocess.run(["echo", "child"], capture_output=True).stdout)'`, want: "child"},
	{name: "python asyncio server", needs: "python3", script: `cat > s.py <<'E'
import asyncio
async def main():
    async def serve(r, w): w.write(b"served"); w.close()
    s = await asyncio.start_server(serve, "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname()); print(await r.read())
asyncio.run(main())
E
python3 s.py`, want: "served"},
	{name: "python shared memory and a unix socket", needs: "python3", script: `python3 -c 'import multiprocessing.shared_memory as m, socket; s = m.SharedMemory(create=True, size=9); s.unlink(); u = socket.socket(socket.AF_UNIX); u.bind("u.sock"); u.listen(); c = socket.socket(socket.AF_UNIX); c.connect("u.sock"); print("joined")'`, want: "joined"},
	{name: "python logging to a rotating file", needs: "python3", script: `python3 -c 'import logging, logging.handlers as h; l = logging.getLogger(); l.addHandler(h.RotatingFileHandler("a.log", maxBytes=20, backupCount=2)); [l.error("line %d", i) for i in range(9)]' && ls`, want: "a.log.1"},
	{name: "python csv and json", needs: "python3", script: `printf 'a,b\n1,2\n' > t.csv && python3 -c 'import csv, json; json.dump(list(csv.DictReader(open("t.csv"))), open("t.json", "w"))' && python3 -m json.tool t.json`, want: `"b": "2"`},

	{name: "node test runner", needs: "node", script: `printf 'const t = require("node:test"), a = require("assert");\nt("adds", () => a.equal(1 + 1, 2));\n' > a.test.js && node --test a.test.js`, want: "pass 1"},
	{name: "node server and client", needs: "node", script: `node -e 'const h = require("http"), s = h.createServer((q, r) => r.end("served")).listen(0, "127.0.0.1", () => h.get({port: s.address().port}, r => r.on("data", d => { console.log(""+d); s.close() })))'`, want: "served"},
	{name: "node worker and streams", needs: "node", script: `node -e 'const {Worker} = require("worker_threads"); new Worker("require(\"fs\").writeFileSync(\"w\", \"worked\")", {eval: true}).on("exit", () => console.log(require("fs").readFileSync("w", "utf8")))'`, want: "worked"},
	{name: "npm run with a chain", needs: "npm", setup: npmPackage, script: "npm run --silent build && npm test --silent && npm pkg set version=2.0.0 && cat package.json", want: "2.0.0"},
	{name: "a tool of a package", needs: "npx", setup: npmPackage + `; mkdir -p node_modules/.bin; printf '#!/bin/sh\necho from the tool\n' > node_modules/.bin/tool; chmod +x node_modules/.bin/tool`, script: "npx --no tool && npm exec --no tool", want: "from the tool"},

	{name: "rustc and tests", needs: "rustc", script: `printf '#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n' > l.rs && rustc --test l.rs -o l && ./l`, want: "1 passed"},
	{name: "javac and jar", needs: "javac", script: `echo 'class A { public static void main(String[] a) { System.out.println(42); } }' > A.java && javac A.java && jar cfe a.jar A A.class && java -jar a.jar`, want: "42"},
	{name: "perl with modules", needs: "perl", script: `perl -MData::Dumper -MFile::Path=make_path -MCwd -e 'make_path("a/b"); open F, ">", "a/b/f"; print F Dumper({x => 1}); close F; print "wrote ", getcwd' && cat a/b/f`, want: "'x' => 1"},
	{name: "ruby", needs: "ruby", script: `ruby -rjson -rtempfile -e 'Tempfile.create("x") { |f| f.write("a") }; File.write("r.json", {a: 42}.to_json); puts File.read("r.json")'`, want: "42"},
	{name: "php", needs: "php", script: `php -r 'file_put_contents("p", json_encode(["a" => tempnam(sys_get_temp_dir(), "x") != false])); echo file_get_contents("p");'`, want: "true"},
	{name: "lua and tcl", needs: "lua", script: `lua -e 'local f = io.open("l", "w"); f:write("from lua"); f:close(); print(os.tmpname())' && cat l`, want: "from lua"},

	{name: "git in a new project", needs: "git", script: "git init -q && echo '*.o' > .gitignore && echo x > a && touch a.o && git add . && git commit -qm first && git status --short --ignored && git log --stat", want: "first"},
	{name: "git with a conflict that is solved", needs: "git", setup: repository + "; git switch -qc other HEAD~1; echo theirs >> f; git commit -qam theirs; git switch -q main", script: "git merge other || { git checkout --ours f && git add f && git commit -qm merged; }; git log -1 --format=%s", want: "merged"},
	{name: "git push to a remote beside", needs: "git", setup: "git init -q --bare hub.git && git clone -q hub.git c", script: "cd c && echo x > x && git add x && git commit -qm one && git push -q origin HEAD && git -C ../hub.git log --all --oneline", want: "one"},
	{name: "git squash and diff", needs: "git", setup: repository, script: "git reset -q --soft HEAD~2 && git commit -qm squashed && git diff --stat HEAD~1 && git log --oneline", want: "squashed"},
	{name: "hg branch and diff", needs: "hg", setup: "hg init . && echo x > f && hg add f && hg commit -u a -m one", script: "hg branch side && echo y >> f && hg diff && hg commit -u a -m two && hg log -G", want: "two"},

	{name: "sqlite in memory, in a file and dumped", needs: "sqlite3", script: `sqlite3 a.db 'pragma journal_mode=wal; create table t (a); insert into t values (1), (41); select sum(a) from t' && sqlite3 a.db .dump > d.sql && sqlite3 :memory: '.read d.sql' 'select sum(a) from t'`, want: "42"},
	{name: "redis on a socket", needs: "redis-server", script: `redis-server --port 0 --unixsocket $PWD/r.sock --save '' >log 2>&1 & until [ -S r.sock ]; do sleep 0.05; done; redis-cli -s r.sock set a 42 && redis-cli -s r.sock get a; redis-cli -s r.sock shutdown nosave`, want: "42"},
	{name: "a server and curl", needs: "curl", script: "P=8231; " + pythonServer + "; echo page > index.html; curl -s http://localhost:$P/index.html; kill %1", want: "page"},
	{name: "wget from oneself", needs: "wget", script: "P=8232; echo page > index.html; " + pythonServer + "; wget -q -O got http://127.0.0.1:$P/index.html && cat got; kill %1", want: "page"},
	{name: "nc-like python client of a shell server", needs: "python3", script: `python3 -c 'import socket, threading; s = socket.create_server(("127.0.0.1", 0)); threading.Thread(target=lambda: s.accept()[0].sendall(b"answered")).start(); print(socket.create_connection(s.getsockname()).recv(99))'`, want: "answered"},

	{name: "a release archive", needs: "tar", setup: words, script: "mkdir -p r/doc && cp *.txt r/doc && tar --owner=0 --group=0 -caf r.tar.xz r && tar tvf r.tar.xz && sha256sum r.tar.xz > SUMS && sha256sum -c SUMS", want: "OK"},
	{name: "7z, zstd and cpio", needs: "7z", setup: words, script: "7z a -bd a.7z *.txt >/dev/null && zstd -q 1.txt && ls *.txt | cpio -o > a.cpio && 7z l a.7z && ls", want: "a.cpio"},
	{name: "a Debian package", needs: "dpkg-deb", script: "mkdir -p p/DEBIAN p/usr/bin && printf 'Package: p\\nVersion: 1\\nArchitecture: all\\nMaintainer: u <u@example.org>\\nDescription: p\\n' > p/DEBIAN/control && touch p/usr/bin/p && dpkg-deb --build --root-owner-group p && dpkg-deb -c p.deb", want: "usr/bin/p"},
	{name: "rsync below", needs: "rsync", setup: "mkdir src && cd src && " + words, script: "rsync -a --delete src/ copy/ && rm src/1.txt && rsync -ai --delete src/ copy/", want: "deleting"},
	{name: "text tools", needs: "awk", setup: words, script: "cat *.txt | sort -k2n | awk '{print NR \": \" $0}' | tee out | tr a-z A-Z | sed 's/WORD/W/' | paste -sd, && comm -12 <(sort out) <(sort out) | wc -l && split -l 1 out part- && ls part-*", want: "part-aa"},
	{name: "sed, patch and diff over many files", needs: "patch", setup: words, script: "cp -r . ../copy.$$ && sed -i s/word/term/ *.txt; diff -ru ../copy.$$ . > /tmp/p.$$; patch -R -p1 < /tmp/p.$$; grep -c word 1.txt; rm -r ../copy.$$ /tmp/p.$$", want: "1"},
	{name: "jq over lines", needs: "jq", script: `seq 3 | jq -s '{sum: add}' > s.json && jq -r .sum s.json && printf '{"a":1}\n{"a":41}\n' | jq -s 'map(.a) | add'`, want: "42"},
	{name: "find with actions", needs: "find", setup: words, script: "find . -name '*.txt' -exec gzip -k {} + && find . -name '*.gz' -print0 | xargs -0 -n1 -P2 zcat | sort && find . -name '*.gz' -delete && find . -type f -mmin -5 -printf '%p %m\n'", want: "word 2"},
	{name: "here documents and process substitution", needs: "bash", script: "cat > run.sh <<'E'\nset -euo pipefail\nt=$(mktemp -d); trap 'rm -rf \"$t\"' EXIT\nexec 3>\"$t/log\"; echo logged >&3; cat \"$t/log\"\nwhile read -r l; do echo \"got $l\"; done < <(seq 2)\nE\nbash run.sh && dash -n run.sh; chmod +x run.sh", want: "got 2"},
	{name: "jobs and signals", needs: "bash", script: "sleep 60 >/dev/null 2>&1 & p=$!; kill -0 $p && kill $p; wait $p; echo ended $?; (trap 'echo trapped; exit' TERM; sleep 60 >/dev/null 2>&1 & kill -TERM $BASHPID; wait); timeout 0.1 sleep 9; echo $?; nohup true; mkfifo f; echo through > f & cat f", want: "through"},
	{name: "flock and parallel", needs: "parallel", script: "for i in 1 2 3; do flock lock sh -c \"echo $i >> l\" & done; wait; wc -l < l; seq 3 | parallel -j2 echo item", want: "item 3"},
	{name: "temporary files in /tmp", needs: "mktemp", script: "d=$(mktemp -d /tmp/build.XXXXXX) && cd $d && echo x > f && ln -s f l && mv f g && ln -sf g l && cat l && cp -a . ../copy.$$ && ls /tmp/copy.$$ && rm -rf /tmp/copy.$$ $d && sort -T /tmp /etc/passwd | head -1", want: "x"},
	{name: "locales, dates and a terminal", needs: "script", script: "script -qec 'stty size; tput cols; echo in a terminal' /dev/null; date -d @0 -u; TZ=Asia/Tokyo date +%Z; locale >/dev/null; printf 'ü' | iconv -t UTF-16 | od -c", want: "in a terminal"},
	{name: "keys and sums", needs: "openssl", script: "openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 1 -subj /CN=localhost 2>/dev/null && openssl x509 -in c.pem -noout -subject && openssl verify -CAfile c.pem c.pem && echo x | openssl enc -aes-256-cbc -pbkdf2 -k p -out e && openssl enc -d -aes-256-cbc -pbkdf2 -k p -in e", want: "c.pem: OK"},
	{name: "gpg with a home of its own", needs: "gpg", script: "mkdir -m 700 g && export GNUPGHOME=$PWD/g && gpg --batch --quiet --passphrase '' --quick-gen-key a@example.org default default never && echo x > f && gpg --batch --sign f && gpg --verify f.gpg; gpgconf --kill all", want: "Good signature"},
	{name: "pictures", needs: "convert", script: "convert -size 20x20 xc:red a.png && convert a.png -resize 50% b.jpg && identify b.jpg", want: "10x10"},
	{name: "manual pages and translations", needs: "groff", script: `printf '.TH P 1\n.SH NAME\np \\- a program\n' > p.1 && man ./p.1 | cat && groff -man -Tutf8 p.1 | head -5; printf 'msgid "a"\nmsgstr "b"\n' > a.po && msgfmt a.po -o a.mo && ls`, want: "a.mo"},
	{name: "an editor in batches", needs: "ed", setup: words, script: `printf '1s/word/term/\nw\nq\n' | ed -s 1.txt && cat 1.txt && printf 'x\n' | vim -Nes -u NONE +'s/term/noun/' +wq 1.txt; cat 1.txt`, want: "noun"},
	{name: "tmux for oneself", needs: "tmux", script: "tmux -S $PWD/t.sock -f /dev/null new-session -d 'echo in tmux > out; sleep 1' && until [ -s out ]; do sleep 0.05; done; cat out; tmux -S $PWD/t.sock kill-server", want: "in tmux"},
	{name: "a watcher", needs: "inotifywait", script: "(until [ -e started ]; do sleep 0.02; done; touch new) & inotifywait -q -e create --include new . 2>&1 & sleep 0.3; touch started; wait; ls new", want: "new"},
}
