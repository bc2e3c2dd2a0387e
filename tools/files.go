package tools

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/exec/worker"
	"codeagent/sandbox"
)

// Files lists the files and folders below a workspace for a person to choose from, relative
// to it, the upper levels first and folders with a slash behind: at most most of them, by the
// rules of a model's listing. A name with control characters or bytes that are not UTF-8 is
// left out. cut: there are more.
func Files(ctx context.Context, files *worker.Client, p sandbox.Policy, workspace string, most int) (names []string, cut bool, err error) {
	w := &walker{files: files, policy: p, depth: maxDepth, visit: func(e entry) bool {
		name := below(workspace, e.path)
		if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			return true
		}
		if e.kind == folderType {
			name += "/"
		}
		names = append(names, name)
		return len(names) < most
	}}
	err = w.walk(ctx, workspace, rulesAbove(files, workspace, workspace))
	return names, w.cut, err
}
