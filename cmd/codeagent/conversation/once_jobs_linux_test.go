package conversation

const (
	// livedIn makes a home folder that has been used for years, once. The jobs get copies.
	livedIn = `umask 022; cd ~
git config --global user.name u; git config --global user.email u@example.org; git config --global init.defaultBranch main; git config --global protocol.file.allow always
mkdir -p .npm/_logs .npm/_cacache/tmp .npm/_cacache/index-v5/aa .cache/pip .cache/thumbnails .config/pip .config/tool .local/bin .local/share .local/state/tool .kube go/bin go/pkg/mod Documents
echo log > .npm/_logs/2025-01-02T03_04_05_678Z-debug-0.log; echo x > .npm/_cacache/index-v5/aa/x; touch .npm/_update-notifier-last-checked
printf 'registry=%s/npm/\naudit=false\nfund=false\nupdate-notifier=false\nfetch-retry-mintimeout=1200\nfetch-retry-factor=1\n' "$REG" > .npmrc
printf 'registry "%s/npm/"\n' "$REG" > .yarnrc
printf '[global]\nindex-url=%s/pip/simple/\ntrusted-host=127.0.0.1\ndisable-pip-version-check=true\nbreak-system-packages=true\n' "$REG" > .config/pip/pip.conf
printf 'apiVersion: v1\nkind: Config\ncurrent-context: l\nclusters: [{name: l, cluster: {server: "%s"}}]\ncontexts: [{name: l, context: {cluster: l, user: l}}]\nusers: [{name: l, user: {token: t}}]\n' "$REG" > .kube/config
go env -w GOPROXY="$REG/go" GOSUMDB=off GOFLAGS=-modcacherw 2>/dev/null
mkdir -m 700 .ssh .gnupg; ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519 2>/dev/null; echo 'example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7v0nE1V8lWn8Yq3bq0xkq3l0gk0qT0m5b0m0m0m0m0' > .ssh/known_hosts
gpg --batch --quiet --passphrase '' --quick-gen-key u@example.org default default never 2>/dev/null; gpg --batch --quiet --armor --export u@example.org > key.asc 2>/dev/null; gpgconf --kill all 2>/dev/null
echo '{"runs": 1}' > .config/tool/state.json; echo old > .bash_history; echo old > .local/state/tool/tool.log; true`
	nodePackage = `echo '{"name":"p","version":"1.0.0","dependencies":{"first":"^1.0.0"}}' > package.json`
	goUser      = `printf 'module example.org/m\n\ngo 1.21\n' > go.mod; printf 'package main\n\nimport _ "example.org/first"\n\nfunc main() {}\n' > main.go`
	hub         = `git init -q src && (cd src && echo a > a && git add a && git commit -qm one) && git clone -q --bare src "$OUT/hub.git" && git -C "$OUT/hub.git" config receive.denyCurrentBranch ignore; rm -rf src`
	site        = `mkdir -p dist/css "$OUT/site"; for i in 1 2 3 4 5 6; do echo page $i > dist/$i.html; done; echo body > dist/css/main.css; echo old > "$OUT/site/old.html"`
	toolProgram = `cat > tool.py <<'E'
import json, os, random, string
d = os.path.expanduser("~/.config/tool")
s = json.load(open(d + "/state.json")); s["runs"] += 1
name = d + "/" + "".join(random.choices(string.ascii_lowercase, k=8)) # nothing in it looks generated
fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY); os.write(fd, json.dumps(s).encode()); os.close(fd); os.rename(name, d + "/state.json")
E`
	lockingProgram = `cat > lock.py <<'E'
import os, sys
d = os.path.expanduser("~/.local/state/tool")
lock = "%s/lock.%d" % (d, os.getpid()); open(lock, "w").close()
open(d + "/tool.log", "a").write("new\n"); open("%s/run-%d.log" % (d, os.getpid()), "w").write("ran\n"); os.remove(lock)
E`
	probingProgram = `cat > probe.py <<'E'
import os, sys
p = sys.argv[1] + "/data"
try: f = os.open(p, os.O_RDWR)
except OSError: f = os.open(p, os.O_RDONLY)
print(os.read(f, 5).decode())
E`
)

// needyJobs need more than the sandbox gives. Each has a home folder of its own that other programs have used. $OUT is a
// folder outside both, $REG the address of a registry on this machine. A row without a number may cause one question.
var needyJobs = []job{
	{name: "npm install", needs: "npm", setup: nodePackage, script: "npm install", check: "cat node_modules/second/package.json", want: "second", most: 3},
	{name: "npm install of a package by name", needs: "npm", setup: nodePackage, script: "npm install second && node -e 'require(\"second\")'", check: "cat package.json", want: "second", most: 3},
	{name: "npm ci", needs: "npm", setup: nodePackage + "; npm install >/dev/null && rm -rf node_modules ~/.npm/_cacache/content-v2", script: "npm ci", check: "ls node_modules", want: "second", most: 3},
	{name: "npm install -g", needs: "npm", script: "npm install -g --prefix ~/.local first", check: "ls ~/.local/lib/node_modules", want: "first", most: 4},
	{name: "npm cache add", needs: "npm", script: "npm cache add first@1.0.0", check: "ls ~/.npm/_cacache/content-v2", want: "sha512", most: 3},
	{name: "npm config set", needs: "npm", script: "npm config set color false", check: "cat ~/.npmrc", want: "color=false"},
	{name: "pnpm install", needs: "pnpm", setup: nodePackage, script: "pnpm install", check: "ls node_modules", want: "first"},
	{name: "yarn install", needs: "yarn", setup: nodePackage, script: "yarn install", check: "ls node_modules", want: "second"},
	{name: "pip install --user", needs: "python3", script: "/usr/bin/python3 -m pip install --user first", check: "find ~/.local -name first.py", want: "first.py", most: 2},
	{name: "pip install --target outside", needs: "python3", script: `/usr/bin/python3 -m pip install --target "$OUT/lib" first`, check: `ls "$OUT/lib"`, want: "first.py", most: 2},
	{name: "pip download", needs: "python3", script: "/usr/bin/python3 -m pip download first", check: "ls", want: "first-1.0"},
	{name: "pip config set", needs: "python3", script: "/usr/bin/python3 -m pip config set global.timeout 20", check: "cat ~/.config/pip/pip.conf", want: "20"},
	{name: "go get", needs: "go", setup: goUser, script: "go get example.org/first@v1.0.0", check: "cat go.mod", want: "example.org/first", most: 3},
	{name: "go get and build", needs: "go", setup: goUser, script: "go get example.org/first && go build -o m . && ./m", check: "ls", want: "m", most: 3},
	{name: "go mod download", needs: "go", setup: goUser + "; printf '\nrequire example.org/first v1.0.0\n' >> go.mod", script: "go mod download", check: "ls ~/go/pkg/mod/example.org", want: "first@v1.0.0", most: 3},
	{name: "go install of a tool", needs: "go", script: "go install example.org/first/cmd/hello@v1.0.0", check: "ls ~/go/bin", want: "hello", most: 4},
	{name: "go env -w", needs: "go", script: "go env -w GOPRIVATE=example.org", check: "go env GOPRIVATE", want: "example.org"},
	{name: "gpg --sign", needs: "gpg", setup: "echo x > f", script: "gpg --batch --yes --sign f", check: "gpg --batch --verify f.gpg 2>&1", want: "Good signature"},
	{name: "gpg --detach-sign, armored", needs: "gpg", setup: "echo x > f", script: "gpg --batch --armor --detach-sign f && ls f.asc", check: "gpg --batch --verify f.asc f 2>&1", want: "Good signature"},
	{name: "gpg --quick-gen-key", needs: "gpg", script: "gpg --batch --passphrase '' --quick-gen-key new@example.org default default never", check: "gpg --batch -k 2>&1", want: "new@example.org"},
	{name: "gpg --import", needs: "gpg", setup: "mkdir -m 700 k; GNUPGHOME=$PWD/k gpg --batch --quiet --passphrase '' --quick-gen-key other@example.org default default never 2>/dev/null; GNUPGHOME=$PWD/k gpg --batch --export > k.pub; GNUPGHOME=$PWD/k gpgconf --kill all", script: "gpg --batch --import k.pub", check: "gpg --batch -k 2>&1", want: "other@example.org", most: 2},
	{name: "git tag -s", needs: "gpg", setup: repository + "; git config user.signingkey u@example.org", script: "git tag -s -m one v1", check: "git tag -v v1 2>&1", want: "Good signature"},
	{name: "git clone to a folder outside", needs: "git", setup: hub, script: `git clone "$OUT/hub.git" "$OUT/copy"`, check: `git -C "$OUT/copy" log --oneline`, want: "one"},
	{name: "git clone, commit, push", needs: "git", setup: hub, script: `git clone -q "$OUT/hub.git" c && cd c && echo b > b && git add b && git commit -qm two && git push -q`, check: `git -C "$OUT/hub.git" log --oneline main`, want: "two", most: 3},
	{name: "git push of a branch to a remote in a folder", needs: "git", setup: hub + `; git clone -q "$OUT/hub.git" . ; git switch -qc topic; git commit -q --allow-empty -m three`, script: "git push origin topic", check: `git -C "$OUT/hub.git" log --oneline topic`, want: "three", most: 2},
	{name: "git worktree add outside", needs: "git", setup: repository, script: `git worktree add "$OUT/w" -b w`, check: `cat "$OUT/w/f"`, want: "line 3"},
	{name: "git bundle outside", needs: "git", setup: repository, script: `git bundle create "$OUT/all.bundle" --all`, check: `git bundle verify "$OUT/all.bundle" 2>&1`, want: "main"},
	{name: "git init outside", needs: "git", script: `git init "$OUT/r" && cd "$OUT/r" && echo a > a && git add a && git commit -m one`, check: `git -C "$OUT/r" log --oneline`, want: "one"},
	{name: "hg clone outside", needs: "hg", setup: "hg init r; cd r; echo x > f; hg add f; hg commit -u a -m one", script: `hg clone r "$OUT/r"`, check: `hg -R "$OUT/r" log`, want: "one"},
	{name: "rsync to a site", needs: "rsync", setup: site, script: `rsync -a --delete dist/ "$OUT/site/"`, check: `ls "$OUT/site/css"; ls "$OUT/site"`, want: "main.css\n1.html"},
	{name: "rsync to a new folder", needs: "rsync", setup: site, script: `rsync -a dist/ "$OUT/new/"`, check: `ls "$OUT/new/css"`, want: "main.css"},
	{name: "a deploy script with a configuration", needs: "bash", setup: site + `; echo "TO=$OUT/site" > ~/.config/tool/deploy.env; printf 'set -e\n. ~/.config/tool/deploy.env\nrm -rf "$TO.new"\ncp -r dist "$TO.new"\nrm -rf "$TO"\nmv "$TO.new" "$TO"\n' > deploy.sh`, script: "bash deploy.sh", check: `ls "$OUT/site"`, want: "6.html", most: 3},
	{name: "tar to a folder", needs: "tar", setup: site, script: `tar c -C dist . | tar x -C "$OUT/site"`, check: `ls "$OUT/site"`, want: "6.html"},
	{name: "make install below the home folder", needs: "make", setup: `printf 'install:\n\tinstall -d $(PREFIX)/bin $(PREFIX)/share/man\n\tinstall -m755 a $(PREFIX)/bin/a\n\tinstall -m644 a.1 $(PREFIX)/share/man/a.1\n' > Makefile; touch a a.1`, script: "make install PREFIX=$HOME/.local", check: "ls ~/.local/bin ~/.local/share/man", want: "a.1", most: 2},
	{name: "make install to a prefix outside", needs: "make", setup: makefile, script: `make install DESTDIR="$OUT/root"`, check: `ls "$OUT/root/bin"`, want: "c"},
	{name: "ssh-keygen in ~/.ssh", needs: "ssh-keygen", script: "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/deploy", check: "ls ~/.ssh", want: "deploy.pub", most: 2},
	{name: "ssh-keygen -R", needs: "ssh-keygen", script: "ssh-keygen -R example.org", check: "wc -l < ~/.ssh/known_hosts", want: "0"},
	{name: "sqlite outside", needs: "sqlite3", setup: `sqlite3 "$OUT/db" 'create table t (a)'`, script: `sqlite3 "$OUT/db" 'insert into t values (42)'`, check: `sqlite3 "$OUT/db" 'select a from t'`, want: "42", most: 2},
	{name: "sqlite outside by a program", needs: "python3", setup: `sqlite3 "$OUT/db" 'create table t (a)'; echo 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1] + "/db"); c.execute("insert into t values (42)"); c.commit()' > s.py`, script: `python3 s.py "$OUT"`, check: `sqlite3 "$OUT/db" 'select a from t'`, want: "42"},
	{name: "kubectl get", needs: "kubectl", script: "kubectl get --raw /version > v", check: "cat v", want: "gitVersion"},
	{name: "a client with its server in a file", needs: "python3", setup: `echo "$REG/version" > ~/.config/tool/server; echo 'import os, urllib.request; print(urllib.request.urlopen(open(os.path.expanduser("~/.config/tool/server")).read().strip()).read().decode())' > c.py`, script: "python3 c.py > v", check: "cat v", want: "gitVersion"},
	{name: "curl to a service of this machine", needs: "curl", script: `curl -sf "$REG/version" -o v`, check: "cat v", want: "gitVersion"},
	{name: "a program that saves its state", needs: "python3", setup: toolProgram, script: "python3 tool.py", check: "cat ~/.config/tool/state.json", want: "2"},
	{name: "a program with a lock named by its number", needs: "python3", setup: lockingProgram, script: "python3 lock.py", check: "cat ~/.local/state/tool/run-*", want: "ran", most: 2},
	{name: "sed -i outside", needs: "sed", setup: `echo port=1 > "$OUT/conf"`, script: `sed -i s/1/2/ "$OUT/conf"`, check: `cat "$OUT/conf"`, want: "port=2"},
	{name: "patch outside", needs: "patch", setup: `echo a > "$OUT/f"; printf -- '--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n' > p`, script: `patch -d "$OUT" < p`, check: `cat "$OUT/f"`, want: "b"},
	{name: "a tool into ~/.local/bin", needs: "install", setup: "printf '#!/bin/sh\necho ran\n' > t", script: "install -m755 t ~/.local/bin/t && ~/.local/bin/t", check: "~/.local/bin/t", want: "ran"},
	{name: "a link in ~/.local/bin", needs: "ln", setup: "touch t", script: `ln -s "$PWD/t" ~/.local/bin/t`, check: "readlink ~/.local/bin/t", want: "/t"},
	{name: "moving a report", needs: "mv", setup: "echo r > report", script: "mv report ~/Documents/", check: "cat ~/Documents/report", want: "r"},
	{name: "an archive of a release", needs: "tar", setup: "echo r > r; mkdir $OUT/releases", script: `tar czf "$OUT/releases/r.tgz" r`, check: `tar tf "$OUT/releases/r.tgz"`, want: "r"},
	{name: "a note outside", needs: "bash", script: `echo note >> "$OUT/notes"`, check: `cat "$OUT/notes"`, want: "note"},
	{name: "a folder with a file", needs: "mkdir", script: `mkdir -p "$OUT/a/b" && echo x > "$OUT/a/b/f"`, check: `cat "$OUT/a/b/f"`, want: "x"},
	{name: "a folder that is made, filled and copied", needs: "cp", script: `mkdir b && echo x > b/f && cp -r b "$OUT/" && rm -r b`, check: `cat "$OUT/b/f"`, want: "x"},
	{name: "several files to a folder outside", needs: "cp", setup: site, script: `cp dist/*.html "$OUT/site/"`, check: `cat "$OUT/site/6.html"`, want: "page 6"},
	{name: "a release behind a link", needs: "ln", setup: site + `; mkdir "$OUT/releases"; ln -s site "$OUT/current"`, script: `cp -r dist "$OUT/releases/2" && ln -sfn releases/2 "$OUT/current"`, check: `cat "$OUT/current/6.html"`, want: "page 6", most: 2},
	{name: "git pull in another clone", needs: "git", setup: hub + `; git clone -q "$OUT/hub.git" "$OUT/copy"; git clone -q "$OUT/hub.git" c && cd c && git commit -q --allow-empty -m two && git push -q`, script: `git -C "$OUT/copy" pull -q`, check: `git -C "$OUT/copy" log --oneline`, want: "two"},
	{name: "git fetch into a mirror", needs: "git", setup: hub + `; git clone -q --mirror "$OUT/hub.git" "$OUT/mirror.git"; git clone -q "$OUT/hub.git" c && cd c && git commit -q --allow-empty -m two && git push -q`, script: `git --git-dir="$OUT/mirror.git" fetch -q`, check: `git -C "$OUT/mirror.git" log --oneline main`, want: "two"},
	{name: "a page of a service of this machine", needs: "wget", script: `wget -q "$REG/version"`, check: "cat version", want: "gitVersion"},
	{name: "a client in node", needs: "node", script: `node -e 'fetch(process.argv[1]).then(r => r.text()).then(t => require("fs").writeFileSync("v", t))' "$REG/version"`, check: "cat v", want: "gitVersion"},
	{name: "a crontab of one's own", needs: "bash", setup: "mkdir -p ~/.config/tool; echo old > ~/.config/tool/jobs", script: `sed s/old/new/ ~/.config/tool/jobs > j && cp j ~/.config/tool/jobs`, check: "cat ~/.config/tool/jobs", want: "new"},
	{name: "an export that replaces one", needs: "python3", setup: `echo '{}' > "$OUT/export.json"`, script: `python3 -c 'import json; json.dump({"n": 42}, open("'"$OUT"'/export.json", "w"))'`, check: `cat "$OUT/export.json"`, want: "42"},
	{name: "a file's rights", needs: "chmod", setup: `touch "$OUT/key"`, script: `chmod 600 "$OUT/key"`, check: `stat -c %a "$OUT/key"`, want: "600"},
	{name: "removing a folder", needs: "rm", setup: `mkdir -p "$OUT/old/a" && touch "$OUT/old/a/f"`, script: `rm -rf "$OUT/old"`, check: `ls "$OUT"; echo gone`, want: "gone", most: 2},
	{name: "two notes", needs: "bash", script: `echo a > "$OUT/one"; mkdir -p d; echo b > d/f`, check: `cat "$OUT/one"`, want: "a"},
	{name: "a file's time", needs: "touch", setup: `touch "$OUT/stamp"`, script: `touch -d 2001-01-01 "$OUT/stamp"`, check: `stat -c %y "$OUT/stamp"`, want: "2001"},
	{name: "a probe for writing", needs: "python3", setup: probingProgram + `
echo hello > "$OUT/data"`, script: `python3 probe.py "$OUT" > v`, check: "cat v", want: "hello"},
	{name: "git config --global", needs: "git", script: "git config --global core.pager cat", check: "git config --global core.pager", want: "cat"},
}
