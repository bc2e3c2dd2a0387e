package config

import (
	"fmt"
	"strings"
)

// Provider is where a model is served.
type Provider struct {
	// Name is the NAME of [providers.NAME]; empty for the top-level settings.
	Name    string
	BaseURL string
	// KeyEnv names the variable with the key.
	KeyEnv string
	// Headers are sent along; a whole value "$NAME" stands for a variable.
	Headers map[string]string
}

// openAI is what an API key alone stands for.
const openAI = "https://api.openai.com/v1"

// Provider returns the provider in use, and false when none is configured: no
// base URL and no key.
func (c Config) Provider(getenv func(string) string) (Provider, bool) {
	if c.ModelProvider != "" {
		p, ok := c.Providers[c.ModelProvider]
		return p, ok
	}
	p := Provider{BaseURL: c.BaseURL, KeyEnv: c.APIKeyEnv}
	if p.BaseURL == "" && p.KeyEnv != "" && getenv(p.KeyEnv) != "" {
		p.BaseURL = openAI
	}
	return p, p.BaseURL != ""
}

// Key returns the key from the environment. It may be empty: local servers
// take none.
func (p Provider) Key(getenv func(string) string) Secret {
	if p.KeyEnv == "" {
		return Secret{}
	}
	return Secret{strings.TrimSpace(getenv(p.KeyEnv))}
}

// ResolvedHeaders returns the headers with their variables filled in; a
// variable that is not set is an error.
func (p Provider) ResolvedHeaders(getenv func(string) string) (map[string]string, error) {
	out := map[string]string{}
	for name, v := range p.Headers {
		if variable, ok := strings.CutPrefix(v, "$"); ok {
			if v = getenv(variable); v == "" {
				return nil, fmt.Errorf("providers.%s.headers: %s names the variable %s, which is not set", p.Name, quoted(name), quoted(variable))
			}
		}
		out[name] = v
	}
	return out, nil
}

// Secret is a key that no message, log or JSON shows.
type Secret struct{ value string }

// Reveal returns the key itself, for the one request header it is meant for.
func (s Secret) Reveal() string { return s.value }

// String hides the key.
func (s Secret) String() string {
	if s.value == "" {
		return "(no key)"
	}
	return "(hidden)"
}

// GoString hides the key from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the key from JSON and TOML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
