package exec_test

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// The shapes: generated commands. Each shape runs something in a certain way (a retry, a
// trap, a fork), filled with something that the sandbox may deny and with something else
// that happens. Which of them are denied is not stored: every run finds it out, as in the
// corpus.
//
// One half of them, chosen by a hash of the command, may be examined while the verdict is
// developed. The other half is only counted.

// shape is a command with holes: {R} is what may be denied, {S} another such action,
// {E} what else happens, {P} what follows if {R} succeeds. {r}, {e} and {p} are the
// same for a makefile.
type shape struct {
	text, setup, needs string
	// few: it is slow, so it is filled less often.
	few bool
}

// shapeRefused are the actions. Not all of them are denied, and some fail without a sandbox
// too.
var shapeRefused = []string{
	`touch $OUT/x`, `cp a $OUT/c`, `mkdir $OUT/d`, `rm $OUT/f`, `echo x >$OUT/r`, `chmod 600 $OUT/f`, `mv $OUT/f took`, `ln -s a $OUT/l`,
	`python3 write.py $OUT/p`, `python3 calm.py $OUT/p 0`, `python3 calm.py $OUT/p 3`, `perl write.pl $OUT/p`, `node write.js $OUT/n`,
	`curl -sf -o page http://127.0.0.1:$PORT/`, `curl -sf -o page http://127.0.0.1:$PORT/forbidden`, `curl -sf http://127.0.0.1:$FREE/`,
	`sed -i s/f/g/ $OUT/f`, `touch $OUT/x $OUT/absent/y`, `tar -cf $OUT/t.tar a`, `cp -r sub $OUT/s`, `cat a >$OUT/redirected`, `tee $OUT/t <a`,
	`git config --global user.name dev`, `dd if=a of=$OUT/dd status=none`, `python3 count.py $OUT/1 b $OUT/2`, `sh quiet.sh $OUT/q`,
	`touch here`, `mkdir $OUT/dir`, `rm $OUT/absent`, `grep -q nothing a`, `python3 retry.py $OUT/p sub/p`, `python3 retry.py $OUT/p $OUT/q`,
	`rmdir $OUT/empty`, `truncate -s 0 $OUT/f`, `grep -c a missing $OUT/f >$OUT/g`,
}

// shapeElse is what else happens.
var shapeElse = []string{
	`true`, `false`, `grep -q nothing a`, `echo done`, `test -e missing`, `diff a b`, `exit 3`, `cat missing`, `cat a`, `test -s a`,
	`python3 calm.py sub/c 5`, `touch here`, `[ -e $OUT/x ]`, `cp missing here`, `sh -c false`, `ls $OUT`, `true`, `cat $OUT/f`, `grep -q f $OUT/f`, `echo done`,
	`python3 write.py sub/c`, `test -d $OUT`, `:`, `sleep 0`, `cp a sub/a`, `echo x >sub/e`, `mkdir -p sub/deep`, `cat a $OUT/f`, `[ -s a ]`, `true`,
}

// shapeNext is what happens only if a denied action had succeeded. That it would fail as well
// cannot be seen from the denial, so few of these do.
var shapeNext = []string{
	`true`, `echo done`, `cat a`, `test -s a`, `touch here`, `ls $OUT`, `grep -q f $OUT/f`, `python3 write.py sub/c`, `cp a sub/a`, `mkdir -p sub/deep`,
	`grep -q nothing a`, `test -e missing`,
}

// shapeTools are programs that are in the workspace of every command.
var shapeTools = map[string]string{
	"write.py": `import sys; open(sys.argv[1], "w").write("x")
`,
	"calm.py": `import sys
try: open(sys.argv[1], "w").write("x")
except OSError as e: print("no cache:", e)
sys.exit(int(sys.argv[2]))
`,
	"retry.py": `import sys
for p in sys.argv[1:]:
  try: open(p, "w").write("x"); break
  except OSError: pass
else: sys.exit(4)
`,
	"count.py": `import sys
n = 0
for p in sys.argv[1:]:
  try: open(p, "w").write("x")
  except OSError: n += 1
sys.exit(n)
`,
	"write.pl": `open(my $f, ">", $ARGV[0]) or die "no: $!\n"
`,
	"write.js": `require("fs").writeFileSync(process.argv[2], "x")
`,
	"quiet.sh": `touch $1 2>/dev/null
`,
	"seq.py": `import subprocess, sys
mode, failed = sys.argv[1], 0
for c in sys.argv[2:]:
    s = subprocess.call(c, shell=True)
    if mode == "check" and s: raise SystemExit(s)
    failed += s != 0
sys.exit({"any": int(failed > 0), "count": failed, "last": s, "none": 0, "check": 0, "all": int(failed == len(sys.argv) - 2)}[mode])
`,
	"fork.py": `import os, sys
def chain(n):
    pid = os.fork()
    if pid == 0:
        if n: chain(n - 1)
        os.execvp("sh", ["sh", "-c", sys.argv[2]])
    s = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if sys.argv[1] == "pass" or not s: os._exit(s)
    if sys.argv[1] == "hide": os._exit(0)
    os.execvp("sh", ["sh", "-c", sys.argv[3]])
chain(1)
`,
	"pipe.py": `import os, subprocess, sys
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    s = subprocess.call(sys.argv[1], shell=True)
    os.write(w, b"%d" % s)
    os._exit(0)
os.close(w)
said = os.read(r, 9)
os.waitpid(pid, 0)
sys.exit(subprocess.call(sys.argv[2], shell=True) or said != b"0")
`,
	"chain.pl": `my $bad = 0;
for (@ARGV) { my $p = fork; if (!$p) { exec "sh", "-c", $_ } waitpid $p, 0; $bad++ if $? }
exit $bad;
`,
	"all.js": `const run = c => new Promise((ok, no) => require("child_process").exec(c, e => e ? no(e) : ok()));
const [how, ...cmds] = process.argv.slice(2);
const one = () => cmds.reduce((p, c) => p.then(() => run(c)), Promise.resolve());
const many = () => cmds.reduce((p, c) => p.then(n => run(c).then(() => n, () => n + 1)), Promise.resolve(0));
if (how === "throw") one().then(() => console.log("ok"));
if (how === "catch") one().catch(e => { console.log("gave up"); process.exitCode = 2 });
if (how === "calm") one().catch(() => console.log("never mind"));
if (how === "count") many().then(n => process.exit(n));
if (how === "any") many().then(n => process.exit(n === cmds.length ? 1 : 0));
`,
	"files.js": `const fs = require("fs/promises");
const [how, ...paths] = process.argv.slice(2);
const jobs = paths.map(p => fs.appendFile(p, "x"));
if (how === "all") Promise.all(jobs).catch(() => process.exit(1));
if (how === "settled") Promise.allSettled(jobs).then(l => process.exit(l.filter(o => o.status === "rejected").length));
if (how === "any") Promise.any(jobs).catch(() => process.exit(9));
if (how === "late") Promise.allSettled(jobs).then(() => fs.readFile("missing"));
`,
}

var shapes = []shape{
	// One after the other.
	{text: `{R}`}, {text: `{R}; {E}`}, {text: `{R} && {P}`}, {text: `{R} || {E}`}, {text: `{R} || {S}`}, {text: `{R} || {S} || {E}`},
	{text: `{E} && {R}`}, {text: `{E}; {R}`}, {text: `{E} || {R}`}, {text: `{R}; {S}; {E}`}, {text: `{R} 2>/dev/null; {E}`},
	// Retries.
	{text: `for i in 1 2 3; do {R} && break; done; {E}`}, {text: `n=0; until {R}; do n=$((n+1)); [ $n -lt 3 ] || exit 4; done; {E}`},
	{text: `for i in 1 2; do {R} && exit 0; done; {E}`}, {text: `i=0; while [ $i -lt 2 ]; do i=$((i+1)); {R} || {E}; done`},
	{text: `{R} || { {S} || {E}; }`}, {text: `try() { "$@" || "$@"; }; try {R}`},
	// Traps, signals, time limits.
	{text: `trap '{R}' EXIT; {E}`}, {text: `trap 'echo failed; exit 9' ERR; {R}; {P}`}, {text: `trap 'exit 7' TERM; {R}; {E}; kill -TERM $$`},
	{text: `trap '{E}' EXIT; {R}`}, {text: `timeout 20 sh -c '{R}; {E}'`}, {text: `timeout 20 sh -c '{R} && {P}'`}, {text: `sh -c '{R} || kill -9 $$'; {E}`},
	{text: `sh -c '{R}; kill -TERM $$'`}, {text: `{R} || kill -TERM $$; {E}`},
	// Shells in shells.
	{text: `bash -c 'bash -c "{R}; {E}"'`}, {text: `bash -c 'sh -c "{R} && {P}"; exit $?'`}, {text: `bash -ec '{R}; {P}'`}, {text: `bash -c '{R}' || {E}`},
	{text: "bash <<'END'\n{R}\n{E}\nEND"}, {text: "sh -e <<'END'\n{R}\n{P}\nEND"}, {text: `(({R}); {E})`}, {text: `({R}) || ({E})`}, {text: `( {R}; exit $? ) && {P}`},
	{text: `eval "{R}"; {E}`}, {text: `bash run.sh`, setup: "printf '%s\\n' '{R}' '{E}' >run.sh"}, {text: `sh -eu run.sh; {E}`, setup: "printf '%s\\n' '{R}' '{S}' >run.sh"},
	{text: `./run.sh && {P}`, setup: "printf '%s\\n' '#!/bin/sh' '{R}' >run.sh; chmod +x run.sh"}, {text: `. ./part.sh; {E}`, setup: "printf '%s\\n' '{R}' >part.sh"},
	// In the background.
	{text: `{R} & wait $!; {E}`}, {text: `{R} & p=$!; {E}; wait $p`}, {text: `{R} & wait; {E}`}, {text: `({R}) & a=$!; wait $a || {E}`}, {text: `({R}; {E}) & wait $!`},
	// What shells are set to.
	{text: `set -e; {R}; {P}`}, {text: `set -e; {R} || true; {E}`}, {text: `set -eo pipefail; {R} | cat; {P}`}, {text: `set -o pipefail; {E} | cat; {R} | cat`},
	{text: `{R} | cat; {E}`}, {text: `cat a | {R}; {E}`}, {text: `{R} | {E}`}, {text: `set -e; if {R}; then {P}; fi; {E}`},
	// Who decides.
	{text: `if {R}; then {P}; else {S}; fi`}, {text: `if ! {R}; then echo failed; exit 3; fi; {P}`}, {text: `! {R}; {E}`}, {text: `case x in x) {R};; *) {E};; esac`},
	{text: `f() { {R}; }; g() { f; {E}; }; g`}, {text: `f() { {R} || return 5; {P}; }; f`}, {text: `{R}; s=$?; {E}; exit $s`}, {text: `e=0; {R} || e=$((e+1)); {E} || e=$((e+1)); exit $e`},
	{text: `ok=yes; {R} || ok=no; {E}; test $ok = yes`}, {text: `x=$({R}) || {E}`}, {text: `echo "$({R})" >/dev/null; {E}`}, {text: `{ {R}; {E}; } >log 2>&1`},
	{text: `{R}; {E}; true`}, {text: `{ {R} && {P}; } || {S}`}, {text: `while read -r l; do {R}; done <a; {E}`}, {text: `cat < <({R}); {E}`},
	// Programs that run others.
	{text: `printf '1\n2\n' | xargs -I{} sh -c '{R}; {E}'`}, {text: `printf '1\n2\n' | xargs -n1 sh -c '{R} && {P}'`}, {text: `find sub -type d -exec sh -c '{R}' \; -o -name x; {E}`},
	{text: `find sub -type d -exec sh -c '{R} && {P}' {} +`}, {text: `env A=b nice sh -c '{R}'; {E}`}, {text: `setsid -w sh -c '{R}; {E}'`},
	{text: `make`, setup: `printf 'all: one two\none:\n\t{r}\ntwo:\n\t{p}\n' >Makefile`, needs: "make"}, {text: `make -k`, setup: `printf 'all: one two\none:\n\t{r}\ntwo:\n\t{e}\n' >Makefile`, needs: "make"},
	{text: `make; {E}`, setup: `printf 'all:\n\t-{r}\n\t@{e}\n' >Makefile`, needs: "make"}, {text: `make -s one || make -s two`, setup: `printf 'one:\n\t{r}\ntwo:\n\t{e}\n' >Makefile`, needs: "make"},
	{text: `make -j2`, setup: `printf 'all: one\n\t{p}\none:\n\t{r}\n' >Makefile`, needs: "make"},
	{text: `python3 seq.py check "{R}" "{P}"`}, {text: `python3 seq.py any "{R}" "{E}"`}, {text: `python3 seq.py count "{R}" "{E}"`}, {text: `python3 seq.py last "{R}" "{E}"`},
	{text: `python3 seq.py all "{R}" "{S}" "{E}"`}, {text: `python3 seq.py none "{R}"; {E}`}, {text: `python3 fork.py pass "{R}"`}, {text: `python3 fork.py hide "{R}"; {E}`},
	{text: `python3 fork.py then "{R}" "{E}"`}, {text: `python3 pipe.py "{R}" "{E}"`}, {text: `perl chain.pl "{R}" "{E}"`}, {text: `perl -e 'system("sh", "-c", $ARGV[0]) == 0 or die "no\n"' "{R}"; {E}`},
	{text: `perl -e 'exec "sh", "-c", $ARGV[0]' "{R}" && {P}`},
	{text: `node all.js throw "{R}" "{P}"`}, {text: `node all.js catch "{R}" "{P}"`}, {text: `node all.js calm "{R}"; {E}`}, {text: `node all.js count "{R}" "{E}"`}, {text: `node all.js any "{R}" "{E}"`},
	{text: `node files.js all $OUT/x here; {E}`, few: true}, {text: `node files.js settled $OUT/x here; {E}`, few: true}, {text: `node files.js any $OUT/x here && {P}`, few: true},
	{text: `node files.js any $OUT/x $OUT/y; {E}`, few: true}, {text: `node files.js late $OUT/x; {E}`, few: true}, {text: `node files.js settled $OUT/x absent/y || {E}`, few: true},
	{text: `npm test --silent`, setup: `printf '{"scripts": {"test": "{R} && {P}"}}' >package.json`, needs: "npm", few: true},
	{text: `npm run -s two`, setup: `printf '{"scripts": {"pretwo": "{R}", "two": "{P}"}}' >package.json`, needs: "npm", few: true},
	{text: `go test .`, setup: `printf 'module m\ngo 1.21\n' >go.mod; printf 'package m\nimport ("testing"; "os/exec")\nfunc TestX(t *testing.T) { if exec.Command("sh", "-c", "{R}").Run() != nil { t.Fail() } }\nfunc TestY(t *testing.T) { if exec.Command("sh", "-c", "{E}").Run() != nil { t.Fail() } }\n' >m_test.go`, needs: "go", few: true},
	{text: `go run m.go`, setup: `printf 'package main\nimport ("os"; "os/exec")\nfunc main() { _ = exec.Command("sh", "-c", "{R}").Run(); if exec.Command("sh", "-c", "{E}").Run() != nil { os.Exit(7) } }\n' >m.go`, needs: "go", few: true},
}

// How often each shape is filled.
const (
	shapeFills = 4
	shapeFew   = 2
)

// shapeRows returns the commands. The fillings of a shape depend only on its text, so that a
// new shape changes no other command.
func shapeRows() []corpusRow {
	var rows []corpusRow
	seen := map[string]bool{}
	for _, s := range shapes {
		fills := shapeFills
		if s.few {
			fills = shapeFew
		}
		for n := range fills {
			row := s.fill(n)
			if key := row.script + row.setup; !seen[key] {
				seen[key] = true
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// fill returns the n-th command of the shape.
func (s shape) fill(n int) corpusRow {
	h := fnv.New32a()
	fmt.Fprint(h, n, s.text, s.setup)
	pick := h.Sum32()
	refused := shapeRefused[pick%uint32(len(shapeRefused))]
	second := shapeRefused[(pick/64)%uint32(len(shapeRefused))]
	other := shapeElse[(pick/4096)%uint32(len(shapeElse))]
	next := shapeNext[(pick/512)%uint32(len(shapeNext))]
	inMake := strings.NewReplacer("$OUT", "$(OUT)", "$PORT", "$(PORT)", "$FREE", "$(FREE)")
	holes := strings.NewReplacer("{R}", refused, "{S}", second, "{E}", other, "{P}", next, "{p}", inMake.Replace(next), "{r}", inMake.Replace(refused), "{e}", inMake.Replace(other))
	return corpusRow{script: holes.Replace(s.text), setup: holes.Replace(s.setup), needs: s.needs}
}

// studied reports whether a command is in the half that may be examined.
func studied(r corpusRow) bool {
	h := fnv.New64a()
	fmt.Fprint(h, r.script, "\x00", r.setup)
	return h.Sum64()>>20&1 == 0
}
