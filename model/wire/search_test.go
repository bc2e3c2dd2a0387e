package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"codeagent/model"
)

// What a provider says of its sources is hostile: bounded, on one line, http alone, and no name before the host.
func TestSources(t *testing.T) {
	var list []Annotation
	if err := Parse([]byte(`[
		{"type":"url_citation","url":"https://a.example/x","title":"A"},
		{"type":"url_citation","url_citation":{"url":"http://b.example/","title":"B\u202e\nsecond"}},
		{"type":"url_citation","url":"https://a.example/x","title":"again"},
		{"url":"javascript:alert(1)"}, {"url":"file:///etc/passwd"}, {"url":"https:///nowhere"}, {"url":"\u0000"}, {"url":7}, {},
		{"url":"https://bank.example@evil.example/?q=\u00e4\u202e","title":"`+strings.Repeat("t", 5000)+`"}]`), &list); err != nil {
		t.Fatal(err)
	}
	got := Searched("first\nline", list)
	last := got.Sources[len(got.Sources)-1]
	if len(last.Title) > 210 || strings.Contains(last.URL, "bank") || !strings.HasPrefix(last.URL, "https://evil.example/") {
		t.Errorf("%+v", last)
	}
	got.Sources = got.Sources[:len(got.Sources)-1]
	want := model.Search{Query: "first line", Sources: []model.Source{{Title: "A", URL: "https://a.example/x"}, {Title: "B second", URL: "http://b.example/"}}}
	if !reflect.DeepEqual(got.Search, want) {
		t.Errorf("%+v, want %+v", got.Search, want)
	}
	var all model.Search
	for i := range 1000 {
		all.Add(Searched(strings.Repeat("q", 500), []Annotation{{citation: citation{URL: fmt.Sprintf("https://a.example/%d", i)}}}).Search)
	}
	if raw, err := json.Marshal(all); err != nil || len(all.Sources) != 20 || len(all.Query) > 1<<10 {
		t.Errorf("%d bytes, %d sources, %v", len(raw), len(all.Sources), err)
	}
}
