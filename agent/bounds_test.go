package agent

import (
	"errors"
	"fmt"
	"testing"

	"codeagent/approvals"
	"codeagent/model"
)

// TestTokensAndCostAreBounded: no request follows the answer that reaches a bound, also if the
// provider does not say how many tokens it used; the calls of that answer have run.
func TestTokensAndCostAreBounded(t *testing.T) {
	price := model.Price{Input: 10_000, Cached: 10_000, Output: 100_000} // 0.2 for each answer of 10 and 1
	for name, c := range map[string]struct {
		bounds   Bounds
		silent   bool // the provider reports no tokens
		requests int
		want     error
	}{
		"tokens":             {Bounds{Tokens: 33}, false, 3, ErrOutOfTokens},
		"one token less":     {Bounds{Tokens: 34}, false, 4, ErrOutOfTokens},
		"cost":               {Bounds{Cost: 0.4, Price: price}, false, 2, ErrOutOfCost},
		"enough":             {Bounds{Tokens: 1e6, Cost: 1e6, Price: price}, false, 7, nil},
		"a free model":       {Bounds{Cost: 0.4}, false, 7, nil},
		"tokens, not told":   {Bounds{Tokens: 1}, true, 1, ErrOutOfTokens},
		"cost, not told":     {Bounds{Cost: 1e-9, Price: price}, true, 1, ErrOutOfCost},
		"enough, not told":   {Bounds{Tokens: 1e9}, true, 7, nil},
		"the answer is last": {Bounds{Tokens: 77}, false, 7, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})})
			for i := range 6 {
				r.model.list = append(r.model.list, play(call(fmt.Sprint(i), "shell")))
			}
			r.model.list = append(r.model.list, play("done"))
			for _, deltas := range r.model.list {
				if c.silent {
					deltas[len(deltas)-1] = model.Finished{Reason: deltas[len(deltas)-1].(model.Finished).Reason}
				}
			}
			c.bounds.Requests = 9
			r.cfg.Bounds = c.bounds
			if err := r.Turn(t.Context(), Input{Text: "x"}); !errors.Is(err, c.want) {
				t.Fatal(err)
			}
			if r.check(t); len(r.model.requests) != c.requests {
				t.Errorf("%d requests, want %d", len(r.model.requests), c.requests)
			}
		})
	}
}

// TestTheFirstRefusalEndsTheTurn where that is asked for: the question and its answer are reported,
// and the call does not run.
func TestTheFirstRefusalEndsTheTurn(t *testing.T) {
	for _, stops := range []bool{false, true} {
		r := newRig(approvals.OnRequest, toolbox{"shell": npm(writes("/home/u/.npm"))}, play(call("1", "shell")), play("done"))
		r.face.ask = answer1(approvals.Answer{Decision: approvals.Unattended}, nil)
		r.cfg.Bounds.Refused = stops
		err := r.Turn(t.Context(), Input{Text: "x"})
		r.check(t)
		end, requests := r.face.last(t), 2
		if stops {
			requests = 1
		}
		if errors.Is(err, ErrRefused) != stops || (err == nil) == stops || len(r.model.requests) != requests || len(end.Refused) != 1 || (end.Outcome == "failed") != stops {
			t.Errorf("stops %v: %v, %d requests, %+v", stops, err, len(r.model.requests), end)
		}
	}
}
