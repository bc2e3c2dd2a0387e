package house

import (
	"go/ast"
	"slices"
	"strings"

	"codeagent/internal/machine"
)

// checkTrials: only internal/machine says that something is not possible on a machine, because it has
// tried it, or that something is left for another turn. In CI every other skip is a failure, so a test
// that could say the same in its own words could hide what it left out.
func (h *house) checkTrials(f source) {
	if f.dir() == "." || slices.Contains([]string{"internal/machine", "internal/testsummary"}, f.room.path) {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if strings.Contains(n.Value, machine.NotPossible) || strings.Contains(n.Value, machine.Sampled) {
				h.say(n.Pos(), "%s says what only internal/machine may, after a trial or a choice", f.room.path)
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "machine" && n.Sel.Name == "NotPossible" {
				h.say(n.Pos(), "%s says what only internal/machine may, after a trial or a choice", f.room.path)
			}
		}
		return true
	})
}
