package config

import (
	"cmp"
	"maps"
	"slices"
)

// presets are the built-in providers, which need no [providers.NAME]. A table with the same
// name changes only what it sets. Each uses Chat Completions unless Wire says otherwise.
var presets = []Provider{
	{Name: "openai", BaseURL: openAI, KeyEnv: "OPENAI_API_KEY"},
	// The v1 API of Azure needs no api-version; models are named by deployment.
	{Name: "azure", BaseURL: "$AZURE_OPENAI_ENDPOINT/openai/v1", KeyEnv: "AZURE_OPENAI_API_KEY"},
	{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY", SearchTool: "openrouter:web_search"},
	{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: "GROQ_API_KEY"},
	{Name: "mistral", BaseURL: "https://api.mistral.ai/v1", KeyEnv: "MISTRAL_API_KEY"},
	{Name: "deepseek", BaseURL: "https://api.deepseek.com/v1", KeyEnv: "DEEPSEEK_API_KEY"},
	{Name: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", KeyEnv: "GEMINI_API_KEY"},
	// Anthropic's own API requires a limit. The default of its compatible API is not documented.
	{Name: "anthropic", BaseURL: "https://api.anthropic.com/v1", KeyEnv: "ANTHROPIC_API_KEY", Limits: ModelLimits{Output: 32_000}},
	{Name: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Title: "Ollama", Local: true},
	{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1", Title: "LM Studio", Local: true},
	{Name: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", Title: "the llama.cpp server", Local: true},
	{Name: "vllm", BaseURL: "http://127.0.0.1:8000/v1", Title: "vLLM", Local: true},
}

// LocalServers returns the built-in providers on this machine, as configured: servers on
// their usual ports can be detected.
func (c Config) LocalServers() []Provider {
	return slices.DeleteFunc(c.AllProviders(), func(p Provider) bool { return !p.Local })
}

// AllProviders returns the built-in providers, and then by name those that only the settings have.
func (c Config) AllProviders() (out []Provider) {
	for _, p := range presets {
		p, _ = c.named(p.Name)
		out = append(out, p)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		if p, _ := c.named(name); !slices.ContainsFunc(out, func(q Provider) bool { return q.Name == name }) {
			out = append(out, p)
		}
	}
	return out
}

// named returns the provider of that name: the user's before the built-in one.
func (c Config) named(name string) (Provider, bool) {
	p := Provider{Name: name}
	i := slices.IndexFunc(presets, func(p Provider) bool { return p.Name == name })
	if i >= 0 {
		p = presets[i]
	}
	p.kept, p.unread = c.keys[name], c.unread
	own, mine := c.Providers[name]
	if !mine {
		return p, i >= 0
	}
	p.BaseURL, p.Wire, p.Limits = cmp.Or(own.BaseURL, p.BaseURL), cmp.Or(own.Wire, p.Wire), own.Limits.or(p.Limits)
	if own.KeyEnv != "" || len(own.KeyCommand) > 0 {
		p.KeyEnv, p.KeyCommand = own.KeyEnv, own.KeyCommand
	}
	if own.Headers != nil {
		p.Headers = own.Headers
	}
	return p, true
}
