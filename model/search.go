package model

import "slices"

// maxSources and maxQuery bound a Search, the second in bytes.
const maxSources, maxQuery = 20, 1 << 10

// Search is what a provider's own web search did for an answer. A provider may not say what it searched
// for.
type Search struct {
	Query   string   `json:"query,omitempty"`
	Sources []Source `json:"sources,omitempty"`
}

// Source is a page that the search used. Title is one bounded line, URL an ASCII http or https URL.
type Source struct {
	Title string `json:"title,omitempty"`
	URL   string `json:"url"`
}

// Add adds what is new in more, within bounds.
func (s *Search) Add(more Search) {
	if q := more.Query; q != "" && len(s.Query)+len(q) < maxQuery {
		if s.Query != "" {
			s.Query += "; "
		}
		s.Query += q
	}
	for _, from := range more.Sources {
		if len(s.Sources) < maxSources && !slices.ContainsFunc(s.Sources, func(have Source) bool { return have.URL == from.URL }) {
			s.Sources = append(s.Sources, from)
		}
	}
}

// Used reports whether anything was searched.
func (s *Search) Used() bool { return s.Query != "" || len(s.Sources) > 0 }
