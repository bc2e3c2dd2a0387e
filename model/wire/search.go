package wire

import (
	"net/url"

	"codeagent/internal/short"
	"codeagent/model"
)

// maxURL and maxTitle bound what is kept of a source, and of a query, in bytes.
const maxURL, maxTitle = 2 << 10, 200

// Annotation is a source in an answer, in the shape of either API.
type Annotation struct {
	citation
	Nested citation `json:"url_citation"` // Chat Completions
}

type citation struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// Searched returns a search with that query and the sources among annotations, as harmless text.
func Searched(query string, annotations []Annotation) model.Searched {
	s := model.Search{Query: short.Bound(oneLine(short.Head(query, 2*maxTitle)), maxTitle)}
	for _, a := range annotations {
		for _, c := range []citation{a.citation, a.Nested} {
			u, err := url.Parse(c.URL)
			if err != nil || len(c.URL) > maxURL || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				continue
			}
			u.User = nil // it would look like the host
			s.Add(model.Search{Sources: []model.Source{{Title: short.Bound(oneLine(short.Head(c.Title, 2*maxTitle)), maxTitle), URL: u.String()}}})
		}
	}
	return model.Searched{Search: s}
}
