package wire

import (
	"strings"
	"testing"

	"codeagent/model"
)

// Prices of a list are dollars for a token, as text. Any other text is an unknown price.
func TestPricesOfAList(t *testing.T) {
	e := lists(strings.NewReader(`{"data":[
		{"id":"whole","pricing":{"prompt":"0.00000125","completion":"0.00001","input_cache_read":"0.000000125","image":{}}},
		{"id":"uncached","pricing":{"prompt":"0.000001","completion":"0.000002","input_cache_read":"-1"}},
		{"id":"none"}, {"id":"null","pricing":null}, {"id":"half","pricing":{"prompt":"0.1"}},
		{"id":"nan","pricing":{"prompt":"NaN","completion":"0.1"}}, {"id":"negative","pricing":{"prompt":"0.1","completion":"-0.1"}},
		{"id":"huge","pricing":{"prompt":"1e300","completion":"0.1"}}, {"id":"inf","pricing":{"prompt":"Inf","completion":"0.1"}},
		{"id":"number","pricing":{"prompt":1.25,"completion":10}}, {"id":"text","pricing":"cheap"}, {"id":"last","pricing":{"prompt":"0.5","completion":"1"}}]}`))
	if _, read := e.Listing("whole"); read {
		t.Error("a list is read before it was asked for")
	}
	if _, err := e.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]model.Price{
		"whole": {Input: 1.25, Cached: 0.125, Output: 10}, "uncached": {Input: 1, Cached: 1, Output: 2}, "last": {Input: 5e5, Cached: 5e5, Output: 1e6},
		"none": {}, "null": {}, "half": {}, "nan": {}, "negative": {}, "huge": {}, "inf": {}, "number": {}, "text": {}, "absent": {},
	} {
		listing, read := e.Listing(name)
		got := listing.Price
		near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
		if !read || !near(got.Input, want.Input) || !near(got.Cached, want.Cached) || !near(got.Output, want.Output) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// A context is a positive number of tokens, below the name that a provider of the field gives it.
func TestContextsOfAList(t *testing.T) {
	e := lists(strings.NewReader(`{"data":[{"id":"router","context_length":32768},{"id":"vllm","max_model_len":8192},{"id":"groq","context_window":131072},
		{"id":"none"},{"id":"text","context_length":"32768"},{"id":"negative","context_length":-5},{"id":"huge","context_length":1e300},
		{"id":"null","context_length":null,"max_model_len":4096}]}`))
	if _, err := e.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"router": 32768, "vllm": 8192, "groq": 131072, "null": 4096, "none": 0, "text": 0, "negative": 0, "huge": 0, "absent": 0} {
		if got, _ := e.Listing(name); got.Window != want {
			t.Errorf("%s: %d, want %d", name, got.Window, want)
		}
	}
}

// Counts that no provider means cost nothing.
func TestCostOfOddCounts(t *testing.T) {
	p := model.Price{Input: 1, Cached: 0.5, Output: 2}
	for u, want := range map[model.Usage]float64{
		{Input: 1e6, Cached: 4e5, Output: 1e6}:  0.6 + 0.2 + 2,
		{Input: 1e6, Cached: 2e6}:               1 + 1, // not counted as input
		{Input: -1e6, Cached: -1e6, Output: -1}: 0,
	} {
		if got := p.Of(u); got-want > 1e-9 || want-got > 1e-9 {
			t.Errorf("%+v: %v, want %v", u, got, want)
		}
	}
}
