package agent

import (
	"cmp"
	"fmt"
	"math"

	"codeagent/model"
)

// DefaultContext is the assumed context of a model, in tokens, where it is not known. A
// model that takes less refuses a request, and the budget learns from that.
const DefaultContext = 128_000

// budget tracks how much of the context a request takes. It counts only additions, so that
// a request costs the same in a long conversation as in a short one. Weights are tokens
// estimated from bytes; the provider's report about a request gives the correction factor.
type budget struct {
	limit   int     // the model's context in tokens
	known   int     // the limit by the settings or the provider's list; 0: it is assumed
	reserve int     // part of the limit, for the answer
	at      int     // percent at which to compact; 0: never
	ratio   float64 // tokens by weight, in the provider's last report

	items int // weight of the conversation
	fixed int // of instructions and tools, in the last request

	asked int // weight of the last request
	low   int // the last report of less than half of that
	// wait postpones compaction until so many tokens are used: one that helped little would
	// otherwise be repeated at once.
	wait int
}

// newBudget returns a budget for limit tokens, output of which are reserved for the answer;
// 0 means not known. at 0 means never.
func newBudget(limit, output, at int) budget {
	b := budget{at: at, ratio: 1}
	b.bound(limit, output)
	return b
}

// bound sets the limit, and the part of it for the answer.
func (b *budget) bound(limit, output int) {
	b.limit, b.known = cmp.Or(limit, DefaultContext), limit
	if output <= 0 {
		output = min(b.limit/8, 16_000)
	}
	b.reserve = min(output, b.limit/2)
}

// Bytes per token, as a first estimate: more in prose, fewer in code and in most languages
// other than English. Also the tokens of a message beside its text.
const (
	bytesPerToken = 4
	perItem       = 4
)

func weighText(n int) int { return (n + bytesPerToken - 1) / bytesPerToken }

// weigh estimates the tokens of an item.
func weigh(i model.Item) int {
	n := len(i.Text) + i.Opaque.Size()
	if i.Call != nil {
		n += len(i.Call.Name) + len(i.Call.Arguments)
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

// weighFixed estimates the tokens of the instructions and tools of a request.
func weighFixed(r model.Request) int {
	n := len(r.Instructions)
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return weighText(n)
}

// asking records a request that is about to be sent.
func (b *budget) asking(fixed, items int) { b.fixed, b.asked = fixed, fixed+items }

// doubtful is the weight above which a much lower report causes a warning.
const doubtful = 3000

// answered takes the token count that the provider reports for the last request. The
// estimate is never twice too high, so a report of less than half counts something else:
// some providers count only uncached tokens; some report a constant; some silently cut off the
// beginning of a long conversation. cutOff reports whether the last may have happened.
func (b *budget) answered(input int) (cutOff bool) {
	if input <= 0 || b.asked == 0 {
		return false
	}
	if input < b.asked/2 {
		before := b.low
		b.low = input
		return b.asked >= doubtful && before != 0 && before != input
	}
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

// tokens converts a weight to the provider's tokens.
func (b *budget) tokens(weight int) int { return int(math.Round(b.ratio * float64(weight))) }

// weight is the inverse of tokens.
func (b *budget) weight(tokens int) int { return int(float64(tokens) / b.ratio) }

// used returns how many tokens a request would have now.
func (b *budget) used() int { return b.tokens(b.fixed + b.items) }

// room returns the most weight that the conversation can have.
func (b *budget) room() int {
	return b.weight(max(b.limit-b.reserve-b.tokens(b.fixed), b.limit/8))
}

// full reports whether to compact the conversation before it is sent. If instructions and
// tools take most of the context, compaction would not help.
func (b *budget) full() bool {
	return b.at > 0 && b.items >= b.room()/2 && b.used() >= max(b.level(), b.wait)
}

// level returns how many tokens a request may have before the conversation is compacted.
func (b *budget) level() int {
	if b.at == 0 {
		return b.limit - b.reserve
	}
	return min(b.limit/100*b.at, b.limit-b.reserve)
}

// round returns the most weight of the results of one answer: half of what is free, so that
// the next ones have room too. If that is little, they get more and the conversation before
// them is compacted.
func (b *budget) round() int { return max(b.weight(b.level()-b.used())/2, b.room()/4) }

// over reports whether there is no room for an answer.
func (b *budget) over() bool { return b.used() > b.limit-b.reserve }

// pause postpones compaction until the conversation has grown noticeably.
func (b *budget) pause() { b.wait = b.used() + b.limit/20 }

// count takes the usage that the provider reports for an answer.
func (a *Agent) count(u model.Usage) {
	read := u.Input
	if u.Cached > read { // some providers do not count cached tokens as input
		read += u.Cached
	}
	a.mu.Lock()
	if a.budget.answered(read) && !a.doubted {
		a.doubted = true
		a.doubt = fmt.Sprintf("the provider reports %d tokens for a request of about %d: it may have cut off the beginning of the conversation (set models.NAME.context to the size of the model's context)", read, a.budget.asked)
	}
	a.mu.Unlock()
	a.spent(u)
}

// Learn sets the model's context in tokens if it becomes known after the model was chosen, or is
// another by then; 0: still not known.
func (a *Agent) Learn(contextLimit int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if contextLimit > 0 && contextLimit != a.budget.known { // a limit that a refusal lowered stays
		a.budget.bound(contextLimit, a.cfg.MaxOutputTokens)
	}
}
