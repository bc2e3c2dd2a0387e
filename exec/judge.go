package exec

import (
	"os"
	"strings"

	"codeagent/exec/verdict"
	"codeagent/sandbox"
)

// Judge returns the verdict on a command that ran in dir under p. A caller that changes the
// outcome's Output or Limit must call Judge again.
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

// plainQuotes replaces typographic quotation marks by ASCII ones.
var plainQuotes = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`, "`", "'")
