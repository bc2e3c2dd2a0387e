package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Provider is a server of models and how to use it.
type Provider struct {
	// Name is the NAME of [providers.NAME]; empty for the top-level settings.
	Name string
	// Title is the server's usual name if it differs.
	Title string
	// BaseURL may begin with "$NAME", the name of a variable; Resolve replaces it.
	BaseURL string `toml:"base_url"`
	// KeyEnv names the variable with the key.
	KeyEnv string `toml:"key_env"`
	// KeyCommand is a program and its arguments that prints the key; it takes precedence over
	// KeyEnv.
	KeyCommand []string `toml:"key_command"`
	// Headers are sent with each request; a value "$NAME" is the name of a variable.
	Headers map[string]string `toml:"headers"`
	// Wire is Chat or Responses; empty: chosen by the base URL.
	Wire string `toml:"wire"`
	// SearchTool is the type of the tool by which its models search the web; "": the API's own way. Resolve sets
	// it to that of the built-in provider with this base URL.
	SearchTool string
	// Limits apply to all its models.
	Limits ModelLimits
	// Local: the server is on this machine, and may need no key.
	Local bool
	// kept is the key that codeagent keeps under Name; unread is why the file of these keys is not used.
	kept   *keptKey
	unread error
}

// ModelLimits are the limits of a model's input and output, in tokens; 0: not known.
type ModelLimits struct {
	Context int64 `toml:"context"`
	Output  int64 `toml:"output"`
	// Vision is "yes", "no" or "" for not known.
	Vision string `toml:"vision"`
}

// ModelSettings is a [models.NAME] table.
type ModelSettings struct {
	ModelLimits
	ModelRules
	// Prices are those of PriceOf, as written.
	Prices map[string]string `toml:"price"`
}

// Price is what a model costs, in one currency for a million tokens; the zero value: not known.
type Price struct{ Input, Cached, Output float64 }

// The values of the setting wire.
const (
	Chat      = "chat"
	Responses = "responses"
)

// openAI is the base URL if only an API key is set.
const openAI = "https://api.openai.com/v1"

// Choose returns the provider in use and the model, "" if none is named. It returns false if
// nothing is configured: no provider, base URL or key.
//
// The model "NAME/rest" is the model "rest" of the provider NAME, if that is unambiguous:
// names of models contain slashes too. If a provider is set, the prefix must come from a
// later source than the provider; if base_url is set, only a [providers.NAME] counts. A
// request for one provider must not reach another by accident.
func (c Config) Choose(getenv func(string) string) (p Provider, model string, ok bool) {
	if prefix, rest, cut := strings.Cut(c.Model, "/"); cut && rest != "" {
		if p, known := c.named(prefix); known && c.prefixed(prefix) {
			return p, rest, true
		}
	}
	p, ok = c.Provider(c.ModelProvider, getenv)
	return p, c.Model, ok
}

// Provider returns the provider of that name, or the top-level settings' for ""; false if it
// is unknown.
func (c Config) Provider(name string, getenv func(string) string) (Provider, bool) {
	if name != "" {
		return c.named(name)
	}
	p := Provider{BaseURL: c.BaseURL, KeyEnv: c.APIKeyEnv, Wire: c.Wire}
	if p.BaseURL == "" && p.KeyEnv != "" && getenv(p.KeyEnv) != "" {
		p.BaseURL = openAI
	}
	return p, p.BaseURL != ""
}

// Asked reports whether the command line names the model or the provider, also by a profile.
func (c Config) Asked() bool {
	return slices.ContainsFunc([]string{"model", "model_provider", "base_url"}, func(key string) bool {
		o := c.Origin(key)
		return o.typed() || o.Kind == "profile"
	})
}

// prefixed reports whether the model's prefix may choose the provider.
func (c Config) prefixed(name string) bool {
	_, own := c.Providers[name]
	later := func(key string) bool { return c.Origin("model").rank() > c.Origin(key).rank() }
	switch {
	case c.ModelProvider != "":
		return later("model_provider")
	case c.BaseURL != "":
		return own
	}
	return true
}

// Passed returns the provider that the model's prefix would have chosen if base_url were not
// set, or "". It applies only if the command line names the model: elsewhere
// the two settings were written for each other.
func (c Config) Passed(p Provider, model string) string {
	prefix, rest, _ := strings.Cut(model, "/")
	_, known := c.named(prefix)
	if !known || rest == "" || p.Name != "" || !c.Origin("model").typed() {
		return ""
	}
	return prefix
}

// Switch returns the provider and the model for name in a session that uses p: a model of p,
// unless the prefix of name chooses another provider. If base_url is set, only a
// [providers.NAME] counts, as at the start of a session.
func (c Config) Switch(p Provider, name string) (Provider, string) {
	if prefix, rest, cut := strings.Cut(name, "/"); cut && rest != "" {
		_, own := c.Providers[prefix]
		if other, known := c.named(prefix); known && (own || c.BaseURL == "") {
			return other, rest
		}
	}
	return p, name
}

// Ready lists, by name, the providers that can be used at once: those with a key and the
// servers on this machine. A provider whose key a program prints is left out: the user may
// have to touch a device for it. With base_url set, a provider whose key belongs to that
// address is left out too: the key must not reach another address.
func (c Config) Ready(getenv func(string) string) []Provider {
	var out []Provider
	for _, p := range c.AllProviders() {
		_, own := c.Providers[p.Name]
		elsewhere := !own && !p.Local && c.BaseURL != "" && p.KeyEnv == c.APIKeyEnv && getenv(p.KeyEnv) != ""
		if len(p.KeyCommand) == 0 && p.Lacks(getenv) == "" && !elsewhere {
			out = append(out, p)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// rank orders origins: a later source overrides an earlier one.
func (o Origin) rank() int {
	return slices.Index([]string{"default", "file", "environment", "profile", "-c", "flag"}, o.Kind)
}

// Resolve replaces the variables in BaseURL and Headers and determines the wire. A variable
// that is not set is an error.
func (p Provider) Resolve(getenv func(string) string) (Provider, error) {
	if rest, ok := strings.CutPrefix(p.BaseURL, "$"); ok {
		name, path, _ := strings.Cut(rest, "/")
		base := strings.TrimRight(strings.TrimSpace(getenv(name)), "/")
		if base == "" {
			return p, fmt.Errorf("the base URL of the provider %s names the variable %s, which is not set", p.Name, quoted(name))
		}
		p.BaseURL = base + "/" + path
	}
	u, err := baseURL(p.BaseURL)
	if err != nil {
		return p, fmt.Errorf("the base URL %s %w", quoted(p.BaseURL), err)
	}
	if i := slices.IndexFunc(presets, func(built Provider) bool { return built.BaseURL == strings.TrimRight(p.BaseURL, "/") }); i >= 0 {
		p.SearchTool = presets[i].SearchTool
	}
	if p.Wire == "" {
		p.Wire = Chat
		if u.Hostname() == "api.openai.com" {
			p.Wire = Responses
		}
	}
	headers := map[string]string{}
	for name, v := range p.Headers {
		if variable, ok := strings.CutPrefix(v, "$"); ok {
			if v = strings.TrimSpace(getenv(variable)); v == "" { // as a key: files end in a line break
				return p, fmt.Errorf("providers.%s.headers: %s names the variable %s, which is not set", p.Name, quoted(name), quoted(variable))
			}
		}
		headers[name] = v
	}
	p.Headers = headers
	return p, nil
}

// Host returns the host of a resolved provider, with the port if the base URL has one.
func (p Provider) Host() string {
	u, err := baseURL(p.BaseURL)
	if err != nil {
		return ""
	}
	return u.Host
}

// Address returns the base URL without a password or key in it.
func (p Provider) Address() string {
	u, err := baseURL(p.BaseURL)
	if err != nil {
		return "the base URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func baseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("must look like https://host/v1")
	}
	return u, nil
}

// Key returns the key from the environment, else the kept one. It may be empty: local servers need none.
func (p Provider) Key(getenv func(string) string) Secret {
	key, _ := p.keyFrom(getenv)
	return key
}

// keyFrom returns the key, and where it comes from; "" without one.
func (p Provider) keyFrom(getenv func(string) string) (key Secret, source string) {
	if p.KeyEnv != "" {
		if key := strings.TrimSpace(getenv(p.KeyEnv)); key != "" {
			return Secret{key}, "$" + p.KeyEnv
		}
	}
	if p.Kept() && p.kept.Origin == p.origin(getenv) {
		return Secret{p.kept.Key}, "the kept key"
	}
	return Secret{}, ""
}

// keyVariables returns the variables that the user's settings name for keys and headers,
// sorted.
func (c Config) keyVariables() []string {
	names := c.providerVariables()
	for _, s := range c.MCP.Servers {
		names = append(names, s.Variables()...)
	}
	if c.Origin("api_key_env").Kind != "default" {
		names = append(names, c.APIKeyEnv)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// providerVariables returns the variables that [providers.NAME] name for keys and headers.
func (c Config) providerVariables() (names []string) {
	for _, p := range c.Providers {
		names = append(names, p.KeyEnv)
		for _, v := range p.Headers {
			if name, ok := strings.CutPrefix(v, "$"); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// Lacks returns the variable that must hold a key and does not; "" if none is missing. The
// top-level settings name one by default, which a local server may not need.
func (p Provider) Lacks(getenv func(string) string) string {
	if p.Name == "" || p.Local || len(p.KeyCommand) > 0 || p.Key(getenv) != (Secret{}) {
		return ""
	}
	return p.KeyEnv
}

// KeyHints says what to set if p has no key or rejects it: which variable, or which setting
// of file. It does not show the base URL, which may contain a secret.
func (p Provider) KeyHints(getenv func(string) string, file string) []string {
	setting := func(key string) string { return "providers." + p.Name + "." + key }
	where := "this server"
	if p.Name != "" {
		where = "the provider " + p.Name
	}
	var hints []string
	if p.unread != nil && len(p.KeyCommand) == 0 {
		hints = append(hints, "the kept keys are not used: "+p.unread.Error())
	}
	if p.Kept() && p.kept.Origin != p.origin(getenv) {
		hints = append(hints, "the kept key is for another address, "+quoted(p.kept.Origin))
	}
	const enter = "enter a key on the screen: codeagent, then /model"
	switch {
	case p.KeyEnv == "" || len(p.KeyCommand) > 0:
	case getenv(p.KeyEnv) == "" && p.Name != "":
		hints = append(hints, enter, fmt.Sprintf("or set %s to a key of %s", p.KeyEnv, where))
	case getenv(p.KeyEnv) == "":
		hints = append(hints, fmt.Sprintf("set %s to a key of %s", p.KeyEnv, where))
	default:
		hints = append(hints, fmt.Sprintf("set %s to a key of %s that may use this model", p.KeyEnv, where))
	}
	const another = "or set OPENAI_BASE_URL to another server that speaks the OpenAI API"
	switch {
	case p.Name == "" && p.KeyEnv == "":
		hints = append(hints, "name the variable with its key: api_key_env in "+file, another)
	case p.Name == "":
		hints = append(hints, "or name another variable: api_key_env in "+file, another)
	case len(p.KeyCommand) > 0:
		hints = append(hints, fmt.Sprintf("the key is what the program of %s prints: %s", setting("key_command"), file))
	case p.KeyEnv != "":
		hints = append(hints, fmt.Sprintf("or name another variable, %s, or a program that prints the key, %s, in %s", setting("key_env"), setting("key_command"), file))
	default:
		hints = append(hints, enter, fmt.Sprintf("or name the variable with its key, %s, or a program that prints it, %s, in %s", setting("key_env"), setting("key_command"), file))
	}
	if len(p.Headers) > 0 {
		hints = append(hints, "or the header that carries it: "+setting("headers"))
	}
	return hints
}

// AddressHints says what may be wrong with the address of p if its server does not know the
// path: nearly all base URLs contain a version.
func (p Provider) AddressHints(file string) []string {
	u, err := baseURL(p.BaseURL)
	if err != nil || strings.Contains(u.Path, "/v") {
		return nil
	}
	setting := "OPENAI_BASE_URL, or base_url"
	if p.Name != "" {
		setting = "providers." + p.Name + ".base_url"
	}
	return []string{fmt.Sprintf("the base URL of most servers ends in /v1, and the one of %s does not: %s in %s", u.Host, setting, file)}
}

// WireHint says which setting of file selects the other API for p.
func (p Provider) WireHint(file string) string {
	setting, api, value := "wire", "the Responses API", Responses
	if p.Name != "" {
		setting = "providers." + p.Name + ".wire"
	}
	if p.Wire == Responses {
		api, value = "Chat Completions", Chat
	}
	return fmt.Sprintf("where the server speaks %s: %s = %q in %s", api, setting, value, file)
}

// LimitsOf returns the known limits of a provider's model. Each limit comes from the most specific
// source: the matching [models.NAME], the provider, the built-in table.
func (c Config) LimitsOf(p Provider, model string) ModelLimits {
	var l ModelLimits
	for _, name := range c.modelNames(p, model) {
		l = l.or(c.Models[name].ModelLimits)
	}
	return l.or(p.Limits).or(knownLimits(model))
}

// ModelRules are the limits that the settings put on a model.
type ModelRules struct {
	// Sandbox is ReadOnly, or empty to follow sandbox.mode.
	Sandbox string `toml:"sandbox"`
	// MustJustify: every request needs a reason of its own. MayAskOutside: the model may ask to run
	// outside the sandbox.
	MustJustify   bool `toml:"must_justify"`
	MayAskOutside bool `toml:"may_ask_outside"`
}

// RulesOf returns the limits for a provider's model, each from the most specific [models.NAME]. A
// provider or a model name implies no limits: even a local server may pass requests on to any
// model.
func (c Config) RulesOf(p Provider, model string) ModelRules {
	r := ModelRules{MayAskOutside: true}
	for _, name := range slices.Backward(c.modelNames(p, model)) {
		set := func(key string) bool { return c.Origin("models."+name+"."+key).Kind != "default" }
		own := c.Models[name].ModelRules
		if set("sandbox") {
			r.Sandbox = own.Sandbox
		}
		if set("must_justify") {
			r.MustJustify = own.MustJustify
		}
		if set("may_ask_outside") {
			r.MayAskOutside = own.MayAskOutside
		}
	}
	return r
}

// PriceOf returns what the most specific [models.NAME] with a price says. Input from the
// provider's cache costs what other input does where nothing else is said.
func (c Config) PriceOf(p Provider, model string) Price {
	for _, name := range c.modelNames(p, model) {
		of := c.Models[name].Prices
		if len(of) == 0 {
			continue
		}
		number := func(key string) float64 {
			n, _ := strconv.ParseFloat(of[key], 64) // validPrices parsed it
			return n
		}
		price := Price{Input: number("input"), Cached: number("cached"), Output: number("output")}
		if of["cached"] == "" {
			price.Cached = price.Input
		}
		return price
	}
	return Price{}
}

// modelNames returns the [models.NAME] that match a provider's model. The most specific comes
// first: the name with the provider, the name, then patterns with * by the length of their literal
// text.
func (c Config) modelNames(p Provider, model string) []string {
	rank := func(name string) int {
		switch {
		case name == p.Name+"/"+model:
			return 1 << 30
		case name == model:
			return 1 << 29
		case strings.Contains(name, "*") && (wildMatch(name, model) || wildMatch(name, p.Name+"/"+model)):
			return 1 + len(name) - strings.Count(name, "*")
		}
		return 0
	}
	names := slices.DeleteFunc(slices.Collect(maps.Keys(c.Models)), func(name string) bool { return rank(name) == 0 })
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(rank(b)-rank(a), strings.Compare(a, b)) })
	return names
}

// wildMatch reports whether text matches pattern, in which each * stands for any text.
func wildMatch(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	text, ok := strings.CutPrefix(text, parts[0])
	for i, part := range parts[1:] {
		if last := i == len(parts)-2; last {
			return ok && strings.HasSuffix(text, part)
		}
		var found bool
		_, text, found = strings.Cut(text, part)
		ok = ok && found
	}
	return ok && text == ""
}

// or returns l, with unknown values taken from m.
func (l ModelLimits) or(m ModelLimits) ModelLimits {
	return ModelLimits{cmp.Or(l.Context, m.Context), cmp.Or(l.Output, m.Output), cmp.Or(l.Vision, m.Vision)}
}

// known lists the context windows of model families, by the beginning of the name without its
// maker; the first match counts. The output limit is left to the provider. If part of the
// window is reserved for the answer, the value is the rest.
var known = []struct {
	prefix string
	limits ModelLimits
}{
	{"gpt-4.1", ModelLimits{Context: 1_047_576, Vision: "yes"}},
	{"gpt-4o", ModelLimits{Context: 128_000, Vision: "yes"}},
	{"gpt-5", ModelLimits{Context: 272_000, Vision: "yes"}},
	{"gpt-oss", ModelLimits{Context: 131_072, Vision: "no"}},
	{"o3-mini", ModelLimits{Context: 200_000, Vision: "no"}},
	{"o3", ModelLimits{Context: 200_000, Vision: "yes"}},
	{"o4-mini", ModelLimits{Context: 200_000, Vision: "yes"}},
	{"claude-", ModelLimits{Context: 200_000, Vision: "yes"}},
	{"gemini-2.5", ModelLimits{Context: 1_048_576, Vision: "yes"}},
	{"gemini-3", ModelLimits{Context: 1_048_576, Vision: "yes"}},
	{"deepseek-", ModelLimits{Context: 128_000, Vision: "no"}},
}

func knownLimits(model string) ModelLimits {
	name := model[strings.LastIndex(model, "/")+1:]
	for _, k := range known {
		if strings.HasPrefix(name, k.prefix) {
			return k.limits
		}
	}
	return ModelLimits{}
}

// Secret is a key that no message, log or JSON contains.
type Secret struct{ value string }

// Reveal returns the key itself, for the request header.
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
