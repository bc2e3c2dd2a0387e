package fileworker

import (
	"bytes"
	"context"
	"regexp"
)

// The worker reads and the client searches: Go's regexp takes linear time on any content, so
// the search needs no confinement, and the helper stays small.

// maxGrepText bounds the text of all matches of one search.
const maxGrepText = 8 << 20

// Grep searches regular files line by line for an RE2 pattern. Files that are binary, too large or
// unreadable are left out and counted.
func (c *Client) Grep(ctx context.Context, paths []string, pattern string, limits GrepLimits) (GrepResult, error) {
	s, err := newSearcher(ctx, pattern, limits)
	if err != nil {
		return GrepResult{}, err
	}
	for len(paths) > 0 && !s.result.More {
		a, err := c.ask(&request{op: opReadMany, paths: paths[:min(len(paths), 1000)], limit: s.limits.FileBytes})
		if err != nil {
			return s.result, err
		}
		if len(a.contents) == 0 || len(a.contents) > len(paths) {
			return s.result, ErrFrame
		}
		for i, content := range a.contents {
			s.file(paths[i], content)
			if ctx.Err() != nil {
				return s.result, context.Cause(ctx)
			}
		}
		paths = paths[len(a.contents):]
	}
	return s.result, nil
}

// searcher holds one search over several files.
type searcher struct {
	ctx     context.Context
	pattern *regexp.Regexp
	limits  GrepLimits
	result  GrepResult
	text    int
}

func newSearcher(ctx context.Context, pattern string, limits GrepLimits) (*searcher, error) {
	p, err := regexp.Compile(pattern)
	if err != nil {
		return nil, &Error{Op: "grep", Path: pattern, Kind: Invalid, Text: err.Error()}
	}
	return &searcher{ctx: ctx, pattern: p, limits: withDefaults(limits)}, nil
}

func withDefaults(l GrepLimits) GrepLimits {
	l.Matches = limit(l.Matches, 1000, MaxMatches)
	l.LineBytes = limit(l.LineBytes, 400, 64<<10)
	l.FileBytes = limit(l.FileBytes, 16<<20, MaxData)
	return l
}

// limit returns n, or unset if n is not positive; at most most.
func limit[N int | int64](n, unset, most N) N {
	if n <= 0 {
		n = unset
	}
	return min(n, most)
}

func (s *searcher) file(path string, c content) {
	switch c.state {
	case contentText:
		s.lines(path, c.data)
	case contentBinary:
		s.result.Binary++
	case contentLarge:
		s.result.Large++
	default:
		s.result.Unreadable++
	}
}

// lines finds the matching lines of content.
func (s *searcher) lines(path string, content []byte) {
	for n := 1; len(content) > 0 && s.ctx.Err() == nil; n++ {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		content = rest
		found := s.pattern.FindIndex(line)
		if found == nil {
			continue
		}
		if len(s.result.Matches) == s.limits.Matches || s.text > maxGrepText {
			s.result.More = true
			return
		}
		s.add(path, n, found[0], bytes.TrimSuffix(line, []byte{'\r'}))
	}
}

// add adds the line, or the part of it around the match.
func (s *searcher) add(path string, line, first int, text []byte) {
	m := Match{Path: path, Line: line}
	if len(text) > s.limits.LineBytes {
		from := max(0, min(first-s.limits.LineBytes/4, len(text)-s.limits.LineBytes))
		text = text[from : from+s.limits.LineBytes]
		m.Cut = true
	}
	m.Text = string(text)
	s.text += len(text)
	s.result.Matches = append(s.result.Matches, m)
}
