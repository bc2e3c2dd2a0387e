package wire

import (
	"strconv"

	"codeagent/model"
)

// copied is the key of a context whose value, a *bytes.Buffer, gets the answer's body too: go-openai
// drops the members of a list that it does not know.
type copied struct{}

// maxPrice is the highest price that is believed, in dollars for a token.
const maxPrice = 1

// Price returns what the provider's list says that a model costs, in dollars; the zero value if it does not
// say. False: Models has not returned a list yet.
func (e *endpoint) Price(name string) (model.Price, bool) {
	prices := e.prices.Load()
	if prices == nil {
		return model.Price{}, false
	}
	return (*prices)[name], true
}

// readPrices reads the prices of a list: dollars for a token, as text (OpenRouter). A number as JSON is
// in another unit elsewhere, and is no price.
func (e *endpoint) readPrices(list []byte) {
	var in struct {
		Data []struct {
			ID      string `json:"id"`
			Pricing struct {
				Prompt     string `json:"prompt"`
				Completion string `json:"completion"`
				CacheRead  string `json:"input_cache_read"`
			} `json:"pricing"`
		} `json:"data"`
	}
	prices := map[string]model.Price{}
	_ = Parse(list, &in) // go-openai has read it
	for _, m := range in.Data {
		input, ok := priceOf(m.Pricing.Prompt)
		output, too := priceOf(m.Pricing.Completion)
		if !ok || !too || len(m.ID) > maxName {
			continue
		}
		cached, ok := priceOf(m.Pricing.CacheRead)
		if !ok {
			cached = input
		}
		prices[m.ID] = model.Price{Input: input, Cached: cached, Output: output}
	}
	e.prices.Store(&prices)
}

// priceOf reads the price of a token and returns that of a million. NaN and negative prices are none.
func priceOf(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n * 1e6, err == nil && n >= 0 && n <= maxPrice
}
