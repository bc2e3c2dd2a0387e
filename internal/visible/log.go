package visible

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// The logs of CI systems obey what stands in them. GitHub Actions takes a line that begins with
// "::", after white space, for a command, and "##[" anywhere in one; Azure Pipelines takes "##vso["
// anywhere, and "##[" at the beginning (actions/runner ActionCommand.cs, azure-pipelines-agent
// Command.cs). Both compare by the rules of a language, for which some characters count for
// nothing, so "#\u200d#[" is the same to them.

const nothing = `[\p{Cf}\p{Mn}]*`

// anywhere and first are compiled when the first text needs them: most runs have none.
var (
	anywhere = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`#(` + nothing + `#` + nothing + `(?:v` + nothing + `s` + nothing + `o` + nothing + `)?\[)`)
	})
	first = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^([\s\p{Z}\p{Cf}\p{Mn}]*):(` + nothing + `:)`)
	})
)

// Log returns text, of one or several lines, with a backslash in what a CI system would obey in its log.
func Log(text string) string {
	if strings.Contains(text, "#") && strings.Contains(text, "[") {
		text = anywhere().ReplaceAllString(text, `#\$1`)
	}
	if strings.Contains(text, ":") {
		text = first().ReplaceAllString(text, `$1\:$2`)
	}
	return text
}

// unobeyed is Log for JSON, as escapes that a decoder undoes.
func unobeyed(data []byte) []byte {
	if !bytes.Contains(data, []byte("#")) {
		return data
	}
	return anywhere().ReplaceAll(data, []byte(`\u0023$1`))
}
