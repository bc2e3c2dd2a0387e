package fill

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"codeagent/internal/golden"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"context"
)

func TestPage(t *testing.T) {
	full := Context{Parts: []Part{{"system text", 3100}, {"instructions", 800}, {"tools", 4200}, {"servers' tools", 0}, {"files and results", 52_000}, {"conversation", 9400}},
		Limit: 128_000, Reserve: 16_000, Assumed: true, Gain: 41_000}
	for name, c := range map[string]Context{"page": full, "empty": {Limit: 1_000_000}} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
			p := Page(keys.Standard(), func(context.Context) (Context, error) { return c, nil })
			if beside, ok := p.Load().(part.Beside); ok {
				beside(context.Background())()
			}
			lines, _, _ := p.View(paint.New(true), size[0], size[1])
			for i, l := range lines {
				if lines[i] = strings.TrimRight(ansi.Strip(l), " "); paint.Width(lines[i]) > size[0] {
					t.Errorf("wider than %d columns: %q", size[0], lines[i])
				}
			}
			golden.Check(t, fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]), strings.TrimRight(strings.Join(lines, "\n"), "\n")+"\n")
		}
	}
}
