package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"codeagent/internal/short"
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

// cutEach cuts items that are too long if all together have more than all bytes. length returns
// how much of an item can be cut, each is how much cut may keep of it, at least least.
func cutEach(items []model.Item, all, least int, length func(model.Item) int, cut func(n, each int)) {
	var sizes []int
	for _, i := range items {
		sizes = append(sizes, length(i))
	}
	each := max(share(sizes, all), least)
	for n, size := range sizes {
		if size > each {
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

// cutResults cuts the results of the batch's calls if they are too long together.
func (b *batch) cutResults(results []model.Item) {
	_, now := b.turn.agent.now()
	cutEach(results, now.round()*bytesPerToken, 0, resultLength, func(n, each int) {
		results[n].Text = b.turn.agent.cfg.Stage.Within(results[n].Text, each)
	})
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

// cutResults returns items with results of at most that weight together.
func (a *Agent) cutResults(items []model.Item, most int) []model.Item {
	items = slices.Clone(items)
	cutEach(items, most*bytesPerToken, 0, resultLength, func(n, each int) {
		items[n].Text = a.cfg.Stage.Within(items[n].Text, each)
	})
	return items
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
	from, weight := len(items), 0
	for i, item := range slices.Backward(items) {
		weight += weigh(item)
		if weight > max(most, last) || item.Kind == model.Summary || weight > most && from < len(items) {
			break
		}
		if begins(items, i) {
			from = i
		}
	}
	return from
}

// leastText is the least length of a text in the request for a summary, in bytes; if that does
// not fit, the oldest items are left out.
const leastText = 2000

// cutForSummary returns items within that weight for the request for a summary.
func cutForSummary(items []model.Item, most int) []model.Item {
	light := cutTo(items, most, leastText)
	if weighAll(light) > most {
		left := model.Item{Kind: model.Note, Text: "[What was said before this point is left out here.]"}
		if light[0].Kind == model.Summary {
			left = light[0] // the summary of what came before
		}
		from := tailOf(light, most-min(weigh(left), most/2), math.MaxInt)
		if from > 0 {
			light = append([]model.Item{left}, light[from:]...)
		}
	}
	return cutTo(light, most, 0)
}

// cutTo returns items within that weight: without thinking and images, and without the
// middle of long texts, of which at least least bytes stay.
func cutTo(items []model.Item, most, least int) (light []model.Item) {
	for _, i := range items {
		if i.Kind == model.Reasoning {
			continue
		}
		i.Images = nil
		light = append(light, i)
		most -= weigh(i) - weighText(length(i))
	}
	cutEach(light, max(most, 0)*bytesPerToken, least, length, func(n, each int) {
		light[n] = cutItem(light[n], each)
	})
	return light
}

// length returns how many bytes of an item can be cut.
func length(i model.Item) int {
	if i.Kind == model.Call {
		return len(i.Call.Arguments)
	}
	return len(i.Text)
}

// cutItem returns an item without the middle of its text or arguments; arguments stay JSON.
func cutItem(i model.Item, most int) model.Item {
	if i.Kind != model.Call {
		i.Text = cutMiddle(i.Text, most)
		return i
	}
	arguments, err := json.Marshal(map[string]string{"cut": cutMiddle(i.Call.Arguments, most/2)})
	if err == nil {
		i.Call = &model.ToolCall{ID: i.Call.ID, Name: i.Call.Name, Arguments: string(arguments)}
	}
	return i
}

// cutMiddle removes the middle of a text longer than most bytes and says so.
func cutMiddle(text string, most int) string {
	if len(text) <= most || most <= 0 {
		return text
	}
	head, tail := short.Head(text, most/2), short.Tail(text, most/2)
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, len(text)-len(head)-len(tail), tail)
}
