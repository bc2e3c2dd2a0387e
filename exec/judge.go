package exec

import (
	"os"
	"strings"

	"codeagent/exec/verdict"
	"codeagent/sandbox"
)

// Judge is the verdict on a command that ran in dir under p. Whoever sets the
// outcome's output or limit anew asks again.
func Judge(p sandbox.Policy, o Outcome, files verdict.FileSystem, dir string) sandbox.Verdict {
	e := verdict.Evidence{
		Policy: p, Dir: dir, Argv: o.Argv, Status: o.Status,
		TimedOut: o.TimedOut, Interrupted: o.Interrupted, Limit: o.Limit, Trace: o.Trace,
	}
	e.Home, _ = os.UserHomeDir()
	if o.Failed() {
		e.Output = strings.Split(plainQuotes.Replace(Shown(o.Output.Text())), "\n")
	}
	return verdict.Judge(e, files)
}

// plainQuotes makes one kind of quotes of the typographic ones.
var plainQuotes = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`, "`", "'")
