package config_test

import (
	"fmt"
	"strings"
	"testing"

	"codeagent/config"

	"github.com/google/go-cmp/cmp"
)

func TestChosenProvider(t *testing.T) {
	keys := map[string]string{"OPENAI_API_KEY": " sk-1\n", "LOCAL_KEY": "lk", "H": "secret\n"}
	c, err := load(t, "", config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := c.Choose(env(nil)); ok {
		t.Error("a provider without URL and key")
	}
	if p, _, ok := c.Choose(env(keys)); !ok || p.BaseURL != "https://api.openai.com/v1" || p.Key(env(keys)).Reveal() != "sk-1" {
		t.Errorf("a key alone: %+v, %v", p, ok)
	}
	if c, err = load(t, everything, config.Sources{}); err != nil {
		t.Fatal(err)
	}
	p, model, ok := c.Choose(env(keys))
	if !ok || p.BaseURL != "http://127.0.0.1:2/v1" || p.Key(env(keys)).Reveal() != "lk" || model != "m1" {
		t.Errorf("%+v, %q, %v", p, model, ok)
	}
	resolved, err := p.Resolve(env(keys))
	if d := cmp.Diff(map[string]string{"X-A": "b", "X-Env": "secret"}, resolved.Headers); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	if _, err := p.Resolve(env(nil)); err == nil || !strings.Contains(err.Error(), `"H", which is not set`) {
		t.Errorf("%v", err)
	}
	k := p.Key(env(keys))
	if all := fmt.Sprintf("%v %+v %#v %s %q", k, k, k, k, k); strings.Contains(all, "lk") {
		t.Errorf("the key shows: %s", all)
	}
}

// TestKeyHints: the hint names the variable, or the setting and its file. It shows no value of
// either.
func TestKeyHints(t *testing.T) {
	has := env(map[string]string{"K": "secret-value"})
	const file = "/h/config.toml"
	for name, c := range map[string]struct {
		p    config.Provider
		want []string
	}{
		"at the top":      {config.Provider{KeyEnv: "K", BaseURL: "https://u:secret-value@h/v1"}, []string{"set K to a key of this server that may use this model", "or name another variable: api_key_env in " + file, "or set OPENAI_BASE_URL to another server that speaks the OpenAI API"}},
		"not set":         {config.Provider{Name: "groq", KeyEnv: "NO"}, []string{"enter a key on the screen: codeagent, then /model", "or set NO to a key of the provider groq", "or name another variable, providers.groq.key_env, or a program that prints the key, providers.groq.key_command, in " + file}},
		"from a program":  {config.Provider{Name: "p", KeyEnv: "K", KeyCommand: []string{"pass"}}, []string{"the key is what the program of providers.p.key_command prints: " + file}},
		"in a header":     {config.Provider{Name: "p", Headers: map[string]string{"X": "secret-value"}}, []string{"enter a key on the screen: codeagent, then /model", "or name the variable with its key, providers.p.key_env, or a program that prints it, providers.p.key_command, in " + file, "or the header that carries it: providers.p.headers"}},
		"named by nobody": {config.Provider{}, []string{"name the variable with its key: api_key_env in " + file, "or set OPENAI_BASE_URL to another server that speaks the OpenAI API"}},
	} {
		if d := cmp.Diff(c.want, c.p.KeyHints(has, file)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestPrefixOfTheModel: NAME/MODEL chooses a provider if that is unambiguous, and a request for
// one provider never reaches another by accident.
func TestPrefixOfTheModel(t *testing.T) {
	own := "[providers.mine]\nbase_url = 'http://mine/v1'\n"
	for _, c := range []struct {
		name, file string
		env        map[string]string
		flag       string // --model
		base       string
		model      string
	}{
		{"a preset", "", nil, "groq/llama-3.3-70b", "https://api.groq.com/openai/v1", "llama-3.3-70b"},
		{"a preset whose models have slashes", "", nil, "openrouter/openai/gpt-5", "https://openrouter.ai/api/v1", "openai/gpt-5"},
		{"a provider of one's own", own, nil, "mine/m", "http://mine/v1", "m"},
		{"a preset, changed", "[providers.groq]\nbase_url = 'http://proxy/groq'\n", nil, "groq/m", "http://proxy/groq", "m"},
		{"no provider of that name", "", map[string]string{"OPENAI_API_KEY": "k"}, "meta/llama", "https://api.openai.com/v1", "meta/llama"},
		{"nothing behind the slash", "", map[string]string{"OPENAI_API_KEY": "k"}, "groq/", "https://api.openai.com/v1", "groq/"},
		{"a base URL stays, in spite of a preset's name", "", map[string]string{"OPENAI_BASE_URL": "http://lmstudio/v1"}, "deepseek/deepseek-r1", "http://lmstudio/v1", "deepseek/deepseek-r1"},
		{"a base URL, and a provider of one's own", own, map[string]string{"OPENAI_BASE_URL": "http://lmstudio/v1"}, "mine/m", "http://mine/v1", "m"},
		{"the flag over the file's provider", "model_provider = 'groq'\n", nil, "ollama/llama3.2", "http://127.0.0.1:11434/v1", "llama3.2"},
		{"beside its provider a name is a name", "model_provider = 'groq'\nmodel = 'openai/gpt-oss-120b'\n", nil, "", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"},
		{"from the environment, over the file", "model_provider = 'groq'\n", map[string]string{"OPENAI_MODEL": "mistral/large"}, "", "https://api.mistral.ai/v1", "large"},
	} {
		src := config.Sources{Getenv: env(c.env)}
		if c.flag != "" {
			src.Flags = []config.Flag{{Name: "--model", Key: "model", Values: []string{c.flag}}}
		}
		cfg, err := load(t, c.file, src)
		if err != nil {
			t.Fatal(err)
		}
		p, model, ok := cfg.Choose(env(c.env))
		if !ok || p.BaseURL != c.base || model != c.model {
			t.Errorf("%s: %q at %q, %v; want %q at %q", c.name, model, p.BaseURL, ok, c.model, c.base)
		}
	}
}

// TestPresets: each resolves to an address, one wire and a key.
func TestPresets(t *testing.T) {
	vars := env(map[string]string{"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com/", "GROQ_API_KEY": "k"})
	cfg, err := load(t, "[providers.azure]\nwire = 'responses'\n[providers.mistral]\nkey_command = ['pass', 'mistral']\n", config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, preset := range config.Presets() {
		name := preset.Name
		cfg.ModelProvider = name
		p, _, ok := cfg.Choose(vars)
		if !ok {
			t.Fatalf("%s is not known", name)
		}
		p, err := p.Resolve(vars)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(name, " ", p.BaseURL, " ", p.Wire, " ", p.Lacks(vars))))
	}
	want := []string{
		"openai https://api.openai.com/v1 responses OPENAI_API_KEY",
		"azure https://x.openai.azure.com/openai/v1 responses AZURE_OPENAI_API_KEY",
		"openrouter https://openrouter.ai/api/v1 chat OPENROUTER_API_KEY",
		"groq https://api.groq.com/openai/v1 chat",
		"mistral https://api.mistral.ai/v1 chat",
		"deepseek https://api.deepseek.com/v1 chat DEEPSEEK_API_KEY",
		"gemini https://generativelanguage.googleapis.com/v1beta/openai chat GEMINI_API_KEY",
		"anthropic https://api.anthropic.com/v1 chat ANTHROPIC_API_KEY",
		"ollama http://127.0.0.1:11434/v1 chat",
		"lmstudio http://127.0.0.1:1234/v1 chat",
		"llamacpp http://127.0.0.1:8080/v1 chat",
		"vllm http://127.0.0.1:8000/v1 chat",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for url, want := range map[string]string{"https://openrouter.ai/api/v1/": "openrouter:web_search", "https://other.example/api/v1": ""} {
		if p, err := (config.Provider{BaseURL: url}).Resolve(vars); err != nil || p.SearchTool != want {
			t.Errorf("%s searches with %q, %v", url, p.SearchTool, err)
		}
	}
	cfg.ModelProvider = "azure"
	p, _, _ := cfg.Choose(vars)
	if _, err := p.Resolve(env(nil)); err == nil || !strings.Contains(err.Error(), `"AZURE_OPENAI_ENDPOINT", which is not set`) {
		t.Errorf("%v", err)
	}
	if n := len(cfg.LocalServers()); n != 4 {
		t.Errorf("%d local servers", n)
	}
}

func TestModelLimits(t *testing.T) {
	cfg, err := load(t, "[providers.mine]\nbase_url = 'http://mine/v1'\ncontext = 1000\noutput = 50\nvision = 'no'\n[models.'mine/a']\ncontext = 2000\n[models.'gpt-5']\nvision = 'no'\n",
		config.Sources{Overrides: []string{`models."b.1".output=7`}})
	if err != nil {
		t.Fatal(err)
	}
	mine, _ := cfg.Provider("mine", env(nil))
	for model, want := range map[string]config.ModelLimits{
		"a":            {Context: 2000, Output: 50, Vision: "no"},
		"b.1":          {Context: 1000, Output: 7, Vision: "no"},
		"openai/gpt-5": {Context: 1000, Output: 50, Vision: "no"},
	} {
		if got := cfg.LimitsOf(mine, model); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
	for model, want := range map[string]config.ModelLimits{
		"gpt-5":                     {Context: 272_000, Vision: "no"},
		"anthropic/claude-sonnet-4": {Context: 200_000, Vision: "yes"},
		"o3-mini":                   {Context: 200_000, Vision: "no"},
		"unheard-of":                {},
	} {
		if got := cfg.LimitsOf(config.Provider{}, model); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
}

func TestModelRules(t *testing.T) {
	cfg, err := load(t, `[models."*"]
must_justify = true
[models."ollama/*"]
sandbox = "read-only"
may_ask_outside = false
[models."ollama/q*:32b"]
sandbox = ""
must_justify = false
[models."big"]
may_ask_outside = true
context = 5
`, config.Sources{Overrides: []string{`models."mini*".may_ask_outside=false`}})
	if err != nil {
		t.Fatal(err)
	}
	ollama, _ := cfg.Provider("ollama", env(nil))
	const no = config.ReadOnly
	for _, c := range []struct {
		provider config.Provider
		model    string
		want     config.ModelRules
	}{
		{config.Provider{}, "any", config.ModelRules{MustJustify: true, MayAskOutside: true}},
		{ollama, "llama3:8b", config.ModelRules{Sandbox: no, MustJustify: true}},
		{ollama, "qwen3:32b", config.ModelRules{}},
		{ollama, "qwen3:32b-q4", config.ModelRules{Sandbox: no, MustJustify: true}},
		{ollama, "big", config.ModelRules{Sandbox: no, MustJustify: true, MayAskOutside: true}},
		{config.Provider{}, "mini.1", config.ModelRules{MustJustify: true}},
		{config.Provider{}, "ollama/x", config.ModelRules{Sandbox: no, MustJustify: true}},
	} {
		if got := cfg.RulesOf(c.provider, c.model); got != c.want {
			t.Errorf("%s/%s: %+v, want %+v", c.provider.Name, c.model, got, c.want)
		}
	}
	if got := cfg.LimitsOf(ollama, "big").Context; got != 5 {
		t.Errorf("context %d", got)
	}
	none, err := load(t, "", config.Sources{})
	if got := none.RulesOf(ollama, "x"); err != nil || got != (config.ModelRules{MayAskOutside: true}) {
		t.Errorf("without settings: %+v %v", got, err)
	}
	for text, want := range map[string]string{
		"[models.x]\nsandbox = 'danger-full-access'":   "invalid value",
		"[models.x]\nmay_ask_outside = 'no'":           "true or false",
		"[models.x]\nmust_justify_everything = true\n": "unknown setting",
	} {
		if _, err := load(t, text, config.Sources{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Variables that hold a key are not passed to commands, whatever their names.
func TestKeysAreNotHandedToCommands(t *testing.T) {
	policy := newHome(t).mustPolicy(t, "sandbox.env.inherit=all", `sandbox.env.include=["SHARED"]`, `sandbox.env.exclude=["X"]`,
		"providers.a.base_url=http://h", "providers.a.key_env=MY_LLM", `providers.a.headers={A = "$TEAM", B = "b"}`,
		"providers.b.base_url=http://h", "providers.b.key_env=SHARED")
	got := policy.Env.Apply([]string{"MY_LLM=1", "TEAM=2", "SHARED=3", "OTHER=4", "X=5"})
	if d := cmp.Diff([]string{"OTHER=4", "SHARED=3"}, got); d != "" {
		t.Error(d)
	}
}

// TestSwitch: in a session a name means a model of the provider in use, unless its prefix
// unambiguously chooses another one.
func TestSwitch(t *testing.T) {
	c, err := load(t, "[providers.mine]\nbase_url = 'http://mine/v1'\nkey_command = ['key']\n", config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	atBase := c
	atBase.BaseURL = "http://base/v1"
	groq, _ := c.Switch(config.Provider{}, "groq/x")
	for _, w := range []struct {
		c              config.Config
		from           config.Provider
		name, to, left string
	}{
		{c, groq, "plain", "groq", "plain"},
		{c, groq, "meta/llama", "groq", "meta/llama"},
		{c, groq, "mistral/large", "mistral", "large"},
		{c, config.Provider{}, "groq/llama", "groq", "llama"},
		{atBase, config.Provider{BaseURL: "http://base/v1"}, "groq/llama", "", "groq/llama"},
		{atBase, config.Provider{BaseURL: "http://base/v1"}, "mine/m", "mine", "m"},
		{atBase, groq, "openai/gpt-5", "groq", "openai/gpt-5"},
	} {
		if p, left := w.c.Switch(w.from, w.name); p.Name != w.to || left != w.left {
			t.Errorf("%s at %q: %q of %q, want %q of %q", w.name, w.from.Name, left, p.Name, w.left, w.to)
		}
	}
	ready := func(c config.Config) string {
		var names []string
		for _, p := range c.Ready(env(map[string]string{"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"})) {
			names = append(names, p.Name)
		}
		return strings.Join(names, " ")
	}
	if got := ready(c); got != "groq llamacpp lmstudio ollama openai vllm" {
		t.Errorf("ready: %s", got)
	}
	// The key may belong to the base URL, so no other provider gets it.
	if got := ready(atBase); got != "groq llamacpp lmstudio ollama vllm" {
		t.Errorf("ready with a base URL: %s", got)
	}
}

func TestAddressHints(t *testing.T) {
	const file = "/home/u/.config/codeagent/config.toml"
	for _, c := range []struct {
		p    config.Provider
		want []string
	}{
		{config.Provider{BaseURL: "https://host.example:8000/"}, []string{"the base URL of most servers ends in /v1, and the one of host.example:8000 does not: OPENAI_BASE_URL, or base_url in " + file}},
		{config.Provider{Name: "work", BaseURL: "https://host.example/openai"}, []string{"the base URL of most servers ends in /v1, and the one of host.example does not: providers.work.base_url in " + file}},
		{config.Provider{BaseURL: "https://api.openai.com/v1"}, nil},
		{config.Provider{Name: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai"}, nil},
		{config.Provider{BaseURL: "nonsense"}, nil},
	} {
		if d := cmp.Diff(c.want, c.p.AddressHints(file)); d != "" {
			t.Errorf("%+v: %s", c.p, d)
		}
	}
}

func TestPassedProviders(t *testing.T) {
	const base = "http://host.example/v1"
	for name, c := range map[string]struct {
		file      string
		overrides []string
		want      string
	}{
		"named on the command line": {"base_url = '" + base + "'", []string{`model="groq/x"`}, "groq"},
		"named together":            {"base_url = '" + base + "'\nmodel = 'groq/x'", nil, ""},
		"chosen":                    {"", []string{`model="groq/x"`}, ""},
		"no provider's name":        {"base_url = '" + base + "'", []string{`model="meta/x"`}, ""},
	} {
		cfg, err := load(t, c.file, config.Sources{Overrides: c.overrides})
		if err != nil {
			t.Fatal(err)
		}
		p, model, _ := cfg.Choose(env(nil))
		if got := cfg.Passed(p, model); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAddressHidesSecrets(t *testing.T) {
	for base, want := range map[string]string{
		"https://user:secret@host.example/v1?key=secret#f": "https://host.example/v1",
		"http://127.0.0.1:8080":                            "http://127.0.0.1:8080",
		"secret":                                           "the base URL",
	} {
		if got := (config.Provider{BaseURL: base}).Address(); got != want {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}

func TestWireHint(t *testing.T) {
	for want, p := range map[string]config.Provider{
		`where the server speaks the Responses API: wire = "responses" in f`:          {Wire: config.Chat},
		`where the server speaks Chat Completions: providers.work.wire = "chat" in f`: {Name: "work", Wire: config.Responses},
	} {
		if got := p.WireHint("f"); got != want {
			t.Error(got)
		}
	}
}

// TestPrices: the most specific price counts, and cached input costs what other input does
// where nothing is said.
func TestPrices(t *testing.T) {
	c, err := load(t, "", config.Sources{Overrides: []string{
		`models."gpt*".price={input = "1.25", cached = "0.125", output = "10"}`, `models."groq/*".price={input = "2"}`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]config.Price{
		"gpt-5": {Input: 1.25, Cached: 0.125, Output: 10}, "llama": {Input: 2, Cached: 2}, "other": {},
	} {
		p := config.Provider{}
		if model == "llama" {
			p.Name = "groq"
		}
		if got := c.PriceOf(p, model); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
	for _, wrong := range []string{`{input = "free"}`, `{input = "-1"}`, `{input = "NaN"}`, `{words = "1"}`} {
		if _, err := load(t, "", config.Sources{Overrides: []string{"models.x.price=" + wrong}}); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
