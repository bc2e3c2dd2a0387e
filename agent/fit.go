package agent

import (
	"math"
	"slices"
	"strings"

	"codeagent/model"
)

// Results are cut to the model's limits before they are added, and before any compaction: a
// summary cannot replace a result that the model has not seen. If the results of an answer
// are too long together, each gets a fair share; the log has them in full.

// leastResult is how many bytes a result keeps, however many results there are.
const leastResult = 300

// share returns how many bytes each text may have so that all have no more than all together:
// short texts leave their unused part to the others.
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

// fit cuts items that are too long if all together have more than all bytes. length returns
// how much of an item can be cut, each is how much cut may keep of it, at least least.
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

// fit shortens the results of the batch's calls if they are too long together.
func (b *batch) fit(results []model.Item) {
	a := b.turn.agent
	a.mu.Lock()
	most := a.budget.weight(a.budget.round()) * bytesPerToken
	a.mu.Unlock()
	fit(results, most, 0, resultLength, func(n, each int) {
		results[n].Text = b.calls[n].within(results[n].Text, each)
	})
}

// within returns the text of the call's result cut to most bytes.
func (c *toolCall) within(text string, most int) string {
	if c.less != nil {
		// The tool's text may be followed by notes about the call.
		if said, ok := strings.CutPrefix(text, strings.TrimRight(c.less(math.MaxInt), "\n")); ok {
			return c.less(most-len(said)) + said
		}
	}
	return c.turn.agent.cfg.Stage.Within(text, most)
}

// unread returns the index of the answer whose results the model has not seen yet, or
// len(items).
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

// fitted returns items with results of at most that weight together.
func (a *Agent) fitted(items []model.Item, most int) []model.Item {
	items = slices.Clone(items)
	fit(items, most*bytesPerToken, 0, resultLength, func(n, each int) {
		items[n].Text = a.cfg.Stage.Within(items[n].Text, each)
	})
	return items
}
