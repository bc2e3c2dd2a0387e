package session

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"strings"
)

// htmlPage writes one file that contains its images, has no script and loads nothing; its
// content security policy forbids both.
type htmlPage struct{ w *bufio.Writer }

const htmlTop = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
img { display: block; max-width: 100%%; margin: .3rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; font: inherit; }
.tool_call pre, .tool_result pre, .reasoning pre, .note pre { font: 13px/1.4 ui-monospace, monospace; }
section { border-left: 3px solid #8886; padding-left: 1rem; margin: 1rem 0; }
.user { border-color: #27c; }
h1 { font-size: 1.3rem; } h2, summary { font-size: .8rem; color: #888; margin: 0; font-weight: 600; }
</style>
</head>
<body>
`

func (p htmlPage) begin(title string, facts []string) {
	fmt.Fprintf(p.w, htmlTop, escape(title))
	fmt.Fprintf(p.w, "<h1>%s</h1>\n", escape(title))
	for _, f := range facts {
		fmt.Fprintf(p.w, "<p>%s</p>\n", escape(f))
	}
}

func (p htmlPage) part(t part) {
	open, end := "<h2>%s</h2>", ""
	if t.folded {
		open, end = "<details><summary>%s</summary>", "</details>"
	}
	fmt.Fprintf(p.w, "<section class=\"%s\">"+open+"<pre>\n%s</pre>", escape(t.class), escape(t.heading), escape(t.text))
	for _, i := range t.images {
		p.image(i)
	}
	fmt.Fprint(p.w, end+"</section>\n")
}

// image writes an image, or its description if the data is lost.
func (p htmlPage) image(i drawn) {
	if len(i.data) == 0 {
		fmt.Fprintf(p.w, "<pre>%s</pre>", escape(i.words))
		return
	}
	fmt.Fprintf(p.w, "<img alt=\"%s\" src=\"data:%s;base64,", escape(i.words), escape(i.mediaType))
	e := base64.NewEncoder(base64.StdEncoding, p.w)
	_, _ = e.Write(i.data) // the page's Flush reports the error
	_ = e.Close()
	fmt.Fprint(p.w, "\">")
}

func (p htmlPage) end() { fmt.Fprint(p.w, "</body>\n</html>\n") }

// escape escapes text for use between tags and in a quoted attribute.
func escape(text string) string { return htmlEscapes.Replace(text) }

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")
