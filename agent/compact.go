package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/prompts"
)

// Compaction replaces most of the conversation by a summary:
//
//	[item … item | tail]  ->  [Summary, tail]
//
// The model writes the summary, and the agent adds its own facts (digest.go). The tail
// stays word for word. It begins at a message, so that no call is separated from its result,
// and no thinking from its call. The tail includes all results that the model has not seen. If
// these are too long together, each is cut.

// How compaction can fail.
var (
	ErrNothing = errors.New("the conversation is too short to be compacted")
	ErrTooLong = errors.New("the conversation is too long for the model, and could not be made short enough")
	errSilent  = errors.New("the model wrote no summary")
	ErrCrowded = errors.New("the context of the model is too small for this task, and summaries make no more room: " +
		"choose a model that takes more (or say in models.NAME.context of the settings how much this one takes), or give it a smaller part of the task")
	ErrLongMessage = errors.New("this message alone is too long for the model")
	ErrSmallModel  = errors.New("codeagent's instructions and tools alone are longer than the model takes")
	errLonger      = fmt.Errorf("%w: a summary would be no shorter", ErrNothing)
	// ErrSmallServer and ErrLargeImages follow HTTP 413: the server limits the bytes of a request.
	ErrSmallServer = errors.New("the server, or a proxy before it, takes only requests that are smaller than the instructions and tools of codeagent: raise its limit (nginx: client_max_body_size), or ask another provider")
	ErrLargeImages = errors.New("the images of this message are too large for the server, or for a proxy before it: send fewer of them, or smaller ones")
)

// mostTail bounds the tail. mostSaid bounds the user's earlier messages that the summary repeats.
// Both are in tokens.
const (
	mostTail = 20_000
	mostSaid = 8_000
)

// Compact asks the model for a summary, which replaces everything except the end of the
// conversation. focus is what the summary must keep above all; it may be empty. No turn
// runs meanwhile. The error is ErrBusy, ErrNothing, ErrTooLong, the context's cause or a
// *model.Error. After an error the conversation is unchanged.
func (a *Agent) Compact(ctx context.Context, focus string) (event.Compacted, error) {
	if !a.turning.TryLock() {
		return event.Compacted{}, ErrBusy
	}
	defer a.turning.Unlock()
	done, _, err := a.compact(ctx, compaction{reason: word.CompactAsked, focus: focus})
	return done, err
}

// compaction holds the parameters of a compaction.
type compaction struct {
	reason word.CompactReason
	focus  string
	// strict makes the tail shorter. whole leaves no tail, not even of results that the model has
	// not seen, if nothing else can be shortened.
	strict, whole bool
}

// tailStart returns the index in items where the tail begins.
func (c compaction) tailStart(items []model.Item, b budget) int {
	most, unseen := c.mostResults(b), unread(items)
	from := min(tailOf(items, min(b.weight(mostTail), most/2, b.items/4), most), unseen)
	if from <= 1 && c.reason == word.CompactFull {
		from = unseen // the tail itself is too long
	}
	if from <= 1 && c.whole {
		from = len(items)
	}
	return from
}

// mostResults returns how much the results in the tail may weigh together.
func (c compaction) mostResults(b budget) int {
	if c.strict {
		return b.room() / 8
	}
	return b.room() / 2
}

func (a *Agent) compact(ctx context.Context, c compaction) (event.Compacted, model.Usage, error) {
	items, b := a.now()
	from := c.tailStart(items, b)
	if from <= 1 {
		return event.Compacted{}, model.Usage{}, ErrNothing
	}
	a.emit(event.Compacting{Reason: c.reason})
	done := event.Compacted{Reason: c.reason, Before: b.used()}
	text, usage, err := a.summarise(ctx, items, c)
	if err == nil {
		done.Summary, err = a.replace(from, text, c)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		done.Err = err.Error()
	}
	a.mu.Lock()
	a.budget.pause()
	done.After = a.budget.used()
	a.mu.Unlock()
	a.emit(done)
	a.guess(usage, weighText(len(text)))
	a.spent(usage)
	return done, usage, err
}

// replace replaces the items before index from by a summary and returns its text. If the summary is
// not shorter than what it replaces, it returns an error and changes nothing.
func (a *Agent) replace(from int, text string, c compaction) (summary string, err error) {
	a.mu.Lock()
	room := a.budget.room() * bytesPerToken
	known := a.digest.with(a.items[:from], min(mostSaid*bytesPerToken, room/8))
	item := model.Item{Kind: model.Summary, Text: prompts.Compacted(cutMiddle(text, room/4), known.words(room/16)), Carried: known.stored()}
	if weigh(item) >= weighAll(a.items[:from]) {
		a.mu.Unlock()
		return "", errLonger
	}
	a.digest = known
	a.items = append([]model.Item{item}, a.cutResults(a.items[from:], c.mostResults(a.budget))...)
	for i := range a.items[1:] {
		a.items[1+i].Carried = onlyDone(a.items[1+i].Carried) // the summary has the other facts
	}
	a.budget.items = weighAll(a.items)
	now := a.items[:len(a.items):len(a.items)]
	a.mu.Unlock()
	if a.cfg.Log != nil {
		a.saved(a.cfg.Log.Compacted(now))
	}
	return item.Text, nil
}

// mostAsked bounds the requests for one summary.
const mostAsked = 5

// summarise asks the model for a summary of items. The first request contains the items
// unchanged, because the provider has cached most of them. If they are too long, it contains as
// much as fits, and each request after a refusal half as much.
func (a *Agent) summarise(ctx context.Context, items []model.Item, c compaction) (string, model.Usage, error) {
	var usage model.Usage
	var last error
	prompt := model.Item{Kind: model.Note, Text: prompts.Compact(c.focus)}
	_, b := a.now()
	most := b.room() - weigh(prompt)
	whole := c.reason != word.CompactFull && weighAll(items) <= most
	most -= most / 4 // weights are estimates
	for range mostAsked {
		shown := items
		if !whole {
			shown = cutForSummary(items, most)
			most /= 2
		}
		whole = false
		text, used, err := a.answerText(ctx, append(slices.Clip(shown), prompt))
		usage = usage.Add(used)
		switch {
		case err == nil && text != "":
			return text, usage, nil
		case err == nil:
			last = errSilent
		case ctx.Err() == nil && contextFull(err):
			last = err
		default:
			return "", usage, err
		}
	}
	return "", usage, fmt.Errorf("%w: %w", ErrTooLong, last)
}

// answerText returns the text of the model's answer to items. It ignores calls.
func (a *Agent) answerText(ctx context.Context, items []model.Item) (string, model.Usage, error) {
	var text strings.Builder
	var usage model.Usage
	for delta, err := range a.cfg.Model.Stream(ctx, a.ask(items, weighAll(items))) {
		switch {
		case ctx.Err() != nil:
			return "", usage, context.Cause(ctx)
		case err != nil:
			return "", usage, err
		}
		switch d := delta.(type) {
		case model.TextDelta:
			text.WriteString(d.Text)
		case model.Retrying:
			text.Reset()
			a.emit(retrying(d))
		case model.Finished:
			usage = d.Usage
		}
	}
	return strings.TrimSpace(text.String()), usage, context.Cause(ctx)
}

// contextFull reports whether the provider found the conversation too long.
func contextFull(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Kind == model.ContextFull
}

// mostFull is how often in a row the agent shortens a request that was refused as too long.
const mostFull = 2

// mostFutile is how many compactions in a row may make no progress. If leastRounds rounds of
// calls fit after a compaction, it made progress even if they repeat: a model may poll.
const (
	mostFutile  = 2
	leastRounds = 4
)

// compactIfFull compacts the conversation if the context is nearly full. If that fails, the turn
// continues, since the request may still fit. The only error is ErrCrowded.
func (t *turn) compactIfFull(ctx context.Context) error {
	a := t.agent
	// A summary does not shorten a new message. If that alone is too long, the provider will refuse it.
	if items, b := a.now(); !b.full() || weighAll(said(items)) > b.room() {
		return nil
	}
	_, usage, err := a.compact(ctx, compaction{reason: word.CompactNear}) // the event Compacted reports the error
	t.add(usage)
	if err != nil && !errors.Is(err, errLonger) && !errors.Is(err, ErrTooLong) {
		return nil // the error is not about the length of the conversation
	}
	_, b := a.now()
	if b.over() || t.since < leastRounds && t.same.last != "" && t.same.last == t.compacted {
		t.futile++
	} else {
		t.futile = 0
	}
	if t.compacted, t.since = t.same.last, 0; t.futile >= mostFutile {
		return ErrCrowded
	}
	return nil
}

// tooLong makes the conversation shorter after the provider refused it as too long. It
// reports whether to make the request again.
func (t *turn) tooLong(ctx context.Context, refused error) (again bool, err error) {
	a := t.agent
	if t.full++; t.full > mostFull {
		return false, fmt.Errorf("%w: %w", ErrTooLong, refused)
	}
	a.mu.Lock()
	a.budget.refused()
	a.mu.Unlock()
	if items, _ := a.now(); items[len(items)-1].Kind.Answers() { // the error came in the middle of an answer
		a.append(model.Item{Kind: model.Note, Text: "[That answer is incomplete: the context was full.]"})
	}
	large := tooLarge(refused)
	if large && a.leaveOutImages() {
		return true, nil
	}
	if err := a.tooMuch(large); err != nil {
		return false, fmt.Errorf("%w (%w)", err, refused)
	}
	c := compaction{reason: word.CompactFull, strict: t.full > 1}
	cut := a.cutUnread(c)
	if _, b := a.now(); cut && !b.over() {
		return true, nil
	}
	c.whole = !cut
	_, usage, err := a.compact(ctx, c)
	t.add(usage)
	switch {
	case err == nil || cut && errors.Is(err, ErrNothing):
		return true, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	return false, fmt.Errorf("%w; %w", refused, err)
}

// tooMuch returns the error for a refused request that no summary can shorten enough, because the
// user's message alone, or instructions and tools alone, are too long; nil: a summary may help.
// large: the server refused the size in bytes.
func (a *Agent) tooMuch(large bool) error {
	items, b := a.now()
	message := said(items)
	weight := weighAll(message)
	only := weight >= b.items // nothing comes before this message
	switch {
	case large && slices.ContainsFunc(message, hasImages):
		return ErrLargeImages
	case !only && weight <= b.room():
		return nil
	case large && only && b.fixed >= b.items:
		return ErrSmallServer
	case only && b.fixed >= b.items:
		return fmt.Errorf("%w (about %d tokens)", ErrSmallModel, b.tokens(b.fixed))
	}
	tokens := b.tokens(weight)
	about := fmt.Sprint(tokens)
	if tokens > b.limit {
		about += fmt.Sprintf(" of %d", b.limit)
	}
	return fmt.Errorf("%w (about %s tokens): shorten it, or save it to a file and name that file instead", ErrLongMessage, about)
}

// tooLarge reports whether a server or proxy refused a request for its size in bytes. Images
// usually make up most of that.
func tooLarge(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Status == 413
}

// cutUnread cuts the results that the model has not seen to half of their weight or less, after a
// request with them was refused. It reports whether that made them shorter.
func (a *Agent) cutUnread(c compaction) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	from := unread(a.items)
	unseen := a.items[from:]
	less := a.cutResults(unseen, min(c.mostResults(a.budget), weighAll(unseen)/2))
	if weighAll(less) >= weighAll(unseen) {
		return false
	}
	a.items = append(a.items[:from:from], less...)
	a.budget.items = weighAll(a.items)
	return true
}
