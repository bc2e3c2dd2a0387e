package tui

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"codeagent/event"
	"codeagent/event/word"
)

var (
	hiddenLines = regexp.MustCompile(`(\d+) more lines`)
	shownLine   = regexp.MustCompile(`\bL\d+\.`)
)

// TestHiddenLinesAreCounted: of random outputs, commands and answers of servers the lines that are shown and
// those that are said to be hidden are all lines, folded, open and in the page of the whole transcript.
func TestHiddenLinesAreCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 27))
	for round := range 60 {
		n := random.IntN([]int{6, 30, 700, 3000}[round%4])
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "L%d. %s%s", i, strings.Repeat("x", random.IntN(40)), []string{"\n", "\r\n"}[random.IntN(2)])
		}
		kind := []word.Kind{word.KindCommand, word.KindServer}[random.IntN(2)]
		outcome := []word.Outcome{word.OK, word.Failed, word.TimedOut}[random.IntN(3)]
		own := kind == word.KindCommand && random.IntN(2) == 0
		name := fmt.Sprintf("round %d: %d lines of a %v that is %v, own %v", round, n, kind, outcome, own)
		r := newRig(t, 80, 3100)
		r.emit(event.ToolStarted{CallID: "a", Kind: kind, Command: "seq", Title: "seq", Own: own},
			event.ToolFinished{CallID: "a", Kind: kind, Outcome: outcome, Output: out.String()})
		check := func(face string) {
			t.Helper()
			screen := r.screen()
			got := len(shownLine.FindAllString(screen, -1))
			for _, m := range hiddenLines.FindAllStringSubmatch(screen, -1) {
				k, _ := strconv.Atoi(m[1])
				got += k
			}
			if got != n {
				t.Fatalf("%s, %s: shown and hidden are %d", name, face, got)
			}
		}
		check("folded")
		r.press("ctrl+o")
		check("open")
		r.press("ctrl+o")
		check("folded again")
		r.press("ctrl+t")
		check("whole transcript")
	}
}
