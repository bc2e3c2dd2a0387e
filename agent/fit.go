package agent

import (
	"math"
	"slices"
	"strings"

	"codeagent/model"
)

// Results are cut to what the model takes before they are added, and before any
// compaction: no summary can stand for a result that the model has not seen. Where the
// results of an answer are too long together, each gets a fair share; the log has
// them whole.

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

// fit cuts the items that are too long where all together have more than all bytes.
// length is how much of an item can be cut, each is what cut may leave of it, and at
// least least.
func fit(items []model.Item, all, least int, length func(model.Item) int, cut func(n, each int)) {
	var sizes []int
	for _, i := range items {
		if n := length(i); n > 0 {
			sizes = append(sizes, n)
		}
	}
	each := max(share(sizes, all), least)
	for n, i := range items {
		if length(i) > each {
			cut(n, each)
		}
	}
}

func resultLength(i model.Item) int {
	if i.Kind != model.Result {
		return 0
	}
	return len(i.Text)
}

// fit makes results of the batch's calls shorter where they are too long together.
func (b *batch) fit(results []model.Item) {
	a := b.turn.agent
	a.mu.Lock()
	most := a.budget.weight(a.budget.round()) * bytesPerToken
	a.mu.Unlock()
	fit(results, most, 0, resultLength, func(n, each int) {
		results[n].Text = b.calls[n].within(results[n].Text, each)
	})
}

// within is the text of the call's result within most bytes.
func (c *toolCall) within(text string, most int) string {
	if c.less != nil {
		// After the tool's own words there may be what was said about the call.
		if said, ok := strings.CutPrefix(text, strings.TrimRight(c.less(math.MaxInt), "\n")); ok {
			return c.less(most-len(said)) + said
		}
	}
	return c.turn.agent.cfg.Stage.Within(text, most)
}

// unread is the index of the answer whose results the model has not seen yet; the end
// without one.
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

// fitted is items, whose results have at most that weight together.
func (a *Agent) fitted(items []model.Item, most int) []model.Item {
	items = slices.Clone(items)
	fit(items, most*bytesPerToken, 0, resultLength, func(n, each int) {
		items[n].Text = a.cfg.Stage.Within(items[n].Text, each)
	})
	return items
}
