package review

import (
	"fmt"
	"strings"
	"testing"
)

func TestFault(t *testing.T) {
	const empty, repeats, names = "is empty", "only repeats the request", "names nothing"
	npm := Subject{Command: "npm install --no-audit leftpad", Opens: []string{"/home/ada/.npm", "registry.npmjs.org:443"}}
	ship := Subject{Command: "./ship.sh prod"}
	for _, c := range []struct {
		about  Subject
		reason string
		want   string
	}{
		{npm, "npm needs its cache and the registry to install the package you asked for", ""},
		{npm, "to download leftpad, which the build imports", ""},
		{npm, "npm braucht seinen Cache und das Verzeichnis der Pakete", ""},
		{npm, "npm a besoin de son cache pour installer le paquet", ""},
		{npm, "npm bağımlılıkları indirecek", ""},
		{npm, "npm 需要写入缓存目录", ""},
		{npm, "npm のキャッシュに書き込みます", ""},
		{npm, "npm ต้องเขียนลงในแคช", ""},
		{npm, "npm이 레지스트리에서 패키지를 받아야 합니다", ""},
		{npm, "npm يحتاج إلى ذاكرة التخزين المؤقت", ""},
		{npm, "чтобы npm скачал зависимости проекта", ""},
		{npm, "", empty},
		{npm, " … -- !\n", empty},
		{npm, "npm install leftpad", repeats},
		{npm, "run npm install", repeats},
		{npm, "NPM: installing leftpad!", repeats},
		{npm, "required", names},
		{npm, "npm 需要", repeats},
		{npm, "write /home/ada/.npm and registry.npmjs.org", repeats},
		{npm, "needed to complete the task", names},
		{npm, "I need this permission to continue", names},
		{npm, "Bitte erlauben, sonst geht es nicht weiter", names},
		{npm, "需要这个权限才能继续完成任务", names},
		{ship, "ship.sh signs the release with your agent", ""},
		{ship, "uploads the files to the server", names},
		{npm, strings.Repeat("x", 1<<20), empty},
		{npm, "npm " + strings.Repeat("because ", 1<<16), repeats},
	} {
		if got := c.about.Fault(c.reason); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%.60q: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestSameAndRelated(t *testing.T) {
	if !Same("Needed: for the  build", "needed for the build.") || Same("needed for the build", "needed for the tests") {
		t.Error("Same compares other things than words")
	}
	npm := Subject{Command: "npm install", Opens: []string{"/home/ada/.npm"}}
	for _, c := range []struct {
		other Subject
		want  bool
	}{
		{Subject{Command: "npm ci"}, true},
		{Subject{Command: "node x.js", Opens: []string{"/home/ada/.npm"}}, true},
		{Subject{Command: "cargo build", Opens: []string{"/home/ada/.cargo"}}, false},
		{Subject{}, false},
	} {
		if got := npm.Related(c.other); got != c.want {
			t.Errorf("%+v: %v, want %v", c.other, got, c.want)
		}
	}
}

// FuzzFault: Fault returns for every text. A reason that contains another one as a line has no more
// faults than that one.
func FuzzFault(f *testing.F) {
	f.Add("npm install", "npm needs its cache", "and more")
	f.Fuzz(func(t *testing.T, command, reason, more string) {
		s := Subject{Command: command, Opens: []string{command}}
		if len(reason)+len(more) < maxText/2 && s.Fault(reason) == "" && s.Fault(reason+"\n"+more) != "" {
			t.Errorf("%q is a reason for %q, but not with %q added", reason, command, more)
		}
	})
}

// BenchmarkFault: a long command and a long reason.
func BenchmarkFault(b *testing.B) {
	var command, reason strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&command, "abcd%d ", i)
		fmt.Fprintf(&reason, "abcdx%d ", i)
	}
	s := Subject{Command: command.String()}
	for b.Loop() {
		s.Fault(reason.String()[:2048])
	}
}
