package exec_test

import (
	"os"
	"testing"

	"codeagent/internal/machine"
	"codeagent/sandbox"
)

// The minimum quality of the verdicts on each half. The rest cannot be known: how a program
// reacts to a denial, and how commands that never ran would have ended.
const (
	shapesWanted  = 380
	shapesDenied  = 45
	shapesF1      = 0.82
	shapesCertain = 0.99
)

// TestShapesAsRoot and TestShapesAsUser run a sample in turn, and with CI=true all of it.
func TestShapesAsRoot(t *testing.T) { asRoot(t, runShapes) }

func TestShapesAsUser(t *testing.T) { asCorpusUser(t, runShapes) }

func runShapes(t *testing.T, stage string) {
	t.Helper()
	results := runRows(t, stage, pickShapes(t))
	for half, name := range map[bool]string{true: "the half that was looked at", false: "the other half"} {
		tellShapes(t, name, half, results)
	}
}

// tellShapes counts the verdicts of one half. It names no command of the half that may not be
// examined.
func tellShapes(t *testing.T, name string, half bool, results []*corpusResult) {
	t.Helper()
	var c struct{ all, denied, right, wrong, missed, certain, surely, rule int }
	for _, r := range results {
		v := r.boxed.Verdict
		switch {
		case studied(r.corpusRow) != half:
			continue
		case r.broken != "":
			t.Errorf("%s\n  cannot be judged: %s", r.script, r.broken)
			continue
		case v.Denied != r.label && half:
			t.Logf("%s\n  %s\n  denied=%v, and that is wrong", r.script, r.setup, v.Denied)
		}
		c.all++
		count(&c.denied, r.label)
		count(&c.right, r.label && v.Denied)
		count(&c.wrong, !r.label && v.Denied)
		count(&c.missed, r.label && !v.Denied)
		count(&c.certain, v.Confidence == sandbox.Certain)
		count(&c.surely, v.Confidence == sandbox.Certain && r.label)
		count(&c.rule, !r.label && r.boxed.Failed() && refusedAny(r.boxed.Trace))
	}
	f1 := func(right, wrong, missed int) float64 {
		return 2 * float64(right) / float64(max(1, 2*right+wrong+missed))
	}
	got := f1(c.right, c.wrong, c.missed)
	t.Logf("uid %d, %s: %d commands, %d denied; precision %d/%d, recall %d/%d, F1 %.3f; certain %d/%d; the general rule alone: F1 %.3f",
		os.Getuid(), name, c.all, c.denied, c.right, c.right+c.wrong, c.right, c.denied, got, c.surely, c.certain, f1(c.denied, c.rule, 0))
	if share(c.surely, max(1, c.certain)) < shapesCertain && c.certain > 0 {
		t.Errorf("%s: %d of %d that were certain are right", name, c.surely, c.certain)
	}
	if !machine.Everything() {
		t.Log("too few for the minimums: they are checked with CI=true")
		return
	}
	if got < shapesF1 || c.all < shapesWanted/2 || c.denied < shapesDenied {
		t.Errorf("%s: want F1 %.2f of %d commands, %d denied", name, shapesF1, shapesWanted/2, shapesDenied)
	}
}

func refusedAny(tr sandbox.Trace) bool {
	for _, d := range tr.Denials {
		if !d.Moot {
			return true
		}
	}
	return false
}

// pickShapes returns all shapes, or a sample of them.
func pickShapes(t *testing.T) []*corpusResult {
	t.Helper()
	sample := corpusSample(t, 10)
	var rows []*corpusResult
	for n, row := range shapeRows() {
		if corpusChosen(row, sample, n) {
			rows = append(rows, &corpusResult{corpusRow: row, table: "shapes"})
		}
	}
	return rows
}
