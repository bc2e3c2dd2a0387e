package exec_test

import "codeagent/sandbox/protect/protecttest"

// corpusFiles are denied files and folders, and print that.
var corpusFiles = []corpusRow{
	{script: `echo x >$OUT/new`, want: []string{"$OUT/new"}},
	{script: `echo x >>$OUT/f`, want: []string{"$OUT/f"}},
	{script: `dash -c 'echo x >../out/new'`, want: []string{"$OUT/new"}},
	{script: `cd $OUT && touch relative`, want: []string{"$OUT/relative"}},
	{script: `touch "$OUT/a b" && cat "$OUT/a b"`, want: []string{"$OUT/a b"}},
	{script: `touch $OUT/one $OUT/two`, want: []string{"$OUT/one", "$OUT/two"}},
	{script: `mkdir $OUT/d`, want: []string{"$OUT/d"}},
	{script: `mkdir -p $OUT/d/e/f && echo x >$OUT/d/e/f/g`, want: []string{"$OUT/d"}},
	{script: `cp a $OUT/copy`, want: []string{"$OUT/copy"}},
	{script: `cp -r . $OUT/all`, want: []string{"$OUT/all"}},
	{script: `mv a $OUT/moved`, want: []string{"$OUT/moved"}},
	{script: `mv $OUT/f ./taken`, want: []string{"$OUT/f"}},
	{script: `mv $OUT/f $OUT/g`, want: []string{"$OUT/f", "$OUT/g"}},
	{script: `rm $OUT/f`, want: []string{"$OUT/f"}},
	{script: `rm -rf $OUT/dir && test ! -e $OUT/dir`, want: []string{"$OUT/dir/*"}},
	{script: `rmdir $OUT/empty`, want: []string{"$OUT/empty"}},
	{script: `ln -s a $OUT/link`, want: []string{"$OUT/link"}},
	{script: `ln $OUT/f $OUT/hard`, want: []string{"$OUT/hard"}},
	{script: `chmod 600 $OUT/f`, want: []string{"$OUT/f"}},
	{script: `touch -d 2001-01-01 $OUT/f`, want: []string{"$OUT/f"}},
	{script: `chmod -R go-r $OUT/dir`, want: []string{"$OUT/dir"}},
	{script: `truncate -s 0 $OUT/f`, want: []string{"$OUT/f"}},
	{script: `echo x | tee $OUT/t >/dev/null; exit ${PIPESTATUS[1]}`, want: []string{"$OUT/t"}},
	{script: `dd if=/dev/zero of=$OUT/dd count=1 status=none`, want: []string{"$OUT/dd"}},
	{script: `install -m 755 a $OUT/bin`, want: []string{"$OUT/bin"}},
	{script: `sed -i s/f/g/ $OUT/f`, want: []string{"$OUT/sed*"}},
	{script: `mktemp -p $OUT`, want: []string{"$OUT/tmp.*"}},
	{script: `tar -cf $OUT/a.tar a b`, want: []string{"$OUT/a.tar"}},
	{script: `tar -cf a.tar a && tar -C $OUT -xf a.tar`, want: []string{"$OUT/a"}},
	{script: `gzip -k $OUT/f`, want: []string{"$OUT/f.gz"}},
	{script: `xz -k $OUT/f`, want: []string{"$OUT/f.xz"}},
	{script: `zip -q $OUT/a.zip a`, needs: "zip", want: []string{"$OUT/*"}},
	{script: `printf -- '--- f\n+++ f\n@@ -1 +1 @@\n-f\n+g\n' | patch -d $OUT -p0`, needs: "patch", want: []string{"$OUT/*"}},
	{script: `split -b 1 a $OUT/part.`, want: []string{"$OUT/part.aa"}},
	{script: `mkfifo $OUT/pipe`, want: []string{"$OUT/pipe"}},
	{script: `sort -o $OUT/sorted a`, want: []string{"$OUT/sorted"}},
	{script: `awk 'BEGIN { print "x" >"../out/awk" }'`, want: []string{"$OUT/awk"}},
	{script: `echo x >new`, policy: "ro", want: []string{"$WS/new"}},
	{script: `touch a && mkdir build && cp a build/`, policy: "ro", want: []string{"$WS/a"}},
	{script: protecttest.In(`echo 'layout python' >{shell}`), want: []string{protecttest.In("$WS/{shell}")}},
	{script: protecttest.In(`mkdir -p {editor/} && echo '{}' >{editor}`), want: []string{protecttest.In("$WS/{editor}")}},
	{script: `set -e; for i in 1 2 3; do echo $i >$OUT/$i; done`, want: []string{"$OUT/1"}},
	{script: `set -o pipefail; echo x | tee $OUT/t | cat`, want: []string{"$OUT/t"}},
	{script: `(cd $OUT; echo x >sub)`, want: []string{"$OUT/sub"}},
	{script: `echo x >$OUT/log || exit 7`, want: []string{"$OUT/log"}},
	{script: `f() { cp a $OUT/fn; }; f; test -s $OUT/fn`, want: []string{"$OUT/fn"}},
	{script: `if ! cp a $OUT/if; then echo failed; exit 3; fi`, want: []string{"$OUT/if"}},
	{script: `xargs -n1 touch <<<"$OUT/x1 $OUT/x2"`, want: []string{"$OUT/x1", "$OUT/x2"}},
	{script: `find $OUT/dir -type f -delete && [ -z "$(ls $OUT/dir)" ]`, want: []string{"$OUT/dir/*"}},
	{script: `ed -s $OUT/made <<<$'a\nx\n.\nw\nq'`, needs: "ed", want: []string{"$OUT/made"}},
	{script: `ex -sc 'normal ix' -c wq! $OUT/f`, needs: "ex", want: []string{"$OUT/*"}},
}

// corpusReads are denied a read, and corpusCalls a system call: the kernel reports neither, so
// these are detected by the output.
var corpusReads = []corpusRow{
	{script: `cat $OUT/secret`, policy: "deny", want: []string{"$OUT/secret"}},
	{script: `grep x ../out/secret`, policy: "deny", want: []string{"$OUT/secret"}},
	{script: `cp $OUT/secret here`, policy: "deny", want: []string{"$OUT/secret"}},
	{script: `python3 -c 'import os; open(os.environ["OUT"] + "/secret").read()'`, needs: "python3", policy: "deny", want: []string{"$OUT/secret"}},
	{script: `node -e 'require("fs").readFileSync(process.env.OUT + "/secret")'`, needs: "node", policy: "deny", want: []string{"$OUT/secret"}},
}

var corpusCalls = []corpusRow{
	{script: `unshare -r true`, needs: "unshare", want: []string{"unshare"}},
	{script: `unshare -rm ls >/dev/null`, needs: "unshare", want: []string{"unshare"}},
}

// corpusQuiet are denied something and print nothing.
var corpusQuiet = []corpusRow{
	{script: `touch $OUT/x 2>/dev/null`, want: []string{"$OUT/x"}},
	{script: `echo x 2>/dev/null >$OUT/x; exit $?`, want: []string{"$OUT/x"}},
	{script: `mkdir $OUT/d >/dev/null 2>&1 && cd $OUT/d`, want: []string{"$OUT/d"}},
	{script: `touch $OUT/x 2>/dev/null; test -f $OUT/x`, want: []string{"$OUT/x"}},
	{script: `{ echo x >$OUT/x; } 2>/dev/null; [ -s $OUT/x ]`, want: []string{"$OUT/x"}},
	{script: `cp a $OUT/x 2>/dev/null || exit 9`, want: []string{"$OUT/x"}},
	{script: `python3 -c 'import os, sys
try: open(os.environ["OUT"] + "/py", "w").close()
except OSError: sys.exit(4)'`, needs: "python3", want: []string{"$OUT/py"}},
	{script: `python3 -c 'import os; os.mkdir(os.environ["OUT"] + "/d")' 2>/dev/null`, needs: "python3", want: []string{"$OUT/d"}},
	{script: `perl -e 'open(my $f, ">", "$ENV{OUT}/p") or exit 5'`, needs: "perl", want: []string{"$OUT/p"}},
	{script: `perl -e 'exit(unlink("$ENV{OUT}/f") ? 0 : 1)'`, needs: "perl", want: []string{"$OUT/f"}},
	{script: `node -e 'try { require("fs").writeFileSync(process.env.OUT + "/n", "x") } catch { process.exit(66) }'`, needs: "node", want: []string{"$OUT/n"}},
	{script: `node -e 'require("fs").rm(process.env.OUT + "/f", e => process.exit(e ? 1 : 0))'`, needs: "node", want: []string{"$OUT/f"}},
	{script: `git init -q $OUT/repo 2>/dev/null`, needs: "git", want: []string{"$OUT/repo"}},
	{script: `git config --global user.name dev 2>/dev/null`, needs: "git", want: []string{"$HOME/.gitconfig*"}},
	{script: `curl -s -o /dev/null http://127.0.0.1:$PORT/`, needs: "curl", want: []string{"127.0.0.1:$PORT"}},
	{script: `wget -q -O /dev/null -t1 http://127.0.0.1:$PORT/`, needs: "wget", want: []string{"127.0.0.1:$PORT"}},
	{script: `(exec 3<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null`, want: []string{"127.0.0.1:$PORT"}},
	{script: `perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new("127.0.0.1:$ENV{PORT}") ? 0 : 2)'`, needs: "perl", want: []string{"127.0.0.1:$PORT"}},
	{script: `node -e 'require("net").connect(process.env.PORT, "127.0.0.1", () => process.exit(0)).on("error", () => process.exit(12))'`, needs: "node", want: []string{"127.0.0.1:$PORT"}},
	{script: `python3 -c 'import os, socket, sys
try: socket.create_connection(("localhost", int(os.environ["PORT"])))
except OSError: sys.exit(1)'`, needs: "python3", want: []string{"127.0.0.1:$PORT"}},
	{script: `sqlite3 $OUT/db 'create table t(a)' 2>/dev/null`, needs: "sqlite3", want: []string{"$OUT/db*"}},
	{script: `make -s 2>/dev/null`, needs: "make", setup: `printf 'all:\n\t@touch $(OUT)/m\n' >Makefile`, want: []string{"$OUT/m"}},
	{script: `chmod 600 $OUT/f 2>/dev/null`, want: []string{"$OUT/f"}},
	{script: `rm -f $OUT/f 2>/dev/null; test ! -e $OUT/f`, want: []string{"$OUT/f"}},
	{script: `ssh-keygen -q -t ed25519 -N '' -f $OUT/key </dev/null >/dev/null 2>&1`, root: true, needs: "ssh-keygen", want: []string{"$OUT/key*"}},
	{script: `! touch $OUT/x 2>/dev/null && exit 3 || exit 0`, want: []string{"$OUT/x"}},
	{script: `flock -n $OUT/lock true 2>/dev/null`, needs: "flock", want: []string{"$OUT/lock"}},
	{script: `openssl rand -out $OUT/rand 8 2>/dev/null`, needs: "openssl", want: []string{"$OUT/rand"}},
}

// corpusTools are programs that write where they must not.
var corpusTools = []corpusRow{
	// Programs that execute another, whose file no word names.
	{script: `./up.js`, needs: "node", setup: `printf '#!/usr/bin/env node\nrequire("fs").writeFileSync(process.env.OUT + "/up", "x")\n' >up.js; chmod +x up.js`, want: []string{"$OUT/up"}},
	{script: `cat a && ./up && echo done`, needs: "perl", setup: `printf '#!/bin/bash\nset -e\nexec perl write.pl $OUT/up\n' >up; chmod +x up`, want: []string{"$OUT/up"}},
	{script: `x=$(./up.py) || exit 4`, needs: "python3", setup: `printf '#!/usr/bin/env python3\nimport os; open(os.environ["OUT"] + "/up", "w")\n' >up.py; chmod +x up.py`, want: []string{"$OUT/up"}},
	{script: `nice ./up; exit $?`, setup: `printf '#!/bin/sh\nexec sh quiet.sh $OUT/up\n' >up; chmod +x up`, want: []string{"$OUT/up"}},
	{script: `python3 up.py; s=$?; ls; exit $s`, needs: "python3", setup: `printf 'import os\ntry: open(os.environ["OUT"] + "/up", "w")\nexcept OSError: os.abort()\n' >up.py`, want: []string{"$OUT/up"}},
	{script: `until make -s; do n=$((n+1)); [ $n -lt 3 ] || exit 4; done`, needs: "make", setup: `printf 'all:\n\ttouch $(OUT)/up\n' >Makefile`, want: []string{"$OUT/up"}},
	{script: `git init $OUT/repo`, needs: "git", want: []string{"$OUT/repo"}},
	{script: `git clone -q src $OUT/clone`, needs: "git", setup: `git init -q src; git -C src commit -q --allow-empty -m x`, want: []string{"$OUT/clone"}},
	{script: `git config --global user.email dev@example.org`, needs: "git", want: []string{"$HOME/.gitconfig*"}},
	{script: `git -C $OUT/repo commit -q --allow-empty -m y`, needs: "git", setup: `git init -q $OUT/repo`, want: []string{"$OUT/repo/.git/*"}},
	{script: `git worktree add -q $OUT/tree`, needs: "git", setup: `git init -q; git commit -q --allow-empty -m x`, want: []string{"$OUT/tree*"}},
	{script: `git archive -o $OUT/a.tar HEAD`, needs: "git", setup: `git init -q; git commit -q --allow-empty -m x`, want: []string{"$OUT/a.tar"}},
	{script: `git bundle create $OUT/b HEAD`, needs: "git", setup: `git init -q; git commit -q --allow-empty -m x`, want: []string{"$OUT/b*"}},
	{script: `git push -q $OUT/bare.git HEAD:main`, needs: "git", setup: `git init -q; git commit -q --allow-empty -m x; git init -q --bare $OUT/bare.git`, want: []string{"$OUT/bare.git/objects/*"}},
	{script: `npm config set loglevel=warn`, needs: "npm", want: []string{"$HOME/.npmrc*"}},
	{script: `npm pack --silent --pack-destination $OUT`, needs: "npm", setup: `echo '{"name":"x","version":"1.0.0"}' >package.json`, want: []string{"$HOME/.npm"}},
	{script: `npm run --silent out`, needs: "npm", setup: `echo '{"name":"x","version":"1.0.0","scripts":{"out":"touch $OUT/npm"}}' >package.json; mkdir -p $HOME/.npm`, want: []string{"$OUT/npm"}},
	{script: `npm install --offline --prefix $OUT/pkg $WS/dep`, needs: "npm", setup: `mkdir $OUT/pkg dep; echo '{"name":"dep","version":"1.0.0"}' >dep/package.json; echo '{"name":"x","version":"1.0.0"}' >$OUT/pkg/package.json`, want: []string{"$OUT/pkg/*"}},
	{script: `go build -o $OUT/m m.go`, needs: "go", setup: `printf 'package main\nfunc main() {}\n' >m.go`, want: []string{"$OUT/m"}},
	{script: `GOCACHE=$OUT/gocache go list m.go`, needs: "go", setup: `printf 'package main\nfunc main() {}\n' >m.go`, want: []string{"$OUT/gocache"}},
	{script: `go run m.go`, needs: "go", setup: `printf 'package main\nimport "os"\nfunc main() { if f, err := os.Create(os.Getenv("OUT") + "/g"); err != nil { println(err.Error()); os.Exit(3) } else { f.Close() } }\n' >m.go`, want: []string{"$OUT/g"}},
	{script: `go env -w GOFLAGS=-mod=mod`, needs: "go", want: []string{"$HOME/.config*"}},
	{script: `cd $OUT/mod && go mod init example.org/m`, needs: "go", setup: `mkdir $OUT/mod`, want: []string{"$OUT/mod/go.mod"}},
	{script: `gofmt -w $OUT/x.go`, needs: "go", setup: `printf 'package  x\n' >$OUT/x.go`, want: []string{"$OUT/x.go*"}},
	{script: `gcc -o $OUT/m m.c`, needs: "gcc", setup: `echo 'int main(void) { return 0; }' >m.c`, want: []string{"$OUT/m"}},
	{script: `make -B`, needs: "make", setup: `printf 'all: $(OUT)/m\n$(OUT)/m:\n\ttouch $@\n' >Makefile`, want: []string{"$OUT/m"}},
	{script: `make -k install`, needs: "make", setup: `printf 'install:\n\tinstall -d $(OUT)/usr/bin\n\tinstall a $(OUT)/usr/bin\n' >Makefile`, want: []string{"$OUT/usr"}},
	{script: `make -j2 both`, needs: "make", setup: `printf 'both: x y\nx:\n\tcp a $(OUT)/x\ny:\n\tcp b $(OUT)/y\n' >Makefile`, want: []string{"$OUT/x"}},
	{script: `python3 -c 'import os; open(os.environ["OUT"] + "/py", "w")'`, needs: "python3", want: []string{"$OUT/py"}},
	{script: `python3 -c 'import os, pathlib; pathlib.Path(os.environ["OUT"], "p/q").mkdir(parents=True)'`, needs: "python3", want: []string{"$OUT/p"}},
	{script: `python3 -c 'import os, shutil; shutil.rmtree(os.environ["OUT"] + "/dir")'`, needs: "python3", want: []string{"$OUT/dir/*"}},
	{script: `python3 -c 'import os, sys
try: os.rename("a", os.environ["OUT"] + "/a")
except OSError: sys.exit("Datei konnte nicht verschoben werden: Keine Berechtigung")'`, needs: "python3", want: []string{"$OUT/a"}},
	{script: `python3 -m venv --without-pip $OUT/venv`, needs: "python3", want: []string{"$OUT/venv"}},
	{script: `python3 -c 'import os, sqlite3; sqlite3.connect(os.environ["OUT"] + "/t.sqlite").execute("create table t(a)")'`, needs: "python3", want: []string{"$OUT/t.sqlite"}},
	{script: `python3 -c 'import os, tempfile; tempfile.mkdtemp(dir=os.environ["OUT"])'`, needs: "python3", want: []string{"$OUT/tmp*"}},
	{script: `python3 -m zipfile -c $OUT/z.zip a`, needs: "python3", want: []string{"$OUT/z.zip"}},
	{script: `node -e 'require("fs").mkdirSync(process.env.OUT + "/n/m", {recursive: true})'`, needs: "node", want: []string{"$OUT/n*"}},
	{script: `node -e 'require("fs/promises").rename("a", process.env.OUT + "/a").catch(e => { console.error("no se pudo mover: permiso denegado"); process.exit(21) })'`, needs: "node", want: []string{"$OUT/a"}},
	{script: `perl -e 'open(my $f, ">", "$ENV{OUT}/p") or die "impossible d\x27ouvrir : permission non accordee\n"'`, needs: "perl", want: []string{"$OUT/p"}},
	{script: `perl -e 'mkdir "$ENV{OUT}/d" or die "mkdir: $!\n"'`, needs: "perl", want: []string{"$OUT/d"}},
	{script: `perl -i -pe 's/f/g/' $OUT/f && grep -q g $OUT/f`, needs: "perl", want: []string{"$OUT/*"}},
	{script: `sqlite3 $OUT/db 'create table t(a)'`, needs: "sqlite3", want: []string{"$OUT/db*"}},
	{script: `sqlite3 $OUT/have 'insert into t values (1)'`, needs: "sqlite3", setup: `sqlite3 $OUT/have 'create table t(a)'`, want: []string{"$OUT/have*"}},
	{script: `ssh-keygen -q -t ed25519 -N '' -f $OUT/key </dev/null`, root: true, needs: "ssh-keygen", want: []string{"$OUT/key*"}},
	{script: `openssl genpkey -algorithm ed25519 -out $OUT/pem`, needs: "openssl", want: []string{"$OUT/pem"}},
	{script: `curl -sS file://$WS/a -o $OUT/c`, needs: "curl", want: []string{"$OUT/c"}},
	{script: `unzip -q -d $OUT/z a.zip`, needs: "unzip zip", setup: `zip -q a.zip a`, want: []string{"$OUT/z*"}},
	{script: `tclsh open.tcl`, needs: "tclsh", setup: `echo 'close [open $env(OUT)/tcl w]' >open.tcl`, want: []string{"$OUT/tcl"}},
}

// corpusNetwork are denied addresses, names and sockets.
var corpusNetwork = []corpusRow{
	{script: `curl -sS http://127.0.0.1:$PORT/`, needs: "curl", want: []string{"127.0.0.1:$PORT"}},
	{script: `curl -sS http://localhost:$PORT/x`, needs: "curl", want: []string{"127.0.0.1:$PORT"}},
	{script: `curl -sS "http://[::1]:$PORT6/"`, needs: "curl", want: []string{"[[]::1]:$PORT6"}},
	{script: `curl -sSf --unix-socket $SOCK http://x/`, needs: "curl", want: []string{"$SOCK"}},
	{script: `wget -t1 -O page http://127.0.0.1:$PORT/`, needs: "wget", want: []string{"127.0.0.1:$PORT"}},
	{script: `exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && grep -q ok <&3`, want: []string{"127.0.0.1:$PORT"}},
	{script: `python3 -c 'import os, urllib.request; urllib.request.urlopen("http://127.0.0.1:" + os.environ["PORT"])'`, needs: "python3", want: []string{"127.0.0.1:$PORT"}},
	{script: `python3 -c 'import os, socket; socket.create_connection(("::1", int(os.environ["PORT6"])))'`, needs: "python3", want: []string{"[[]::1]:$PORT6"}},
	{script: `python3 -c 'import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
s.sendto(b"x", ("127.0.0.1", int(os.environ["UDP"]))); s.recv(9)'`, needs: "python3", want: []string{"127.0.0.1:$UDP"}},
	{script: `python3 -c 'import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
s.connect(("127.0.0.1", int(os.environ["UDP"]))); s.send(b"x"); s.recv(9)'`, needs: "python3", want: []string{"127.0.0.1:$UDP"}},
	{script: `python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ["SOCK"])'`, needs: "python3", want: []string{"$SOCK"}},
	{script: `python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).bind(os.environ["OUT"] + "/listen")'`, needs: "python3", want: []string{"$OUT/listen"}},
	{script: `node -e 'fetch("http://127.0.0.1:" + process.env.PORT).then(r => r.text())'`, needs: "node", want: []string{"127.0.0.1:$PORT"}},
	{script: `node -e 'const d = new (require("dns").promises.Resolver)(); d.setServers(["127.0.0.1:" + process.env.DNS]); d.resolve4("db.corpus.example").then(console.log)'`, needs: "node", want: []string{"127.0.0.1:$DNS"}},
	{script: `node -e 'const s = require("dgram").createSocket("udp4"); s.on("message", () => process.exit(0)); s.send("x", process.env.UDP, "127.0.0.1", e => { if (e) throw e }); setTimeout(() => process.exit(1), 2000)'`, needs: "node", want: []string{"127.0.0.1:$UDP"}},
	{script: `perl -MIO::Socket::INET -e 'IO::Socket::INET->new("127.0.0.1:$ENV{PORT}") or die "connect: $!\n"'`, needs: "perl", want: []string{"127.0.0.1:$PORT"}},
	{script: `perl -MHTTP::Tiny -e '$r = HTTP::Tiny->new->get("http://localhost:$ENV{PORT}/"); print $r->{content}; exit !$r->{success}'`, needs: "perl", want: []string{"127.0.0.1:$PORT"}},
	{script: `go run ./dial.go`, needs: "go", setup: `printf 'package main\nimport ("net"; "os")\nfunc main() { if _, err := net.Dial("tcp", "127.0.0.1:" + os.Getenv("PORT")); err != nil { println(err.Error()); os.Exit(1) } }\n' >dial.go`, want: []string{"127.0.0.1:$PORT"}},
	{script: `git clone -q http://127.0.0.1:$PORT/x.git x || git ls-remote http://localhost:$PORT/ 2>&1 | grep -q "not valid\|not found"`, needs: "git", want: []string{"127.0.0.1:$PORT"}},
	{script: `set -o pipefail; curl -s http://127.0.0.1:$PORT/ | cat >page`, needs: "curl", want: []string{"127.0.0.1:$PORT"}},
	{script: `for i in 1 2; do curl -sf http://127.0.0.1:$PORT/$i -o $i || exit 22; done`, needs: "curl", want: []string{"127.0.0.1:$PORT"}},
}
