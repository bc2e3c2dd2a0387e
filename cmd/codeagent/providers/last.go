package providers

import (
	"errors"
	"fmt"
	"strings"

	sessions "codeagent/session"
)

// Kept is what the record of a session says of the model.
func (c Chosen) Kept() sessions.Model {
	m := sessions.Model{Name: c.Title(c.Name)}
	if !c.unnamed {
		m.Provider, m.Host = c.provider, c.host
	}
	return m
}

// lastAsked is the model that the session from asked last, as the settings have it
// now; none where nobody chose it, or another one is said on the command line. The
// error says why it is not asked any more. A conversation goes on only where it
// was: what has the same name now and lies elsewhere is not meant.
func (ps Providers) lastAsked(w Wish) (named, error) {
	if w.Session == "" || ps.cfg.Asked() && !w.Switched {
		return named{}, nil
	}
	last, err := sessions.New(ps.paths.Sessions).LastModel(w.Session)
	if err != nil || last.Host == "" {
		return named{}, nil // what is wrong with the session is said where it is opened
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
