package golden

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The picture's measures in pixels: a monospaced font of size 14 has cells
// 8.4 wide, and 19 is a comfortable line.
const (
	cellWidth  = 8.4
	lineHeight = 19
	margin     = 16
)

// SVG draws a screen, rows of text with colour sequences (24 bit), as a picture
// for a document. The result depends only on the screen, so it can be a golden file.
func SVG(screen string, columns int) string {
	rows := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	width, height := int(float64(columns)*cellWidth)+2*margin, len(rows)*lineHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#16181d"/>`+"\n", width, height)
	b.WriteString(`<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d8dbe0">` + "\n")
	for y, row := range rows {
		for _, r := range runs(row) {
			if strings.TrimSpace(r.text) == "" {
				continue
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f" xml:space="preserve"%s>%s</text>`+"\n",
				margin+float64(r.column)*cellWidth, margin+y*lineHeight+14, float64(r.width)*cellWidth, r.attributes(), html.EscapeString(r.text))
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// run is text with the same style.
type run struct {
	text          string
	column, width int
	color         string
	bold, italic  bool
	struck        bool
}

func (r run) attributes() string {
	var b strings.Builder
	if r.color != "" {
		fmt.Fprintf(&b, ` fill="%s"`, r.color)
	}
	if r.bold {
		b.WriteString(` font-weight="bold"`)
	}
	if r.italic {
		b.WriteString(` font-style="italic"`)
	}
	if r.struck {
		b.WriteString(` text-decoration="line-through"`)
	}
	return b.String()
}

// runs splits a row at its colour sequences.
func runs(row string) []run {
	var out []run
	now := run{}
	column := 0
	for i, part := range strings.Split(row, "\x1b[") {
		if i > 0 {
			codes, rest, ok := strings.Cut(part, "m")
			if !ok {
				continue
			}
			now.apply(codes)
			part = rest
		}
		if part == "" {
			continue
		}
		now.text, now.column, now.width = part, column, ansi.StringWidth(part)
		column += now.width
		out = append(out, now)
	}
	return out
}

// apply changes the style by the codes of one SGR sequence.
func (r *run) apply(codes string) {
	list := strings.Split(codes, ";")
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case "", "0":
			*r = run{}
		case "1":
			r.bold = true
		case "3":
			r.italic = true
		case "9":
			r.struck = true
		case "38":
			if i+4 < len(list) && list[i+1] == "2" {
				r.color = "#"
				for _, c := range list[i+2 : i+5] {
					n, err := strconv.Atoi(c)
					if err != nil {
						n = 0
					}
					r.color += fmt.Sprintf("%02x", n)
				}
				i += 4
			}
		}
	}
}
