package tools

import "codeagent/exec"

// Within is the text of a result within most bytes: its head, its tail and the lines
// between that look like errors. All of it is kept in a file, where that is possible.
func (s Stage) Within(text string, most int) string {
	if s.Exec == nil {
		return exec.Shorten(text, most, "")
	}
	return s.Exec.Within(text, most)
}
