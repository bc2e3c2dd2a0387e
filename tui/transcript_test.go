package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"codeagent/event"
)

func longRig(t *testing.T, n int) *rig {
	r := newRig(t, 60, 20)
	for i := range n {
		r.emit(event.MessageFinished{Text: fmt.Sprintf("message %d\n\nwith a second line", i)})
	}
	return r
}

func TestTranscriptFollowsAndScrolls(t *testing.T) {
	r := longRig(t, 100)
	r.has("message 99")
	r.press("pgup")
	r.lacks("message 99")
	r.has("Ctrl+End follows")
	before := r.screen()
	r.emit(event.MessageFinished{Text: "fresh"})
	if r.screen() != before {
		t.Error("a scrolled transcript moved when something was said")
	}
	r.press("ctrl+end")
	r.has("fresh")
	r.press("home")
	r.has("message 0")
	for range 200 {
		r.press("pgdown")
	}
	r.has("fresh")
	r.lacks("follows")
	r.emit(event.MessageFinished{Text: "fresher"})
	r.has("fresher")
}

func TestScrollingByLineIsSteady(t *testing.T) {
	r := longRig(t, 50)
	var rows []string
	for range 60 {
		r.press("shift+up")
		rows = append(rows, strings.Split(r.screen(), "\n")[0])
	}
	for i := len(rows) - 2; i >= 0; i-- {
		r.press("shift+down")
		if got := strings.Split(r.screen(), "\n")[0]; got != rows[i] {
			t.Fatalf("going down shows %q, going up showed %q", got, rows[i])
		}
	}
}

func TestResizeReflows(t *testing.T) {
	r := newRig(t, 100, 20)
	r.emit(event.MessageFinished{Text: strings.Repeat("word ", 40)})
	for _, w := range []int{30, 8, 100, 40, 200} {
		r.app.Update(windowSize(w, 20))
		r.screen()
	}
}

func TestLiveOutputShowsTheLastLines(t *testing.T) {
	r := newRig(t, 60, 30)
	r.emit(event.ToolStarted{CallID: "c", Kind: "command", Command: "make"})
	for i := range 50 {
		r.emit(event.ToolOutput{CallID: "c", Data: fmt.Appendf(nil, "out %d\n", i)})
	}
	r.clock = r.clock.Add(12 * time.Second)
	r.send(tickMsg{})
	r.has("● $ make  12 s", "out 49", "out 45")
	r.lacks("out 44")
	r.press("ctrl+o")
	r.has("out 40")
	r.press("ctrl+o")
	r.lacks("out 44")
	r.emit(event.ToolFinished{CallID: "c", Kind: "command", Outcome: "ok", Duration: 12 * time.Second, Output: strings.Repeat("line\n", 30) + "end\n"})
	r.has("✓ $ make  12 s", "… 28 more lines", "end")
	r.press("ctrl+o")
	r.lacks("more lines")
}

func TestPlanPlanIsOnePlan(t *testing.T) {
	r := newRig(t, 60, 30)
	r.emit(event.PlanUpdated{Steps: []event.PlanStep{{Step: "a", Status: "in_progress"}}},
		event.PlanUpdated{Steps: []event.PlanStep{{Step: "a", Status: "completed"}, {Step: "b", Status: "in_progress"}}})
	if n := strings.Count(r.screen(), "Plan"); n != 1 {
		t.Errorf("%d plans", n)
	}
	r.has("☑ a", "▸ b")
}

func TestSkippedOutputIsTold(t *testing.T) {
	r := newRig(t, 60, 30)
	r.emit(event.ToolStarted{CallID: "c", Kind: "command", Command: "yes"},
		event.ToolOutput{CallID: "c", Data: []byte("y\n"), Skipped: 1500})
	r.has("… 1.5k bytes not shown")
}

// A frame costs the same after 10 and after 10,000 messages.
func BenchmarkFrame(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := newApp(newMailbox(), time.Now)
			m.offers.Still = true
			m.Update(windowSize(120, 50))
			for i := range n {
				m.apply(event.MessageFinished{Text: fmt.Sprintf("message %d with some **words** in it\n\n- a\n- b", i)})
			}
			for i := 0; b.Loop(); i++ {
				m.apply(event.TextDelta{Text: "tok "})
				m.fresh = false
				m.View()
				if i%500 == 499 { // so that the frames stay alike
					m.apply(event.MessageFinished{Text: "done"})
				}
			}
		})
	}
}
