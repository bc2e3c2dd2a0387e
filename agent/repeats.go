package agent

import (
	"fmt"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
)

// A model that repeats itself may be waiting for something, or may be stuck. Nothing here
// ends a turn: the model and the user are warned, and Bounds.Requests bounds the cost.

const (
	// failuresNamed is the number of equal failures in a row after which the model is warned.
	failuresNamed = 3
	// roundsNamed: the model is warned each time so many equal rounds have passed.
	roundsNamed = 5
	// roundsShown is the number of equal rounds at which the user is warned, and again
	// whenever the number has doubled.
	roundsShown = 20
)

// repeats counts identical failing calls in a row.
type repeats struct {
	last  model.ToolCall
	count int
}

// failing counts one call and reports whether to warn the model.
func (r *repeats) failing(c model.ToolCall, result model.Item) bool {
	c.ID = ""
	switch {
	case !result.Failed:
		*r = repeats{}
	case c == r.last:
		r.count++
	default:
		*r = repeats{c, 1}
	}
	return r.count >= failuresNamed
}

// rounds counts rounds in a row of the same calls with the same results.
type rounds struct {
	last  string // the fingerprint of the last round
	count int
}

func (r *rounds) add(fingerprint string) {
	if fingerprint != r.last {
		*r = rounds{last: fingerprint}
	}
	r.count++
}

// shown reports whether to warn the user now.
func (r *rounds) shown() bool {
	n := r.count
	for n > roundsShown && n%2 == 0 {
		n /= 2
	}
	return n == roundsShown
}

// nameFailures adds warnings about repeated failing calls to the results.
func (b *batch) nameFailures(results []model.Item) {
	r := &b.turn.failing
	for i, c := range b.calls {
		if r.failing(c.model, c.result) {
			results[i].Text += fmt.Sprintf("\n[You have made exactly this call %d times in a row, and it failed each time. It will fail again: do something else, or say what is missing.]", r.count)
		}
	}
}

// nameRounds counts a round with that fingerprint and warns about equal ones.
func (t *turn) nameRounds(fingerprint string) {
	if fingerprint == "" {
		return
	}
	t.since++
	t.same.add(fingerprint)
	n := t.same.count
	if n%roundsNamed == 0 && t.failing.count < failuresNamed {
		t.agent.append(model.Item{Kind: model.Note, Text: fmt.Sprintf("[Your last %d rounds made the same call with the same result. If you are waiting for something, wait longer in one call; otherwise do something else, or say what is missing.]", n)})
	}
	if t.same.shown() {
		t.agent.emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("the model has repeated the same call with the same result %d times in a row", n)})
	}
}
