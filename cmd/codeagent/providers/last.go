package providers

import (
	"errors"
	"fmt"
	"strings"

	sessions "codeagent/session"
)

// Kept returns the model as the session's record stores it.
func (c Chosen) Kept() sessions.Model {
	m := sessions.Model{Name: c.Title(c.Name)}
	if !c.unnamed {
		m.Provider, m.Host = c.provider, c.host
	}
	return m
}

// lastAsked returns the model that the resumed session used last, with its present settings;
// none if nobody chose it, or the command line names another. The error says why it is not
// used any more. A conversation continues only at the same provider and address: an entry
// with the same name and another address does not count.
func (ps Providers) lastAsked(w Wish) (named, error) {
	if w.Session == "" || ps.cfg.Asked() && !w.Switched {
		return named{}, nil
	}
	last, err := sessions.New(ps.paths.Sessions).LastModel(w.Session)
	if err != nil || last.Host == "" {
		return named{}, nil // the error is reported where the session is opened
	}
	p, known := ps.cfg.Provider(last.Provider, ps.env)
	there, err := p.Resolve(ps.env)
	lacks := p.Lacks(ps.env)
	switch {
	case !known:
		err = errors.New("its provider is not configured any more")
	case err != nil:
	case there.Host() != last.Host:
		err = fmt.Errorf("its provider is at %s now, and was at %s", there.Host(), last.Host)
	case lacks != "":
		err = fmt.Errorf("%s is not set", lacks)
	}
	if err != nil {
		return named{}, fmt.Errorf("cannot use %s, the model this session used last: %w", last.Name, err)
	}
	name := last.Name
	if last.Provider != "" {
		name = strings.TrimPrefix(name, last.Provider+"/")
	}
	return named{p, name}, nil
}
