package golden

import (
	"fmt"
	"html"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
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
	term := vt.NewEmulator(columns, len(rows))
	_, _ = term.WriteString(strings.Join(rows, "\r\n")) // an emulator takes everything
	width, height := int(float64(columns)*cellWidth)+2*margin, len(rows)*lineHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#16181d"/>`+"\n", width, height)
	b.WriteString(`<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d8dbe0">` + "\n")
	for y := range rows {
		for x := 0; x < columns; {
			begin, style, text := x, term.CellAt(x, y).Style, ""
			for ; x < columns && term.CellAt(x, y).Style.Equal(&style); x += max(1, term.CellAt(x, y).Width) {
				text += term.CellAt(x, y).Content
			}
			end := x
			if shown := strings.TrimRight(text, " "); x == columns { // what is behind the last text is not written
				text, end = shown, x-(len(text)-len(shown))
			}
			if strings.TrimSpace(text) != "" {
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f" xml:space="preserve"%s>%s</text>`+"\n",
					margin+float64(begin)*cellWidth, margin+y*lineHeight+14, float64(end-begin)*cellWidth, attributes(style), html.EscapeString(text))
			}
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// attributes are those of a text in this style.
func attributes(s uv.Style) (out string) {
	if s.Fg != nil {
		r, g, b, _ := s.Fg.RGBA()
		out = fmt.Sprintf(` fill="#%02x%02x%02x"`, r>>8, g>>8, b>>8)
	}
	for _, one := range []struct {
		attr  uint8
		words string
	}{{uv.AttrBold, ` font-weight="bold"`}, {uv.AttrItalic, ` font-style="italic"`}, {uv.AttrStrikethrough, ` text-decoration="line-through"`}} {
		if s.Attrs&one.attr != 0 {
			out += one.words
		}
	}
	return out
}
