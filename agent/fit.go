package agent

import (
	"math"
	"slices"
	"strings"

	"codeagent/model"
)

// What calls give is kept within what the model takes when it is made, before any
// compaction: a result that it has not seen is nothing that a summary can stand for.
// Where the results of an answer are too long together each is made shorter, to a
// fair share; the log has them whole.

// leastResult is what a result keeps however many there are, in bytes.
const leastResult = 300

// share is how many bytes each text may have so that all have no more than all
// together: short ones leave what they do not need to the others.
func share(sizes []int, all int) int {
	sizes = slices.Sorted(slices.Values(sizes))
	for i, n := range sizes {
		if each := all / (len(sizes) - i); n > each {
			return max(each, leastResult)
		}
		all -= n
	}
	return math.MaxInt
}

func sizes(items []model.Item) (all []int) {
	for _, i := range items {
		all = append(all, len(i.Text))
	}
	return all
}

// fit makes results of the batch's calls shorter where they are too long together.
func (b *batch) fit(results []model.Item) {
	a := b.turn.agent
	a.mu.Lock()
	most := a.budget.weight(a.budget.round()) * bytesPerToken
	a.mu.Unlock()
	each := share(sizes(results), most)
	for i, c := range b.calls {
		if len(results[i].Text) > each {
			results[i].Text = c.within(results[i].Text, each)
		}
	}
}

// within is the text of the call's result within most bytes.
func (c *toolCall) within(text string, most int) string {
	if c.less != nil {
		// Behind the tool's own words there may be what was said about the call.
		if said, ok := strings.CutPrefix(text, strings.TrimRight(c.less(math.MaxInt), "\n")); ok {
			return c.less(most-len(said)) + said
		}
	}
	return c.turn.agent.cfg.Stage.Within(text, most)
}

// unread is where the answer begins whose results the model has not seen yet; the
// end where there is none.
func unread(items []model.Item) int {
	i := len(items)
	for i > 0 && (items[i-1].Kind == model.User || items[i-1].Kind == model.Note) {
		i--
	}
	if i == 0 || items[i-1].Kind != model.Result {
		return len(items)
	}
	for i--; i > 0 && !begins(items, i); {
		i--
	}
	return i
}

// fitted is items, whose results have at most so much weight together.
func (a *Agent) fitted(items []model.Item, most int) []model.Item {
	var long []int
	for _, i := range items {
		if i.Kind == model.Result {
			long = append(long, len(i.Text))
		}
	}
	each := share(long, most*bytesPerToken)
	items = slices.Clone(items)
	for n, i := range items {
		if i.Kind == model.Result {
			items[n].Text = a.cfg.Stage.Within(i.Text, each)
		}
	}
	return items
}
