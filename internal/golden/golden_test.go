package golden

import (
	"encoding/xml"
	"io"
	"os/exec"
	"strings"
	"testing"
)

func TestSVGIsWellFormedAndKeepsColumns(t *testing.T) {
	got := SVG("\x1b[1;38;2;255;0;16mred\x1b[m <plain> & \x1b[3m漢\x1b[mend\n\nlast", 20)
	for _, want := range []string{
		`fill="#ff0010" font-weight="bold">red<`, `&lt;plain&gt; &amp;`, `font-style="italic">漢<`,
		`x="150.4" y="30" textLength="25.2" xml:space="preserve">end<`, `y="68"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture lacks %s:\n%s", want, got)
		}
	}
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTerminalRunsAProgram(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", `stty -echo; printf 'name? '; read x; printf 'hello %s\n' "$x"; stty size; exit 3`)
	cmd.Env = []string{"TERM=xterm", "PATH=/usr/bin:/bin"}
	term := Start(t, cmd, 50, 10)
	term.WaitFor("name?")
	term.Write("ada\n")
	term.WaitFor("hello ada")
	term.WaitFor("10 50")
	if err, ok := term.WaitExit().(*exec.ExitError); !ok || err.ExitCode() != 3 {
		t.Errorf("ended with %v", err)
	}
}
