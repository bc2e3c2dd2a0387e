package tools

import "codeagent/exec"

// Within cuts the text of a result to most bytes: head, tail and the error-like lines
// between them. The whole text is kept in a file if possible.
func (s Stage) Within(text string, most int) string {
	if s.Exec == nil {
		return exec.Shorten(text, most, "")
	}
	return s.Exec.Within(text, most)
}
