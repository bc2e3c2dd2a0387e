//go:build linux

package alike

var shellJobs = []job{
	{name: "job control", needs: "bash", script: `set -m; sleep 999 & kill %1; wait %1 && exit 1; trap 'echo trapped' EXIT; trap 'echo term' TERM; kill -TERM $$; wait`, says: "term\ntrapped"},
	{name: "background job of one command", needs: "bash", script: `(for i in 1 2 3; do echo line $i; done > log; touch done) & wait; cat log; test -e done`, says: "line 3"},
	{name: "here-documents and process substitution", needs: "bash", script: "cat <<A > f; cat <<< two; diff <(sort f) <(printf 'one\\n')\none\nA\ncat f", says: "two\none"},
	{name: "pipes and subshells", needs: "bash", script: `seq 1 1000 | (while read -r n; do s=$((${s:-0}+n)); done; echo "sum $s") | tee out; grep -c sum out`, says: "sum 500500"},
	{name: "find, xargs and sed", needs: "find xargs sed", script: `mkdir -p d/e; for i in 1 2 3; do echo "old $i" > d/e/f$i; done; find d -name 'f*' -print0 | xargs -0 -P2 sed -i s/old/new/; cat d/e/f*; find d -type f -delete; find d -empty -type d -delete`, says: "new 3"},
	{name: "awk and sort in a locale", needs: "awk sort", script: `printf 'b 2\na 1\n\303\244 3\n' | LC_ALL=C.UTF-8 sort | awk '{s+=$2} END {print "awk", s}'; printf 'b\na\n' | LANG=de_DE.UTF-8 sort -S 1M -T "$TMPDIR"; locale charmap`, says: "awk 6\na\nb\nUTF-8"},
	{name: "locales", needs: "locale date", script: `locale -a | grep -i utf; for l in C C.UTF-8; do LC_ALL=$l bash -c 'x=$(printf "\303\244"); echo "$LC_ALL ${#x}"'; LC_ALL=$l date +%B >/dev/null; done`, says: "C 2\nC.UTF-8 1\n"},
	{name: "perl in place", needs: "perl", script: `echo old > f; perl -i.bak -pe 's/old/new/' f; cat f f.bak`, says: "new\nold"},
	{name: "diff and patch", needs: "diff patch", script: `printf 'a\nb\n' > x; printf 'a\nc\n' > y; diff -u x y > p || true; patch -s x < p; cmp x y; ls`, says: "p"},
	{name: "sqlite3", needs: "sqlite3", script: `sqlite3 x.db 'create table t(a); insert into t values(1),(2); vacuum; select sum(a) from t'`, says: "3"},
}

const noIPC = "shared memory with a number is the whole machine's without an IPC namespace"

var systemJobs = []job{
	{name: "shared memory, semaphores and queues", needs: "perl", layer: "mountns", why: noIPC, script: `perl -e 'my $m=shmget(0,9,01600) // die; my $s=semget(0,1,01600) // die; my $q=msgget(0,01600) // die; if (!fork) { shmwrite($m,"shared",0,6) or die; semop($s,pack("s!3",0,1,0)) or die; msgsnd($q,pack("l! a*",1,"queued"),0) or die; exit } semop($s,pack("s!3",0,-1,0)) or die; shmread($m,my $b,0,6) or die; msgrcv($q,my $r,9,0,0) or die; print "$b ", unpack("x[l!] a*",$r), "\n"'`, says: "shared queued"},
	{name: "fakeroot", needs: "fakeroot tar", layer: "mountns", why: noIPC, script: `echo x > f; fakeroot sh -c 'chown 7:8 f; tar cf a.tar f; id -u'; tar tvf a.tar --numeric-owner`, says: "7/8"},
	{name: "tar", needs: "tar gzip", script: `mkdir -p d/e; echo x > d/e/f; ln -s f d/e/l; ln d/e/f d/h; tar czf a.tgz d; rm -r d; tar xzf a.tgz; cat d/e/l; tar cf - d | (mkdir o; cd o; tar xf -); cat o/d/h`, says: "x\nx"},
	// Only root may give files away, and in the sandbox root does not have the capability.
	{name: "tar that keeps foreign owners", needs: "tar", only0: true, fails: true, script: `echo x > f; tar --owner=4711 --group=4711 -cf a.tar f; rm f; tar -xf a.tar`, says: "Cannot change ownership to uid 4711"},
	{name: "tar of foreign owners", needs: "tar", script: `echo x > f; tar --owner=4711 --group=4711 -cf a.tar f; rm f; opt=; [ "$(id -u)" != 0 ] || opt=--no-same-owner; tar $opt -xf a.tar; cat f; stat -c %u f`, says: "x\n"},
	{name: "zip and xz", needs: "gzip xz", script: `seq 1 999 > f; gzip -k f; xz -k f; gzip -dc f.gz | cmp - f; xz -dc f.xz | cmp - f; gzip -9 < f | zcat | wc -l`, says: "999"},
	{name: "cp -a", needs: "cp", script: `mkdir -p d/e; echo x > d/e/f; chmod 640 d/e/f; touch -d 2001-02-03 d/e/f; ln -s f d/e/l; cp -a d c; stat -c '%a %y' c/e/f; readlink c/e/l; cp --reflink=auto -r d r`, says: "640 2001-02-03"},
	{name: "rsync", needs: "rsync", optional: true, script: `mkdir a; echo x > a/f; rsync -a a/ b/; cat b/f`, says: "x"},
	{name: "umasks of several processes", needs: "stat", script: `umask 022; echo > a; (umask 0; echo > b; mkdir e); (umask 077; echo > c); echo > d; umask 027; (echo > f); stat -c %a a b e c d f | xargs`, says: "644 666 777 600 644 640"},
	{name: "processors of a shell that made files", needs: "nproc seq", script: `before=$(nproc); for i in $(seq 50); do echo > f$i; done; test "$(nproc)" = "$before" && echo same`, says: "same"},
	{name: "install and modes", needs: "install chmod", script: `echo x > f; install -D -m 755 f bin/g; umask 027; mkdir m; chmod -R u=rwX,go= bin; stat -c %a bin/g m`, says: "700\n750"},
	{name: "flock", needs: "flock", script: `exec 9> lock; flock 9; flock -n lock true && exit 1; flock -u 9; flock -n lock echo locked`, says: "locked"},
	{name: "fifos", needs: "mkfifo", script: `mkfifo p; (echo through > p) & cat p; wait`, says: "through"},
	{name: "symbolic links and their loops", needs: "ln", script: `mkdir d; ln -s d l; echo x > l/f; cat d/f; ln -s loop loop; cat loop 2>&1 || true; ln -sfn . l; readlink l; mv -T l l2`, says: "Too many levels"},
	{name: "sparse files and truncate", needs: "truncate dd fallocate", script: `truncate -s 5M f; dd if=/dev/zero of=f bs=1 seek=9 count=1 conv=notrunc status=none; fallocate -l 64K g || true; stat -c %s f; : > f; stat -c %s f`, says: "5242880\n0"},
	{name: "devices that everybody uses", needs: "head", script: `echo x > /dev/null; head -c 4 /dev/urandom | wc -c; head -c 4 /dev/zero | od -An -tx1; echo x > /dev/full && exit 1; echo x > /dev/stderr; echo y > /dev/stdout`, says: "00 00 00 00"},
	{name: "own processes", needs: "ps kill", optional: true, script: `sleep 999 & ps -o comm= -p $!; kill -0 $!; kill $!; cat /proc/self/comm; nproc; ulimit -n`, says: "cat"},
	{name: "nice, timeout, nohup, setsid", needs: "nice timeout nohup setsid", script: `nice -n 5 true; timeout 99 echo in-time; timeout 0.1 sleep 99 || echo "status $?"; nohup true 2>/dev/null; setsid -w echo session`, says: "status 124"},
	{name: "who am I, and where", needs: "id uname hostname", optional: true, script: `id -un || id -u; uname -sr; hostname >/dev/null; date +%Y >/dev/null; df . >/dev/null; getent passwd 0`, says: "root"},
	{name: "ids that are not the caller's", needs: "perl setpriv", script: `perl -MPOSIX -e 'print join " ", map { POSIX::setuid($_) ? "yes" : $!{EPERM} ? "EPERM" : $! } $<, 33, 65534; print " ", POSIX::setgid($(+0) ? "yes" : $!; print " ", POSIX::setgid(33) ? "yes" : $!{EPERM} ? "EPERM" : $!'; setpriv --reuid="$(id -u)" true; ! setpriv --euid=33 true 2>&1`, says: "yes EPERM EPERM yes EPERMsetpriv: setresuid failed: Operation not permitted"},
	{name: "terminal by script", needs: "script", layer: "mountns", why: "the machine's terminals are all in /dev/pts without a private one", script: `script -qec 'tty; test -t 1 && echo is-a-terminal' /dev/null`, says: "is-a-terminal"},
	{name: "sudo says why not", needs: "sudo", optional: true, fails: true, unless0: true, script: `sudo -n true`, says: "no new privileges"},
}
