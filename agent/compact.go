package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
// The model writes the summary, and the agent adds its own facts (carried.go). The tail
// stays word for word. It begins at a message, so that no call is separated from its result,
// and no thinking from its call. Results that the model has not seen are always part of the
// tail; each is cut if they are too long together.

// How compaction can fail.
var (
	// ErrNothing: there is nothing to shorten.
	ErrNothing = errors.New("the conversation is too short to be compacted")
	// ErrTooLong: the conversation does not fit, even after it was shortened.
	ErrTooLong = errors.New("the conversation is too long for the model, and could not be made short enough")
	errSilent  = errors.New("the model wrote no summary")
	// ErrCrowded: compactions no longer make room.
	ErrCrowded = errors.New("the context of the model is too small for this task, and summaries make no more room: " +
		"choose a model that takes more (or say in models.NAME.context of the settings how much this one takes), or give it a smaller part of the task")
	// ErrLongMessage: the last message of the user does not fit.
	ErrLongMessage = errors.New("this message alone is too long for the model")
	// ErrSmallModel: no conversation fits.
	ErrSmallModel = errors.New("the model is too small for codeagent: its instructions and tools alone are too long for it; choose another model")
	errLonger     = errors.New("a summary would be no shorter")
	// ErrSmallServer, ErrLargeImages: the server bounds requests in bytes (HTTP 413).
	ErrSmallServer = errors.New("the server, or a proxy before it, takes only requests that are smaller than the instructions and tools of codeagent: raise its limit (nginx: client_max_body_size), or ask another provider")
	ErrLargeImages = errors.New("the images of this message are too large for the server, or for a proxy before it: send fewer of them, or smaller ones")
)

const longMessageHelp = "shorten it, or save it to a file and name that file instead"

// mostTail is the most of the conversation that stays word for word, mostSaid the most
// of the user's earlier messages, in tokens.
const (
	mostTail = 20_000
	mostSaid = 8_000
)

// Compact asks the model for a summary, which replaces everything except the end of the
// conversation. focus is what the summary must keep above all; it may be empty. No turn
// runs meanwhile. The error is ErrBusy, ErrNothing, ErrTooLong, the context's cause or a
// *model.Error; then nothing was changed.
func (a *Agent) Compact(ctx context.Context, focus string) (event.Compacted, error) {
	if !a.turning.TryLock() {
		return event.Compacted{}, ErrBusy
	}
	defer a.turning.Unlock()
	done, _, err := a.compact(ctx, compaction{reason: word.CompactAsked, focus: focus})
	if errors.Is(err, errLonger) {
		err = fmt.Errorf("%w: %w", ErrNothing, err)
	}
	return done, err
}

// compaction holds the parameters of a compaction.
type compaction struct {
	reason word.CompactReason
	focus  string
	// bare keeps only the results that the model has not seen as the tail; whole keeps not even
	// these, if nothing else can be shortened.
	bare, whole bool
}

func (a *Agent) compact(ctx context.Context, c compaction) (event.Compacted, model.Usage, error) {
	a.measure()
	a.mu.Lock()
	items, b := a.items[:len(a.items):len(a.items)], a.budget
	a.mu.Unlock()
	cut := len(items)
	if !c.bare {
		most := min(b.weight(min(mostTail, b.room()/4)), b.items/4)
		cut = tailOf(items, most, b.weight(b.room()/2))
	}
	if cut = min(cut, unread(items)); cut <= 1 && c.reason == word.CompactFull {
		cut = unread(items) // the tail itself is too long
	}
	if cut <= 1 && c.whole {
		cut = len(items)
	}
	if cut <= 1 {
		return event.Compacted{}, model.Usage{}, ErrNothing
	}
	a.emit(event.Compacting{Reason: c.reason})
	done := event.Compacted{Reason: c.reason, Before: b.used(), After: b.used()}
	text, usage, err := a.summarise(ctx, items, c)
	if err == nil {
		done.Summary, done.After, err = a.replace(cut, text, c)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		done.Err = err.Error()
		a.mu.Lock()
		a.budget.pause()
		a.mu.Unlock()
	}
	a.emit(done)
	a.spent(usage)
	return done, usage, err
}

// tail returns how many of room tokens the results in the tail may have.
func (c compaction) tail(room int) int {
	if c.bare {
		return room / 8
	}
	return room / 2
}

// replace replaces the items before cut by a summary. It returns the text of the summary
// and the tokens of the next request. If the summary is not shorter than what it replaces,
// it returns an error and changes nothing.
func (a *Agent) replace(cut int, text string, c compaction) (summary string, after int, err error) {
	a.mu.Lock()
	room := a.budget.weight(a.budget.room()) * bytesPerToken
	known := a.carried.with(a.items[:cut], min(mostSaid*bytesPerToken, room/8))
	kept, err := json.Marshal(known)
	if err != nil {
		kept = nil // never fails: strings and numbers
	}
	item := model.Item{Kind: model.Summary, Text: prompts.Compacted(middle(text, room/4), known.words(room/16)), Carried: kept}
	if after = a.budget.used(); weigh(item) >= weighAll(a.items[:cut]) {
		a.mu.Unlock()
		return "", after, errLonger
	}
	a.carried = known
	tail := a.fitted(a.items[cut:], a.budget.weight(c.tail(a.budget.room())))
	a.items = append([]model.Item{item}, tail...)
	for i := range a.items[1:] {
		a.items[1+i].Carried = nil // known contains it
	}
	a.budget.replaced(weighAll(a.items))
	if a.budget.full() {
		a.budget.pause()
	}
	now, after := a.items[:len(a.items):len(a.items)], a.budget.used()
	a.mu.Unlock()
	if a.cfg.Log != nil {
		a.saved(a.cfg.Log.Compacted(now))
	}
	return item.Text, after, nil
}

// begins reports whether items can be cut before i: an answer, the results of its calls and
// the thinking that led to them stay together.
func begins(items []model.Item, i int) bool {
	switch items[i].Kind {
	case model.User, model.Note, model.Summary:
		return true
	}
	return items[i].Kind.Answers() && (i == 0 || !items[i-1].Kind.Answers())
}

// tailOf returns where the longest tail of at most that weight begins. The last piece alone
// may weigh as much as last. An earlier summary is not part of a tail.
func tailOf(items []model.Item, most, last int) int {
	cut, weight := len(items), 0
	for i := len(items) - 1; i >= 0; i-- {
		weight += weigh(items[i])
		if weight > max(most, last) || items[i].Kind == model.Summary {
			break
		}
		if !begins(items, i) {
			continue
		}
		if weight > most && cut < len(items) {
			break
		}
		cut = i
	}
	return cut
}

// mostAsked bounds the requests for one summary.
const mostAsked = 5

// summarise asks the model for a summary of items. The first request has the items
// unchanged, because the provider has cached most of them. If they are too long, it has what
// fits, and after each refusal half as much.
func (a *Agent) summarise(ctx context.Context, items []model.Item, c compaction) (string, model.Usage, error) {
	var usage model.Usage
	last := errSilent
	prompt := model.Item{Kind: model.Note, Text: prompts.Compact(c.focus)}
	a.mu.Lock()
	most := a.budget.weight(a.budget.room()) - weigh(prompt)
	a.mu.Unlock()
	// The unchanged items were refused, or would be.
	light := c.reason == word.CompactFull || weighAll(items) > most
	most -= most / 4 // weights are estimates
	for range mostAsked {
		shown := items
		if light {
			shown = shorter(items, most)
			most /= 2
		}
		light = true
		text, used, err := a.written(ctx, append(slices.Clip(shown), prompt))
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

// shorter returns items within that weight: without thinking, with results and arguments
// cut. If that would leave too little of each, it drops the oldest items.
func shorter(items []model.Item, most int) []model.Item {
	light := lighter(items, most, lightText)
	if weighAll(light) <= most {
		return light
	}
	left := model.Item{Kind: model.Note, Text: "[What was said before this point is left out here.]"}
	if light[0].Kind == model.Summary {
		left = light[0] // the summary of what came before
		left.Text = middle(left.Text, most/2*bytesPerToken)
	}
	most = max(most-weigh(left), 0)
	cut := tailOf(light, most, math.MaxInt)
	if cut == 0 {
		return lighter(light, most, 0)
	}
	return append([]model.Item{left}, lighter(light[cut:], most, 0)...)
}

// lightText is the least length of a result or of arguments in the request for a summary, in
// bytes; if that does not fit, the oldest items are left out.
const lightText = 2000

// lighter returns items within that weight: without thinking and images, and without the
// middle of long texts, of which at least least bytes stay.
func lighter(items []model.Item, most, least int) (light []model.Item) {
	for _, i := range items {
		if i.Kind == model.Reasoning {
			continue
		}
		i.Images = nil
		light = append(light, i)
		most -= weigh(i) - weighText(length(i))
	}
	fit(light, max(most, 0)*bytesPerToken, least, length, func(n, each int) {
		light[n] = trimmed(light[n], each)
	})
	return light
}

// length returns how many bytes of an item can be cut.
func length(i model.Item) int {
	switch i.Kind {
	case model.Call:
		return len(i.Call.Arguments)
	case model.Summary:
		return 0
	}
	return len(i.Text)
}

// trimmed returns an item without the middle of its text or arguments; arguments stay JSON.
func trimmed(i model.Item, most int) model.Item {
	if i.Kind != model.Call {
		i.Text = middle(i.Text, most)
		return i
	}
	arguments, err := json.Marshal(map[string]string{"cut": middle(i.Call.Arguments, most/2)})
	if err == nil {
		i.Call = &model.ToolCall{ID: i.Call.ID, Name: i.Call.Name, Arguments: string(arguments)}
	}
	return i
}

// written returns the text of the model's answer to items. Calls in it are not run.
func (a *Agent) written(ctx context.Context, items []model.Item) (string, model.Usage, error) {
	var text strings.Builder
	var usage model.Usage
	for delta, err := range a.cfg.Model.Stream(ctx, a.ask(items, weighAll(items))) {
		if err != nil {
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
	if ctx.Err() != nil {
		return "", usage, context.Cause(ctx)
	}
	return strings.TrimSpace(text.String()), usage, nil
}

// contextFull reports whether the provider found the conversation too long.
func contextFull(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Kind == model.ContextFull
}

// mostFull is how often in a row a request is shortened after it was refused as too long.
const mostFull = 2

// mostFutile is how many compactions in a row may make no progress. A compaction after which
// leastRounds rounds of calls fit counts as progress: a model that polls may repeat itself.
const (
	mostFutile  = 2
	leastRounds = 4
)

// room compacts if the context is nearly full. A failure does not end the turn, since the
// request may still fit. The error is ErrCrowded.
func (t *turn) room(ctx context.Context) error {
	a := t.agent
	a.measure()
	a.mu.Lock()
	// A new message is not summarised: if it alone is too long the provider refuses it.
	full := a.budget.full() && a.said() <= a.budget.room()
	a.mu.Unlock()
	if !full {
		return nil
	}
	_, usage, err := a.compact(ctx, compaction{reason: word.CompactNear}) // the event Compacted has the reason
	t.usage = t.usage.Add(usage)
	if err != nil && !errors.Is(err, errLonger) && !errors.Is(err, ErrTooLong) {
		return nil // not an error about the length of the conversation
	}
	a.mu.Lock()
	over := a.budget.over()
	a.mu.Unlock()
	if over || t.since < leastRounds && t.same.last != "" && t.same.last == t.compacted {
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
	n := len(a.items)
	half := n > 0 && a.items[n-1].Kind.Answers()
	a.mu.Unlock()
	if half { // this error ended a started answer
		a.append(model.Item{Kind: model.Note, Text: "[That answer is incomplete: the context was full.]"})
	}
	large := tooLarge(refused)
	if large && a.leaveOutImages() {
		return true, nil
	}
	if err := a.tooMuch(large); err != nil {
		return false, fmt.Errorf("%w (%w)", err, refused)
	}
	c := compaction{reason: word.CompactFull, bare: t.full > 1}
	if a.fitUnread(c, false) {
		return true, nil
	}
	_, usage, err := a.compact(ctx, c)
	t.usage = t.usage.Add(usage)
	if errors.Is(err, ErrNothing) {
		if a.fitUnread(c, true) {
			return true, nil
		}
		c.whole = true
		_, usage, err = a.compact(ctx, c)
		t.usage = t.usage.Add(usage)
	}
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	return false, fmt.Errorf("%w; %w", refused, err)
}

// tooMuch returns the error for a refused request that no summary can shorten enough: the
// user's message, or instructions and tools, are too long by themselves. It is nil if a
// summary may help. large: the request had too many bytes.
func (a *Agent) tooMuch(large bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, said := &a.budget, a.said()
	only := said >= b.tokens(b.items) // the conversation is this message only
	switch {
	case large && a.saidImages():
		return ErrLargeImages
	case !only && said <= b.room():
		return nil
	case large && only && b.fixed >= b.items:
		return ErrSmallServer
	case only && b.fixed >= b.items:
		return fmt.Errorf("%w (about %d tokens)", ErrSmallModel, b.tokens(b.fixed))
	case said > b.limit:
		return fmt.Errorf("%w (about %d of %d tokens): %s", ErrLongMessage, said, b.limit, longMessageHelp)
	}
	return fmt.Errorf("%w (about %d tokens): %s", ErrLongMessage, said, longMessageHelp)
}

// tooLarge reports whether a server or proxy refused a request for its size in bytes,
// most of which are images.
func tooLarge(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Status == 413
}

// said returns the tokens of the user's unanswered message, including codeagent's notes after
// it.
func (a *Agent) said() int {
	w := 0
	for _, i := range slices.Backward(a.items) {
		if i.Kind != model.User && i.Kind != model.Note {
			break
		}
		if w += weigh(i); i.Kind == model.User {
			break
		}
	}
	return a.budget.tokens(w)
}

// fitUnread cuts the results that the model has not seen, after a request with them was
// refused, if that is enough or must is set. It reports whether it did.
func (a *Agent) fitUnread(c compaction, must bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	from := unread(a.items)
	before := 0
	for _, i := range a.items[from:] {
		if i.Kind == model.Result {
			before += weigh(i)
		}
	}
	tail := a.fitted(a.items[from:], min(a.budget.weight(c.tail(a.budget.room())), before/2))
	b := a.budget
	b.replaced(weighAll(a.items[:from]) + weighAll(tail))
	if b.items >= weighAll(a.items) || b.over() && !must {
		return false
	}
	a.items, a.budget = append(a.items[:from:from], tail...), b
	return true
}
