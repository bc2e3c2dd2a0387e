package agent

import (
	"fmt"

	"codeagent/event"
	"codeagent/model"
)

// DefaultContext is the assumed context of a model, in tokens, where it is not known. A
// model that takes less refuses a request, and the budget learns from that.
const DefaultContext = 128_000

// DefaultCompactAt is how full the context may become, in percent.
const DefaultCompactAt = 80

// budget knows how much of the context a request takes. It counts what is added
// and never what is there already: a request of a long conversation costs no
// more than one of a short one. Weights are in tokens as they are guessed from
// bytes; what the provider reports of a request says how far that is off.
type budget struct {
	limit   int  // what the model takes
	assumed bool // nobody has said so
	reserve int  // of that, room for the answer
	at      int  // percent at which to compact; 0: never
	ratio   float64

	items int // weight of the conversation
	fixed int // of instructions and tools, in the last request

	asked int // weight of the last request
	// known is what the provider reported of the request whose weight is anchor;
	// 0 without.
	known, anchor int
	// wait holds compaction back until so much is used: one that helped little
	// would else be made again at once.
	wait int
}

// newBudget is for limit tokens, output of which may be the answer's; 0 is not
// known. A negative at stands for never.
func newBudget(limit, output, at int) budget {
	b := budget{limit: limit, at: at, ratio: 1}
	if b.limit <= 0 {
		b.limit, b.assumed = DefaultContext, true
	}
	switch {
	case at == 0:
		b.at = DefaultCompactAt
	case at < 0:
		b.at = 0
	}
	b.reserve = output
	if output <= 0 {
		b.reserve = min(b.limit/8, 16_000)
	}
	b.reserve = min(b.reserve, b.limit/2)
	return b
}

// Bytes of a token, as a first guess: more in prose, fewer in code and in most
// languages that are not English. What a message takes beside its text.
const (
	bytesPerToken = 4
	perItem       = 4
)

func weighText(n int) int { return (n + bytesPerToken - 1) / bytesPerToken }

// weigh guesses the tokens of an item.
func weigh(i model.Item) int {
	n := len(i.Text)
	if i.Call != nil {
		n += len(i.Call.Name) + len(i.Call.Arguments)
	}
	if i.Opaque != nil {
		n += len(i.Opaque.Data)
	}
	w := perItem + weighText(n)
	for _, p := range i.Images {
		w += p.Tokens()
	}
	return w
}

func weighAll(items []model.Item) int {
	w := 0
	for _, i := range items {
		w += weigh(i)
	}
	return w
}

// weighFixed guesses the tokens of what goes along with each conversation.
func weighFixed(r model.Request) int {
	n := len(r.Instructions)
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return weighText(n)
}

// asking notes a request that is about to be sent.
func (b *budget) asking(fixed, items int) { b.fixed, b.asked = fixed, fixed+items }

// doubtful is the weight above which a report of much less gets a warning.
const doubtful = 3000

// answered takes the number of tokens that the provider reports for the last request.
// The guess is never twice too high: a report of less than half counts something else.
// Some providers count only what was not cached; some cut off the beginning of a long
// conversation without saying so. It reports whether that may have happened.
func (b *budget) answered(input int) (cutOff bool) {
	if input <= 0 || b.asked == 0 {
		return false
	}
	if input < b.asked/2 {
		return b.asked >= doubtful
	}
	b.known, b.anchor = input, b.asked
	b.ratio = min(float64(input)/float64(b.asked), 4)
	return false
}

// refused lowers the limit after a provider found the last request too long.
func (b *budget) refused() {
	if n := b.tokens(b.asked) * 19 / 20; n > 0 && n < b.limit {
		b.reserve = b.reserve * n / b.limit
		b.limit = n
	}
}

// replaced resets the budget for another conversation, of weight items.
func (b *budget) replaced(items int) { b.items, b.known, b.anchor = items, 0, 0 }

// tokens is a weight as the provider would count it.
func (b *budget) tokens(weight int) int { return int(b.ratio * float64(weight)) }

// weight is the reverse of tokens.
func (b *budget) weight(tokens int) int { return int(float64(tokens) / b.ratio) }

// used is how many tokens a request would have now.
func (b *budget) used() int { return b.known + b.tokens(b.fixed+b.items-b.anchor) }

// room is how many tokens the conversation can have at most.
func (b *budget) room() int { return max(b.limit-b.reserve-b.tokens(b.fixed), b.limit/8) }

// full reports whether to compact the conversation before it is sent. Where instructions
// and tools take most of the context, that would not help.
func (b *budget) full() bool {
	if b.at == 0 || b.tokens(b.items) < b.room()/2 {
		return false
	}
	return b.used() >= max(b.level(), b.wait)
}

// level is how many tokens a request may have before the conversation is compacted.
func (b *budget) level() int {
	if b.at == 0 {
		return b.limit - b.reserve
	}
	return min(b.limit/100*b.at, b.limit-b.reserve)
}

// round is how many tokens the results of one answer may have together: half of what is
// free, so that the next ones have room too. Where that is little, they get more and the
// conversation before them is compacted.
func (b *budget) round() int { return max((b.level()-b.used())/2, b.room()/4) }

// over reports that there is no room for an answer.
func (b *budget) over() bool { return b.used() > b.limit-b.reserve }

// pause holds compaction back until the conversation has grown noticeably.
func (b *budget) pause() { b.wait = b.used() + b.limit/20 }

// answered takes the usage that the provider reports for an answer.
func (a *Agent) answered(u model.Usage) {
	read := u.Input
	if u.Cached > read { // some providers do not count cached tokens as input
		read += u.Cached
	}
	a.mu.Lock()
	guess := a.budget.asked
	doubt := a.budget.answered(read) && !a.doubted
	a.doubted = a.doubted || doubt
	a.mu.Unlock()
	if doubt {
		a.emit(event.Notice{Level: event.LevelWarning, Text: fmt.Sprintf("the provider reports %d tokens for a request of about %d: it may have cut off the beginning of the conversation (set models.NAME.context to the size of the model's context)", read, guess)})
	}
	a.spent(u)
}

// Learn sets how many tokens the model takes, where that became known after the model was
// chosen; 0: it is still not known.
func (a *Agent) Learn(contextLimit int) {
	if contextLimit <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	fresh := newBudget(contextLimit, a.cfg.MaxOutputTokens, a.cfg.CompactAt)
	a.budget.limit, a.budget.reserve, a.budget.assumed = fresh.limit, fresh.reserve, false
}
