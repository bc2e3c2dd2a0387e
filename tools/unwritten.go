package tools

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"codeagent/patch"
	"codeagent/sandbox"
)

// Unwritten returns the arguments of a call of apply_patch that makes the files that a command checked out
// and that are not there, and their paths. So they are shown, judged and written like any other edit, and exactly
// as shown. Files that a patch cannot contain as they are, and those that are no text, are left out.
func Unwritten(v sandbox.Verdict) (arguments string, paths []string) {
	body := ""
	for _, d := range v.Unwritten() {
		add := "*** Add File: " + d.Target + "\n"
		for line := range strings.Lines(string(d.Unwritten.Content)) {
			add += "+" + line
		}
		if !strings.HasSuffix(add, "\n") {
			add += "\n\\ No newline at end of file\n"
		}
		p, err := patch.Parse(whole(add))
		if c := d.Unwritten.Content; err == nil && c != nil && utf8.Valid(c) && !bytes.ContainsRune(c, 0) && len(p.Files) == 1 && p.Files[0].Path == d.Target && bytes.Equal(p.Files[0].Content, c) {
			body, paths = body+add, append(paths, d.Target)
		}
	}
	out, err := json.Marshal(applyPatchArguments{Patch: whole(body)})
	if err != nil {
		return "", nil
	}
	return string(out), paths
}

func whole(body string) string { return "*** Begin Patch\n" + body + "*** End Patch\n" }
