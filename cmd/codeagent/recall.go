package main

import (
	"errors"
	"fmt"
	"strings"

	sessions "codeagent/session"
)

// kept is what the record of a session says of the model.
func (c chosen) kept() sessions.Model {
	m := sessions.Model{Name: c.title(c.name)}
	if !c.unnamed {
		m.Provider, m.Host = c.provider, c.host
	}
	return m
}

// lastAsked is the model that the session from asked last, as the settings have it
// now; none where nobody chose it, or another one is said on the command line. The
// error says why it is not asked any more. A conversation goes on only where it
// was: what has the same name now and lies elsewhere is not meant.
func (b *box) lastAsked(from *resumed) (named, error) {
	if from == nil || b.cfg.Asked() && !from.after {
		return named{}, nil
	}
	last, err := sessions.New(b.paths.Sessions).LastModel(from.id)
	if err != nil || last.Host == "" {
		return named{}, nil // what is wrong with the session is said where it is opened
	}
	p, known := b.cfg.Provider(last.Provider, b.s.Env)
	there, err := p.Resolve(b.s.Env)
	lacks := p.Lacks(b.s.Env)
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
		return named{}, fmt.Errorf("%s, which this session asked last, cannot be asked: %w", last.Name, err)
	}
	name := last.Name
	if last.Provider != "" {
		name = strings.TrimPrefix(name, last.Provider+"/")
	}
	return named{p, name}, nil
}
