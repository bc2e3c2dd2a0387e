package experiment_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A program is made of steps. Its truth follows from them: what it does where a write outside is refused, and where
// it is allowed.
type program struct {
	argv  []string
	steps []step
}

type step struct {
	text string
	// fails is the status with which the program ends here where writes outside are refused, late one that it
	// remembers and ends with if it comes so far; own: it ends so in any case.
	fails, late, own int
	// sometimes: it ends with own by chance.
	sometimes bool
	// outside: it tries to write outside the workspace.
	outside bool
}

// ends is the status with which the program ends, and whether that is by chance.
func (p program) ends(allowed bool) (status int, chance bool) {
	for _, s := range p.steps {
		switch {
		case s.sometimes:
			chance = true
		case s.own > 0:
			return s.own, chance
		case !allowed && s.fails > 0:
			return s.fails, chance
		case !allowed && s.late > 0:
			status = s.late
		}
	}
	return status, chance
}

func (p program) writes() (outside bool) {
	for _, s := range p.steps {
		outside = outside || s.outside
	}
	return outside
}

// newProgram makes a random program for a shell or Python. It finds out, a folder outside, in $OUT, and files in its folder.
func newProgram(r *rand.Rand) program {
	g := generator{Rand: r}
	var p program
	for range 1 + r.IntN(5) {
		p.steps = append(p.steps, g.step())
	}
	if !p.writes() {
		p.steps = append(p.steps, g.required())
	}
	if r.IntN(4) == 0 { // it begins or ends with a failure of its own
		s := step{text: "fail 7", own: 7}
		if at := r.IntN(3); at > 0 {
			p.steps = append(p.steps, s)
		} else {
			p.steps = append(p.steps[:0:0], append([]step{p.steps[0], s}, p.steps[1:]...)...)
		}
	}
	language := shell
	if r.IntN(2) == 0 {
		language = python
	}
	p.argv = language(p.steps)
	return p
}

type generator struct {
	*rand.Rand
	n                          int
	consumed, counted, removed bool
}

// place is a file outside: known, new in a new folder, hidden, or of a name that differs from run to run.
func (g *generator) place() string {
	g.n++
	if !g.removed && g.IntN(11) == 0 {
		g.removed = true
		return "remove OUT/gone"
	}
	return []string{
		fmt.Sprintf("file OUT/known%d", g.n), fmt.Sprintf("append OUT/old%d", g.n%3), fmt.Sprintf("file OUT/.cfg%d", g.n),
		fmt.Sprintf("tree OUT/new%d/a/b", g.n), fmt.Sprintf("mkdir OUT/dir%d", g.n), fmt.Sprintf("passing OUT/sub/t%d", g.n), fmt.Sprintf("replace OUT/sub/r%d", g.n),
		"chmod OUT/old0", fmt.Sprintf("file OUT2/x%d", g.n), fmt.Sprintf("child OUT/c%d", g.n),
	}[g.IntN(10)]
}

func (g *generator) required() step {
	k := 1 + g.IntN(5)
	how := []string{"need", "retry", "probe"}[g.IntN(3)]
	return step{text: fmt.Sprintf("%s %d %s", how, k, g.place()), fails: k, outside: true}
}

func (g *generator) step() step {
	g.n++
	switch g.IntN(15) {
	case 0, 1, 2:
		return g.required()
	case 3:
		return step{text: "swallow " + g.place(), outside: true}
	case 4:
		return step{text: "fallback " + g.place(), outside: true}
	case 5:
		k := 1 + g.IntN(5)
		return step{text: fmt.Sprintf("late %d %s", k, g.place()), late: k, outside: true}
	case 6:
		return step{text: fmt.Sprintf("inside mkdir made%d", g.n)} // fails if it is there already
	case 7:
		s := step{text: "inside consume"} // the second time nothing is left
		if g.consumed {
			s.own = 21
		}
		g.consumed = true
		return s
	case 8:
		if g.counted { // it fails in the second run unless its state is restored
			return step{text: "inside print"}
		}
		g.counted = true
		return step{text: "inside count"}
	case 9:
		return step{text: fmt.Sprintf("inside tempdir%d", g.n)}
	case 10:
		return step{text: "inside tempfile"}
	case 11:
		return step{text: "inside edit"}
	case 12:
		if g.IntN(6) == 0 {
			return step{text: "chance 9", own: 9, sometimes: true}
		}
		return step{text: "inside print"}
	case 13:
		return step{text: "inside rename"}
	}
	return step{text: "swallow " + g.place(), outside: true}
}

// shell writes steps as a script.
func shell(steps []step) []string {
	b := &strings.Builder{}
	b.WriteString("late=0\n")
	act := func(place []string) string {
		p := strings.NewReplacer("OUT2", "$OUT2", "OUT/", "$OUT/").Replace(place[1])
		return map[string]string{
			"file": "echo x > " + p, "append": "echo y >> " + p, "tree": "mkdir -p " + p + " && echo x > " + p + "/f", "mkdir": "mkdir " + p,
			"passing": "t=$(mktemp " + p + ".XXXXXX) && echo x > $t", "replace": "t=$(mktemp " + p + ".XXXXXX) && echo x > $t && mv $t " + p,
			"remove": "rm " + p, "chmod": "chmod 600 " + p, "child": "sh -c 'echo x > " + p + "'",
		}[place[0]]
	}
	for i, s := range steps {
		w := strings.Fields(s.text)
		switch w[0] {
		case "need":
			fmt.Fprintf(b, "( %s ) || exit %s\n", act(w[2:]), w[1])
		case "retry":
			fmt.Fprintf(b, "ok=; for i in 1 2 3; do ( %s ) 2>/dev/null && ok=1 && break; done; [ $ok ] || { echo gave up >&2; exit %s; }\n", act(w[2:]), w[1])
		case "probe":
			fmt.Fprintf(b, "if ! { %s; } >/dev/null 2>&1; then echo no luck; exit %s; fi\n", act(w[2:]), w[1])
		case "swallow":
			fmt.Fprintf(b, "( %s ) 2>/dev/null || true\n", act(w[1:]))
		case "fallback":
			fmt.Fprintf(b, "( %s ) 2>/dev/null || echo x > instead%d || exit 6\n", act(w[1:]), i)
		case "late":
			fmt.Fprintf(b, "( %s ) || late=%s\n", act(w[2:]), w[1])
		case "fail":
			fmt.Fprintf(b, "echo broken >&2; exit %s\n", w[1])
		case "chance":
			fmt.Fprintf(b, "[ $(od -An -N1 -tu1 /dev/urandom) -gt 80 ] || exit %s\n", w[1])
		default:
			b.WriteString(map[string]string{
				"consume": "if [ -e todo ]; then mv todo done1; else exit 21; fi", "count": "echo 1 >> log; [ $(wc -l < log) -le 20 ] || exit 22", "tempfile": "t=$(mktemp) && echo x > $t && rm $t || exit 23",
				"edit": "sed -i s/one/two/ text && grep -q two text || exit 24", "print": "echo working; ls > list", "rename": "if [ -d d ]; then mv d e; else mv e d; fi || exit 25",
				"mkdir": "mkdir " + w[len(w)-1] + " || exit 26",
			}[strings.TrimRight(w[1], "0123456789")])
			if strings.HasPrefix(w[1], "tempdir") {
				b.WriteString("mkdir $TMPDIR/" + w[1] + " || exit 27")
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("exit $late\n")
	return []string{"/bin/bash", "-c", b.String()}
}

// python writes them as a program.
func python(steps []step) []string {
	b := &strings.Builder{}
	b.WriteString(`import os,sys,tempfile,subprocess,random
OUT,OUT2=os.environ["OUT"],os.environ["OUT2"]
late=0
def act(kind,p):
    p=p.replace("OUT2",OUT2,1) if p.startswith("OUT2") else p.replace("OUT",OUT,1)
    if kind=="file": open(p,"w").write("x")
    elif kind=="append": open(p,"a").write("y")
    elif kind=="tree": os.makedirs(p); open(p+"/f","w").write("x")
    elif kind=="mkdir": os.mkdir(p)
    elif kind=="passing":
        f,t=tempfile.mkstemp(dir=os.path.dirname(p)); os.write(f,b"x")
    elif kind=="replace":
        f,t=tempfile.mkstemp(dir=os.path.dirname(p)); os.write(f,b"x"); os.rename(t,p)
    elif kind=="remove": os.remove(p)
    elif kind=="chmod": os.chmod(p,0o600)
    elif kind=="child": subprocess.run(["sh","-c","echo x > "+p],check=True)
`)
	for i, s := range steps {
		w := strings.Fields(s.text)
		call := func(w []string) string { return fmt.Sprintf("act(%q,%q)", w[0], w[1]) }
		switch w[0] {
		case "need":
			fmt.Fprintf(b, "try: %s\nexcept Exception as e: print(e,file=sys.stderr); sys.exit(%s)\n", call(w[2:]), w[1])
		case "retry":
			fmt.Fprintf(b, "for i in range(3):\n    try: %s; break\n    except Exception: pass\nelse: print('gave up'); sys.exit(%s)\n", call(w[2:]), w[1])
		case "probe":
			fmt.Fprintf(b, "try: %s\nexcept Exception: os._exit(%s)\n", call(w[2:]), w[1])
		case "swallow":
			fmt.Fprintf(b, "try: %s\nexcept Exception: pass\n", call(w[1:]))
		case "fallback":
			fmt.Fprintf(b, "try: %s\nexcept Exception: open('instead%d','w').write('x')\n", call(w[1:]), i)
		case "late":
			fmt.Fprintf(b, "try: %s\nexcept Exception: late=%s\n", call(w[2:]), w[1])
		case "fail":
			fmt.Fprintf(b, "raise SystemExit(%s)\n", w[1])
		case "chance":
			fmt.Fprintf(b, "if random.random()<.3: sys.exit(%s)\n", w[1])
		default:
			b.WriteString(map[string]string{
				"consume": "if not os.path.exists('todo'): sys.exit(21)\nos.rename('todo','done1')", "count": "open('log','a').write('1\\n')\nif len(open('log').readlines())>20: sys.exit(22)",
				"tempfile": "tempfile.NamedTemporaryFile().write(b'x')", "edit": "s=open('text').read().replace('one','two'); open('text','w').write(s)\nif 'two' not in s: sys.exit(24)",
				"print": "print('working'); open('list','w').write(str(os.listdir('.')))", "rename": "os.rename(*(('d','e') if os.path.isdir('d') else ('e','d')))", "mkdir": "os.mkdir('" + w[len(w)-1] + "')",
			}[strings.TrimRight(w[1], "0123456789")])
			if strings.HasPrefix(w[1], "tempdir") {
				b.WriteString("os.mkdir(os.environ['TMPDIR']+'/" + w[1] + "')")
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("sys.exit(late)\n")
	return []string{"python3", "-c", b.String()}
}
