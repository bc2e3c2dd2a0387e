package wire

import (
	"cmp"
	"strconv"

	"codeagent/model"
)

// copied is the key of a context whose value, a *bytes.Buffer, gets the answer's body too: go-openai
// drops the members of a list that it does not know.
type copied struct{}

// maxPrice is the highest price that is believed, in dollars for a token.
const maxPrice = 1

// maxWindow is the largest context that is believed, in tokens.
const maxWindow = 100_000_000

// Listing returns what the provider's list says of a model, its price in dollars; the zero value if it says
// nothing. False: Models has not returned a list yet.
func (e *endpoint) Listing(name string) (model.Listing, bool) {
	listed := e.listed.Load()
	if listed == nil {
		return model.Listing{}, false
	}
	return (*listed)[name], true
}

// readList reads prices, in dollars for a token, as text (OpenRouter: a number as JSON is in another unit
// elsewhere, and is no price), and contexts by the members that OpenRouter, vLLM and Groq have. It returns the
// names.
func (e *endpoint) readList(list []byte) (names []string) {
	var in struct {
		Data []struct {
			ID      string `json:"id"`
			Pricing struct {
				Prompt     string `json:"prompt"`
				Completion string `json:"completion"`
				CacheRead  string `json:"input_cache_read"`
			} `json:"pricing"`
			ContextLength float64 `json:"context_length"`
			MaxModelLen   float64 `json:"max_model_len"`
			ContextWindow float64 `json:"context_window"`
		} `json:"data"`
	}
	listed := map[string]model.Listing{}
	_ = Parse(list, &in) // go-openai has read it
	for _, m := range in.Data {
		if len(m.ID) > maxName {
			continue
		}
		var l model.Listing
		if n := cmp.Or(m.ContextLength, m.MaxModelLen, m.ContextWindow); n >= 1 && n <= maxWindow {
			l.Window = int(n)
		}
		input, ok := priceOf(m.Pricing.Prompt)
		output, too := priceOf(m.Pricing.Completion)
		if cached, known := priceOf(m.Pricing.CacheRead); ok && too && known {
			l.Price = model.Price{Input: input, Cached: cached, Output: output}
		} else if ok && too {
			l.Price = model.Price{Input: input, Cached: input, Output: output}
		}
		listed[m.ID] = l
		names = append(names, m.ID)
	}
	e.listed.Store(&listed)
	return names
}

// priceOf reads the price of a token and returns that of a million. NaN and negative prices count as unknown.
func priceOf(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n * 1e6, err == nil && n >= 0 && n <= maxPrice
}
