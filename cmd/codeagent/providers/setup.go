package providers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"codeagent/config"
)

// A person sets up a provider that the settings may not know yet, with a key that is not kept yet.

// Candidate is a provider that can be set up. Models are those of a server on this machine that answers.
type Candidate struct {
	config.Provider
	// KeyFrom says where its key comes from; "": it has none.
	KeyFrom string
	Models  []string
}

// Candidates are the servers of this machine that answer, the providers with a key, those of the settings, and
// the other built-in ones, in this order.
func (ps Providers) Candidates(ctx context.Context) (out []Candidate) {
	served := map[string][]string{}
	for _, o := range ps.Servers(ctx) {
		served[o.provider] = o.models
	}
	for _, p := range ps.cfg.AllProviders() {
		c := Candidate{Provider: p, KeyFrom: p.KeySource(ps.env), Models: served[p.Name]}
		if _, own := ps.cfg.Providers[p.Name]; !p.Local || own || len(c.Models) > 0 {
			out = append(out, c)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return ps.rank(out[i]) < ps.rank(out[j]) })
	return out
}

func (ps Providers) rank(c Candidate) int {
	_, own := ps.cfg.Providers[c.Name]
	return slices.Index([]bool{len(c.Models) > 0, c.KeyFrom != "", own, true}, true)
}

// At is the provider of that name, at another address if that is not empty, with another key if that is not empty.
func (ps Providers) At(name, address, key string) (config.Provider, error) {
	p, known := ps.cfg.Provider(name, ps.env)
	if address != "" {
		p = config.Provider{Name: name, BaseURL: address}
	} else if !known {
		return p, fmt.Errorf("no provider is called %q", name)
	}
	if key != "" {
		p = p.WithKey(ps.env, key)
	}
	return p, nil
}

// NameFor is what the settings call the provider at an address: its host, with dashes.
func NameFor(address string) (string, error) {
	p, err := config.Provider{BaseURL: address}.Resolve(func(string) string { return "" })
	if err != nil {
		return "", err
	}
	if p.Address() != p.BaseURL {
		return "", errors.New("leave password, query and fragment out: the key is entered next")
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(p.Host())), "-")
	if _, known := (config.Config{}).Provider(name, nil); known { // whose key would go there
		name += "-server"
	}
	return name, nil
}

// Exposed reports whether what is sent to an address crosses a network unencrypted.
func Exposed(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false // no request is made
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && u.Hostname() != "localhost" && !ip.IsLoopback()
}

// ModelsOf returns the models of p, with what is known about each.
func (ps Providers) ModelsOf(ctx context.Context, p config.Provider) (out []ListedModel, err error) {
	names, err := ps.serves(ctx, p, listTime, true)
	for _, name := range names {
		out = append(out, ps.Listed(p, name))
	}
	return out, err
}

// Listed is a model of p for Switch.
func (ps Providers) Listed(p config.Provider, name string) ListedModel {
	return ListedModel{modelName{p, name}, Chosen{from: p}.Title(name), about(ps.cfg.LimitsOf(p, name))}
}

// loadTime bounds the request to a server of this machine, which may have to load the model.
const loadTime = 3 * time.Minute

// Try sends one small request, and does not repeat it.
func (ps Providers) Try(ctx context.Context, p config.Provider, name string) error {
	ps.cfg.PatienceSeconds = 1
	c, err := ps.connect(ctx, p, name, false)
	if err != nil {
		return err
	}
	patience := probeTime
	if p.Local {
		patience = loadTime
	}
	return c.probe(ctx, patience)
}
