package conversation

import "codeagent/sandbox/protect/protecttest"

// job is a command of a programmer's day. It runs in bash, in its own folder in the workspace. It runs
// without a sandbox first. If it fails there, this machine cannot run it and it is skipped.
type job struct {
	name string
	// needs is the program that the job tests.
	needs string
	// setup prepares the folder without a sandbox, before the session.
	setup  string
	script string
	// check is run without a sandbox after the job; "": what the job prints is checked.
	check string
	// want must be in the output of a success.
	want string
	// most is the number of questions that it may cause; it must succeed after a yes to each.
	most int
	// slow jobs run only with CI=true.
	slow bool
	// open says why the job is not done today.
	open string
}

// Setups of folders.
const (
	goModule = `printf 'module example.org/m\n\ngo 1.21\n' > go.mod
printf 'package main\n\n//go:generate touch generated\n\nimport "fmt"\n\nfunc main() { fmt.Println(Sum(40, 2)) }\n' > main.go
printf 'package main\n\nfunc Sum(a, b int) int { return a + b }\n' > sum.go
printf 'package main\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n' > sum_test.go`
	repository = `git init -q -b main . && git config user.name u && git config user.email u@example.org
for i in 1 2 3; do echo line $i >> f && git add f && git commit -qm "change $i"; done
git switch -qc side HEAD~1 && echo side > g && git add g && git commit -qm side && git switch -q main`
	npmPackage = `printf '{"name":"p","version":"1.0.0","scripts":{"build":"echo built > out.txt","test":"node t.js","prebuild":"echo before"}}' > package.json
echo 'require("assert").equal(1, 1); console.log("passed")' > t.js`
	pythonPackage = `mkdir pkg && echo 'def f(): return 42' > pkg/__init__.py
printf 'import unittest, pkg\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(pkg.f(), 42)\n' > test_pkg.py`
	makefile = `printf 'all: a b c\n%%: %%.in\n\tsort $< > $@\ninstall: all\n\tmkdir -p $(DESTDIR)/bin\n\tcp a b c $(DESTDIR)/bin\n' > Makefile; for f in a b c; do echo $f > $f.in; done`
	cProgram = `printf '#include <stdio.h>\nint f(void);\nint main(void) { printf("%%d\\n", f()); return 0; }\n' > main.c; printf 'int f(void) { return 42; }\n' > f.c`
)

var everydayJobs = []job{
	{name: "go build", needs: "go", setup: goModule, script: "go build ./... && ls", want: "main.go", slow: true},
	{name: "go vet and build", needs: "go", setup: goModule, script: "go vet ./... && go build ./... && echo good", want: "good", slow: true},
	{name: "go test", needs: "go", setup: goModule, script: "go test ./...", want: "ok", slow: true},
	{name: "go run", needs: "go", setup: goModule, script: "go run .", want: "42", slow: true},
	{name: "go generate", needs: "go", setup: goModule, script: "go generate ./... && ls", want: "generated"},
	{name: "go cover", needs: "go", setup: goModule, script: "go test -coverprofile=c.out ./... && go tool cover -func=c.out", want: "total:", slow: true},
	{name: "go mod init", needs: "go", script: "go mod init example.org/x && go list -m && go env GOPATH", want: "example.org/x"},
	{name: "go list and doc", needs: "go", setup: goModule, script: "go list -deps . | grep -c . && go doc fmt.Println && go version", want: "Println"},
	{name: "gofmt", needs: "gofmt", setup: goModule, script: "gofmt -w . && gofmt -l . && echo formatted", want: "formatted"},
	{name: "go mod tidy", needs: "go", setup: goModule, script: "go mod tidy && go mod verify", want: "verified"},

	{name: "git status and diff", needs: "git", setup: repository, script: "echo more >> f; git status --short; git diff --stat", want: "1 file changed"},
	{name: "git commit", needs: "git", setup: repository, script: "echo more >> f; git add -A; git commit -qm more; git log --oneline", want: "more"},
	{name: "git commit -a --amend", needs: "git", setup: repository, script: "echo more >> f; git commit -qa --amend -m better; git log -1 --format=%s", want: "better"},
	{name: "git stash", needs: "git", setup: repository, script: "echo more >> f; git stash; git stash list; git stash pop", want: "stash@{0}"},
	{name: "git log", needs: "git", setup: repository, script: "git log --graph --stat --all | cat", want: "change 1"},
	{name: "git rebase", needs: "git", setup: repository, script: "git switch -q side && git rebase main && git log --oneline", want: "side"},
	{name: "git interactive rebase", needs: "git", setup: repository, script: "GIT_SEQUENCE_EDITOR='sed -i s/^pick/reword/' GIT_EDITOR=true git rebase -i HEAD~2 && git log --oneline", want: "change 3"},
	{name: "git merge", needs: "git", setup: repository, script: "git merge --no-edit --no-ff side && git log --oneline | cat", want: "Merge"},
	{name: "git cherry-pick", needs: "git", setup: repository, script: "git cherry-pick side && git log -1 --format=%s", want: "side"},
	{name: "git branch and switch", needs: "git", setup: repository, script: "git switch -c topic && git branch other && git branch -v && git switch main && git branch -d topic", want: "other"},
	{name: "git switch and worktree with tracked settings", needs: "git", setup: repository + protecttest.In(`
mkdir -p {editor/} {agent2}; for i in old new; do echo $i | tee {editor} {agent2}/x > {shell}; git add . && git commit -qm $i; done`),
		script: protecttest.In(`git switch -q --detach HEAD~1 && cat {editor} {agent2}/x {shell} && git worktree add -q --detach ../tracked main && cat ../tracked/{shell} && rm -r {agent2} && git stash -q && git switch -q main && test -z "$(git status --short)" && cat {agent2}/x`), want: "old\nold\nold\nnew\nnew"},
	{name: "git tag", needs: "git", setup: repository, script: "git tag -a v1 -m one && git describe --tags", want: "v1"},
	{name: "git blame and show", needs: "git", setup: repository, script: "git blame f && git show --stat HEAD", want: "change 3"},
	{name: "git reset", needs: "git", setup: repository, script: "git reset --hard HEAD~1 && git reflog | cat", want: "HEAD~1"},
	{name: "git restore", needs: "git", setup: repository, script: "echo x > f; git restore f; git rm -q f; git restore --staged --worktree f; cat f", want: "line 3"},
	{name: "git bisect", needs: "git", setup: repository, script: "git bisect start HEAD HEAD~2 && git bisect run sh -c '! grep -q \"line 2\" f'", want: "is the first bad commit"},
	{name: "git format-patch and am", needs: "git", setup: repository, script: "git format-patch -1 && git reset -q --hard HEAD~1 && git am 0001*", want: "change 3"},
	{name: "git apply", needs: "git", setup: repository, script: "git diff HEAD~1 > p && git apply -R p && git apply p && git status --short", want: "?? p"},
	{name: "git grep", needs: "git", setup: repository, script: "git grep -n 'line [23]'", want: "f:3"},
	{name: "git archive", needs: "git", setup: repository, script: "git archive -o a.tar HEAD && tar tf a.tar", want: "f"},
	{name: "git gc", needs: "git", setup: repository, script: "git gc -q && git fsck && git count-objects", want: "objects"},
	{name: "git clean", needs: "git", setup: repository, script: "touch junk && git clean -nd && git clean -fdq && git status", want: "junk"},
	{name: "git notes", needs: "git", setup: repository, script: "git notes add -m hello && git log -1 | cat", want: "hello"},
	{name: "git shortlog", needs: "git", setup: repository, script: "git shortlog -sn HEAD && git rev-list --count HEAD", want: "u"},
	{name: "git ls-files", needs: "git", setup: repository, script: "git ls-files -s && git cat-file -p HEAD", want: "author"},
	{name: "git init", needs: "git", script: "git init -q sub && cd sub && echo x > f && git add f && git -c user.name=u -c user.email=u@x commit -qm first && git log --oneline", want: "first"},

	{name: "git worktree", needs: "git", setup: repository, script: "git worktree add -q w side && cd w && echo x > y && git add y && git commit -qm y && cd .. && git worktree list && git worktree remove -f w", want: "w"},
	{name: "git clone below", needs: "git", setup: repository, script: "git clone -q --no-hardlinks . sub && cd sub && git switch -q -c t && git fetch -q && git log --oneline", want: "change 3"},
	{name: "git clone into the folder", needs: "git", setup: "mkdir src && cd src && " + repository, script: "git clone -q --no-hardlinks src out && git -C out log --oneline", want: "change 3"},
	{name: "git submodule add", needs: "git", setup: repository + "; git clone -q . src", script: `git -c protocol.file.allow=always submodule add -q "$PWD/src" sub && git commit -qm sub && git submodule status`, want: "sub", most: 1},
	{name: "git switch to a branch of a remote", needs: "git", setup: repository + "; git clone -q --bare . b.git; git remote add origin b.git; git push -q origin main:topic; git fetch -q", script: "git switch topic; git status -sb", want: "## topic", most: 1},
	{name: "git hooks of husky", needs: "git", setup: repository + "; git config core.hooksPath .husky; mkdir .husky; echo 'echo checked' > .husky/pre-commit; chmod +x .husky/pre-commit", script: "echo more >> f; git commit -am four", want: "checked"},
	{name: "hg commit", needs: "hg", setup: "hg init . && echo x > f && hg add f && hg commit -u a -m one", script: "echo y >> f && hg commit -u a -m two && hg log", want: "two"},
	{name: "hg init", needs: "hg", script: "hg init r && cd r && echo x > f && hg add f && hg commit -u a -m one && hg log", want: "one"},

	{name: "node", needs: "node", script: `node -e 'require("fs").writeFileSync("x", "written"); console.log(require("fs").readFileSync("x", "utf8"))'`, want: "written"},
	{name: "node --test", needs: "node", script: `echo 'require("node:test")("adds", () => {})' > a.test.js && node --test`, want: "pass 1", slow: true},
	{name: "node --check", needs: "node", setup: npmPackage, script: "node --check t.js && echo checked", want: "checked"},
	{name: "npm run", needs: "npm", setup: npmPackage, script: "npm run build && cat out.txt", want: "built"},
	{name: "npm test", needs: "npm", setup: npmPackage, script: "npm test", want: "passed"},
	{name: "npm init", needs: "npm", script: "npm init -y && cat package.json", want: "version", slow: true},
	{name: "npm version", needs: "npm", setup: npmPackage, script: "npm version minor && npm pkg get version", want: "1.1.0", slow: true},
	{name: "npm ls", needs: "npm", setup: npmPackage, script: "npm ls && npm config get registry", want: "p@1.0.0", slow: true},

	{name: "python", needs: "python3", script: `python3 -c 'import json, tempfile; f = tempfile.NamedTemporaryFile(); print(json.dumps({"a": 1}))'`, want: `"a": 1`},
	{name: "python unittest", needs: "python3", setup: pythonPackage, script: "python3 -m unittest", want: ""},
	{name: "python py_compile", needs: "python3", setup: pythonPackage, script: "python3 -m py_compile pkg/__init__.py && ls pkg/__pycache__", want: "cpython"},
	{name: "python compileall", needs: "python3", setup: pythonPackage, script: "python3 -m compileall pkg && echo compiled", want: "compiled"},
	{name: "python venv", needs: "python3", script: "python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'", want: "/v", slow: true},
	{name: "python venv with pip", needs: "python3", script: "python3 -m venv v && v/bin/pip --version", want: "pip", slow: true},
	{name: "python console", needs: "python3", script: "printf 'print(6 * 7)\\n' | python3 -i", want: "42"},
	{name: "python sqlite", needs: "python3", script: `python3 -c 'import sqlite3; c = sqlite3.connect("x.db"); c.execute("create table t (a)"); c.commit(); print("made")' && ls`, want: "x.db"},
	{name: "python processes", needs: "python3", script: "python3 -c 'import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-1, -2]))'", want: "[1, 2]"},
	{name: "python profile", needs: "python3", script: "echo 'print(sum(range(10)))' > s.py && python3 -m cProfile -o prof s.py && ls", want: "prof"},
	{name: "python zipapp", needs: "python3", script: "mkdir app && echo 'print(42)' > app/__main__.py && python3 -m zipapp app && python3 app.pyz", want: "42"},
	{name: "pip list", needs: "pip", script: "pip list && pip --version", want: "pip", slow: true},
	{name: "pip check", needs: "pip", script: "pip check; pip config list; echo looked", want: "looked", slow: true},

	{name: "make", needs: "make", setup: makefile, script: "make && cat a b c", want: "c"},
	{name: "make -j", needs: "make", setup: makefile, script: "make -j4 && make -n && rm a b c && make --quiet a && cat a", want: "a"},
	{name: "gcc", needs: "gcc", setup: cProgram, script: "gcc -O1 -c main.c f.c && gcc -o p main.o f.o && ./p", want: "42"},
	{name: "gcc and ar", needs: "gcc", setup: cProgram, script: "gcc -c f.c && ar rcs libf.a f.o && gcc main.c -L. -lf -o p && ./p && nm libf.a", want: "T f"},
	{name: "gdb", needs: "gdb", setup: cProgram, script: "gcc -g main.c f.c -o p && gdb -batch -ex 'info functions f$' p", want: "f", slow: true},
	{name: "rustc", needs: "rustc", script: `echo 'fn main() { println!("{}", 6 * 7) }' > m.rs && rustc m.rs && ./m`, want: "42"},
	{name: "cargo", needs: "cargo", script: "cargo init --name x --vcs none . && cargo build --offline && cargo run --offline -q", want: "Hello", slow: true},
	{name: "java", needs: "javac", script: `echo 'class A { public static void main(String[] a) { System.out.println(42); } }' > A.java && javac A.java && java A`, want: "42", slow: true},

	{name: "tar", needs: "tar", setup: makefile, script: "tar czf a.tgz *.in && mkdir x && tar xzf a.tgz -C x && ls x", want: "a.in"},
	{name: "zip", needs: "zip", setup: makefile, script: "zip -q a.zip *.in && unzip -q a.zip -d x && ls x", want: "a.in"},
	{name: "compressors", needs: "xz", setup: makefile, script: "xz -k a.in && bzip2 -k a.in && gzip -k a.in && zcat a.in.gz && ls", want: "a.in.xz"},
	{name: "sqlite3", needs: "sqlite3", script: "sqlite3 x.db 'create table t (a); insert into t values (42)' && echo 'select a from t;' | sqlite3 x.db", want: "42"},
	{name: "perl", needs: "perl", setup: makefile, script: "perl -pi -e 's/a/z/' a.in && perl -MFile::Temp=tempfile -e 'tempfile(); print 1'; cat a.in", want: "z"},
	{name: "jq", needs: "jq", script: `echo '{"a": [1, 2]}' | jq '.a | add'`, want: "3"},
	{name: "awk and bc", needs: "awk", script: "seq 9 | awk '{s += $1} END {print s}' && echo '6 * 7' | bc", want: "42"},
	{name: "sed -i", needs: "sed", setup: makefile, script: "sed -i 's/sort/cat/' Makefile && grep -n cat Makefile", want: "cat $<"},
	{name: "sort", needs: "sort", script: "seq 100000 | sort -R --random-source=/dev/zero -S 1M | sort -n | tail -1", want: "100000"},
	{name: "diff and patch", needs: "patch", setup: makefile, script: "cp a.in o; echo x >> a.in; diff -u o a.in > p; patch -R a.in p && cat a.in", want: "a"},
	{name: "find and xargs", needs: "find", setup: makefile, script: "find . -name '*.in' -print0 | xargs -0 wc -l && find . -newer Makefile -exec touch {} +; echo found", want: "found"},
	{name: "less", needs: "less", setup: makefile, script: "less Makefile && man --version", want: "all:"},
	{name: "vim", needs: "vim", setup: makefile, script: "vim -es -u NONE -c '%s/a/q/' -c wq a.in; cat a.in", want: "q"},
	{name: "vim with its history", needs: "vim", setup: makefile, script: "vim -es --not-a-term -c 'set viminfo=!,h' -c 'normal ix' -c 'w' -c 'wviminfo' -c 'qa!' a.in; cat a.in", want: "a"},
	{name: "bash history", needs: "bash", script: "bash -c 'set -o history; HISTFILE=~/.bash_history; echo one; history -a; echo two'", want: "two"},
	{name: "interactive bash", needs: "bash", script: "echo 'echo hello' | bash -i 2>/dev/null", want: "hello"},
	{name: "ssh-keygen", needs: "ssh-keygen", script: "ssh-keygen -q -t ed25519 -N '' -f ./key && ssh-keygen -lf key.pub", want: "ED25519"},
	{name: "openssl", needs: "openssl", script: "openssl rand -hex 8 > r && openssl dgst -sha256 r && openssl genpkey -algorithm ed25519 -out k.pem && ls", want: "k.pem"},
	{name: "gpg", needs: "gpg", script: "gpg --version", want: "gpg"},
	{name: "curl of a file", needs: "curl", script: "echo inside > x && curl -s file://$PWD/x", want: "inside"},
	{name: "curl to nowhere", needs: "curl", script: "curl -s http://nowhere.invalid/ || echo unreachable", want: "unreachable"},
	{name: "file and od", needs: "file", script: "printf 'a\\0b' > x && file x && od -c x && xxd x", want: "data"},
	{name: "a server for oneself", needs: "python3", script: "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & for i in $(seq 100); do curl -s http://127.0.0.1:8123/ >/dev/null && break; sleep 0.05; done; echo hello > x; curl -s http://127.0.0.1:8123/x; kill %1", want: "hello"},
	{name: "environment", needs: "env", script: "env | sort | head -50; id -un; hostname; date; df -h . ; ps aux | wc -l; uname -a", want: "Linux"},
	{name: "temporary files", needs: "mktemp", script: "f=$(mktemp) && d=$(mktemp -d) && echo x > $f && cp $f $d/y && cat $d/y && rm -r $f $d", want: "x"},

	{name: "a note in the home folder", needs: "bash", script: "echo remember > ~/notes.txt && cat ~/notes.txt", want: "remember", most: 1},
	{name: "a folder that is made", needs: "mkdir", script: "mkdir -p ~/made/deep/er && touch ~/made/deep/er/f && find ~/made", want: "er/f", most: 1},
	{name: "several files to a folder", needs: "cp", setup: makefile + "; mkdir -p ~/backup", script: "cp a.in b.in c.in ~/backup/ && ls ~/backup", want: "c.in", most: 1},
	{name: "git in another folder", needs: "git", setup: "mkdir -p ~/other && cd ~/other && " + repository, script: "git -C ~/other commit -q --allow-empty -m elsewhere && git -C ~/other log -1 --format=%s", want: "elsewhere", most: 1},
	{name: "a script that deploys", needs: "bash", setup: "mkdir -p ~/site; printf 'set -e\necho page > ~/site/index.html\ncat ~/site/index.html\n' > deploy.sh", script: "bash deploy.sh", want: "page", most: 1},
	{name: "an archive elsewhere", needs: "tar", setup: makefile + "; tar cf x.tar *.in; mkdir -p ~/unpacked", script: "tar xf x.tar -C ~/unpacked && ls ~/unpacked", want: "b.in", most: 1},
	{name: "python elsewhere", needs: "python3", script: `python3 -c 'import os; open(os.path.expanduser("~/p.txt"), "w").write("x"); print("done")'`, want: "done", most: 1},
	{name: "make install", needs: "make", setup: makefile, script: "make install DESTDIR=$HOME/inst && ls ~/inst/bin", want: "c", most: 1},
	{name: "go install", needs: "go", setup: goModule, script: "go install . && ls ~/go/bin", want: "m", most: 1, slow: true},
	{name: "a key's permissions", needs: "chmod", setup: "touch ~/key.pem", script: "chmod 600 ~/key.pem && stat -c %a ~/key.pem", want: "600", most: 1},
	{name: "removing elsewhere", needs: "rm", setup: "touch ~/old.txt", script: "rm ~/old.txt && test ! -e ~/old.txt && echo gone", want: "gone", most: 1},
	{name: "an editor's settings", needs: "bash", script: protecttest.In("echo export A=b > {shell} && cat {shell}"), want: "A=b", most: 1},
	{name: "a masked loss", needs: "bash", script: "(echo x > ~/masked.txt) 2>&1 | cat; cat ~/masked.txt", want: "x", most: 1},
}
