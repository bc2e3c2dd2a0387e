package wire

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"codeagent/model"
)

// quirks is what an adapter knows of a provider's refusals.
type quirks[Q any] interface {
	// After learns from a refusal. It returns the extended quirks, or false if the refusal
	// names nothing new.
	After(err error) (Q, bool)
}

// refusals holds what a provider has refused so far: fields and items, and
// images. It is safe for concurrent use; the zero value has learned nothing.
type refusals[Q quirks[Q]] struct {
	sight  sight
	mu     sync.Mutex
	quirks Q // guarded by mu
	// unsearched: the provider does not search the web. Guarded by mu.
	unsearched bool
}

// ask makes one attempt with try, which opens a stream and has it read. If the provider
// refuses something that l did not know, before or inside the stream, it makes another
// attempt without that. yield receives an Unseen for images that the model does not see, and an
// Unsearched for the web search.
func (l *refusals[Q]) ask(r model.Request, yield Yield, try func(model.Request, Q, *View, Yield) error) error {
	began := false
	answer := func(d model.Delta) error {
		began = true
		return yield(d)
	}
	for {
		quirks, view := l.known(), l.sight.look(r)
		l.mu.Lock()
		r.Search = r.Search && !l.unsearched
		l.mu.Unlock()
		err := try(r, quirks, view, answer)
		if err == nil || began { // a request that is being answered was not refused
			return err
		}
		if r.Search && RefusalIn(err, 400, 404, 422).Names("web_search", "web search", "tool type", ".type") {
			l.mu.Lock()
			l.unsearched = true
			l.mu.Unlock()
			if err := yield(model.Unsearched{Err: err}); err != nil {
				return err
			}
			continue
		}
		if more, ok := quirks.After(err); ok {
			l.note(func(q *Q) { *q = more })
			continue
		}
		unseen, ok := l.sight.after(err, r, view)
		if !ok {
			return err
		}
		if err := yield(unseen); err != nil {
			return err
		}
	}
}

func (l *refusals[Q]) known() Q {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quirks
}

func (l *refusals[Q]) note(change func(*Q)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.quirks)
}

// refusal is a provider's error text about a request that it refuses, in lower case; empty
// if an error is not a refusal.
type refusal string

// RefusalIn returns the text of err if it is a refusal, that is, came with one of these HTTP
// statuses.
func RefusalIn(err error, statuses ...int) refusal {
	e := new(model.Error)
	if !errors.As(err, &e) || e.Kind != model.BadRequest || !slices.Contains(statuses, e.Status) {
		return ""
	}
	return refusal(strings.ToLower(e.Message))
}

// Names reports whether the refusal contains one of the words, lower case.
func (r refusal) Names(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(string(r), w) })
}
