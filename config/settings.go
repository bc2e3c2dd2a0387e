package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// kind is the type of a setting's value.
type kind string

const (
	text   kind = "string"
	choice kind = "one of"
	flag   kind = "true or false"
	number kind = "whole number"
	texts  kind = "list of strings"
	table  kind = "table of strings"
)

// setting is one row of the table. NAME in a key stands for any name.
type setting struct {
	key     string
	kind    kind
	choices []string // for kind choice, and for the elements of kind texts
	most    int64    // for kind number; the minimum is 0
	def     string   // the default as TOML; empty: unset
	// narrower: a project's file may set it, to something narrower than the user's value. It
	// may not set other settings at all.
	narrower bool
	// valid, if set, checks what the type cannot; nil means that the value is valid.
	valid func(v value) error
	doc   string
	set   func(c *Config, name string, v value)
	// list replaces set in a setting that is a list.
	list func(c *Config) *[]string
}

func (s setting) apply(c *Config, name string, v value) {
	if s.list != nil {
		*s.list(c) = v.texts
		return
	}
	s.set(c, name, v)
}

// value is a checked value; the field for the setting's kind is set.
type value struct {
	text   string
	number int64
	on     bool
	texts  []string
	table  map[string]string
}

const gigabytes = 1 << 30 // the largest number of MB for a limit in bytes is far above this

var settings = []setting{
	{
		key: "model", kind: text,
		doc: "The model to ask; `NAME/MODEL` is the model of the provider NAME. Also the variable `OPENAI_MODEL` and the flag `--model`.",
		set: func(c *Config, _ string, v value) { c.Model = v.text },
	},
	{
		key: "model_provider", kind: text,
		doc: "Which provider to use: a built-in one or a `[providers.NAME]`. Unset: `base_url` and `api_key_env`.",
		set: func(c *Config, _ string, v value) { c.ModelProvider = v.text },
	},
	{
		key: "base_url", kind: text, valid: validURL,
		doc: "Where the model is served, up to and with `/v1`. Unset with a key present: OpenAI. Also the variable `OPENAI_BASE_URL`.",
		set: func(c *Config, _ string, v value) { c.BaseURL = v.text },
	},
	{
		key: "api_key_env", kind: text, valid: validVariable, def: `"OPENAI_API_KEY"`,
		doc: "The name of the variable that holds the key. The key itself is never kept in a file.",
		set: func(c *Config, _ string, v value) { c.APIKeyEnv = v.text },
	},
	{
		key: "wire", kind: choice, choices: []string{"", Chat, Responses}, def: `""`,
		doc: "The API of `base_url`: `chat` is Chat Completions, `responses` the Responses API. Empty: Responses at api.openai.com, Chat Completions elsewhere.",
		set: func(c *Config, _ string, v value) { c.Wire = v.text },
	},
	{
		key: "reasoning_effort", kind: choice, choices: []string{"", "none", "minimal", "low", "medium", "high", "xhigh"}, def: `""`,
		doc: "How long the model may think, where it can. Empty: the provider's own default.",
		set: func(c *Config, _ string, v value) { c.ReasoningEffort = v.text },
	},
	{
		key: "ask_for_approval", kind: choice, choices: []string{"untrusted", "on-request", "on-failure", "never"}, def: `"on-request"`, narrower: true,
		doc: "When to ask: `untrusted` before every edit, every command that is not known to only read, everything typed to one, and each page of a host that no setting names; `on-request` when the model asks for more than the sandbox allows, or for a page of such a host; `on-failure` also after a refused command; `never`, which refuses what would be asked.",
		set: func(c *Config, _ string, v value) { c.AskForApproval = v.text },
	},
	{
		key: "sandbox.mode", kind: choice, choices: []string{ReadOnly, WorkspaceWrite, FullAccess, Strict}, def: `"workspace-write"`, narrower: true,
		doc: "What commands may touch. `danger-full-access` has to be spelled out, in your own file or by `--sandbox`. Also the flag `--sandbox`.",
		set: func(c *Config, _ string, v value) { c.Sandbox.Mode = v.text },
	},
	{
		key: "sandbox.add_dirs", kind: texts,
		doc:  "More folders that commands may write, beside the workspace. `~/` is your home folder. One that the settings file names may be gone; where codeagent's broker works and it is not below `/tmp`, a command may make it again. `--add-dir` adds to the list.",
		list: func(c *Config) *[]string { return &c.Sandbox.AddDirs },
	},
	{
		key: "sandbox.add_files", kind: texts,
		doc:  "Single files that commands may write beside the workspace, and nothing next to them. A file may be absent yet, its folder may not. `--add-file` adds to the list.",
		list: func(c *Config) *[]string { return &c.Sandbox.AddFiles },
	},
	{
		key: "sandbox.deny_read", kind: texts, narrower: true,
		doc:  "Paths and globs that commands may neither read nor write. A plain path is relative to the workspace, `**/.env` matches at any depth. `--deny-read` adds to the list.",
		list: func(c *Config) *[]string { return &c.Sandbox.DenyRead },
	},
	{
		key: "sandbox.deny_secrets", kind: flag, def: "false", narrower: true,
		doc: "Adds the usual places of keys to `deny_read`: `~/.ssh`, `~/.aws`, `~/.gnupg`, `.env` files and the like.",
		set: func(c *Config, _ string, v value) { c.Sandbox.DenySecrets = v.on },
	},
	{
		key: "sandbox.protected", kind: texts, narrower: true,
		doc:  "More that stays read-only inside the writable folders. A relative name (`Makefile`, `.github/workflows`) is protected at any depth; a path with `/` or `~/` in front is protected where it is.",
		list: func(c *Config) *[]string { return &c.Sandbox.Protected },
	},
	{
		key: "sandbox.network", kind: choice, choices: []string{"deny", "full"}, def: `"deny"`,
		doc: "`full` gives every command the whole network.",
		set: func(c *Config, _ string, v value) { c.Sandbox.FullNetwork = v.text == "full" },
	},
	{
		key: "sandbox.allow_hosts", kind: texts,
		doc:  "Hosts that commands and `fetch_url` may reach, each as `name:port`; nothing else of the network opens. `--allow-host` adds to the list.",
		list: func(c *Config) *[]string { return &c.Sandbox.AllowHosts },
	},
	{
		key: "sandbox.allow_fetch", kind: texts,
		doc:  "Hosts that `fetch_url` may read pages of, each as `name:port`, and commands may not. `--allow-fetch` adds to the list.",
		list: func(c *Config) *[]string { return &c.Sandbox.AllowFetch },
	},
	{
		key: "sandbox.allow_sockets", kind: texts,
		doc:  "Sockets with a path that commands may connect to: the program that listens there acts outside the sandbox. `codeagent sandbox --allow-socket` adds to the list.",
		list: func(c *Config) *[]string { return &c.Sandbox.AllowSockets },
	},
	{
		key: "sandbox.evidence", kind: choice, choices: []string{"full", "network", "off"}, def: `"full"`,
		doc: "Which refusals are recorded: all, those of the network alone, or none. What is enforced is the same. Less is faster, and you and the model learn less; a call whose refusal is not recorded cannot wait for an answer either.",
		set: func(c *Config, _ string, v value) { c.Sandbox.Evidence = v.text },
	},
	{
		key: "sandbox.hold", kind: flag, def: "true",
		doc: "While you are there to answer (`on-request` and `on-failure`, on a screen): a call of a running command that the sandbox refuses waits, you are asked, and after a yes the same command continues. `false`: the call fails at once.",
		set: func(c *Config, _ string, v value) { c.Sandbox.Hold = v.on },
	},
	{
		key: "sandbox.tmp", kind: choice, choices: []string{"private", "shared"}, def: `"private"`,
		doc: "`private`: each session has its own folder for temporary files, named by TMPDIR. `shared` also opens `/tmp` and `/var/tmp`, which other programs trust.",
		set: func(c *Config, _ string, v value) { c.Sandbox.SharedTemp = v.text == "shared" },
	},
	{
		key: "sandbox.fallback", kind: choice, choices: []string{"refuse", "warn"}, def: `"refuse"`,
		doc: "What to do on a system where no sandbox works: run nothing, or run unconfined under a standing warning.",
		set: func(c *Config, _ string, v value) { c.Sandbox.Warn = v.text == "warn" },
	},
	{
		key: "sandbox.required_layers", kind: texts, narrower: true,
		choices: []string{"landlock", "seccomp", "notify", "userns", "mountns", "netns", "pidns", "cgroup", "seatbelt"},
		doc:     "Layers of the sandbox without which nothing runs, beyond those that are always required. `codeagent doctor` lists what works here.",
		list:    func(c *Config) *[]string { return &c.Sandbox.RequiredLayers },
	},
	{
		key: "sandbox.allow_home", kind: flag, def: "false",
		doc: "Lets the workspace be your home folder, a folder around it, or one around codeagent's own files, which stay shut to commands: reading and writing. It takes mounts and codeagent's broker (`codeagent doctor`); elsewhere such a workspace is refused. Only as `-c sandbox.allow_home=true`, never in a file.",
		set: func(c *Config, _ string, v value) { c.Sandbox.AllowHome = v.on },
	},
	limit("wall_s", "Seconds a command may take.", 24*3600, func(l *Limits) *int64 { return &l.WallSeconds }),
	limit("cpu_s", "Seconds of processor time for each process.", 24*3600, func(l *Limits) *int64 { return &l.CPUSeconds }),
	limit("cpu_percent", "Share of processor time of a command and all it starts, in percent of one processor: `150` is one and a half.", 100<<20, func(l *Limits) *int64 { return &l.CPUPercent }),
	limit("memory_mb", "Memory of a command and all it starts, in MiB; where that cannot be held, address space of each process.", gigabytes, func(l *Limits) *int64 { return &l.MemoryMB }),
	limit("processes", "How many processes a command may have; where that cannot be held, all of the user.", 1<<22, func(l *Limits) *int64 { return &l.Processes }),
	limit("open_files", "How many files each process may have open.", 1<<20, func(l *Limits) *int64 { return &l.OpenFiles }),
	limit("file_size_mb", "The largest file a process may write, in MiB.", gigabytes, func(l *Limits) *int64 { return &l.FileSizeMB }),
	limit("output_mb", "How much of a command's output is kept on disk, in MiB (64 where none is set).", gigabytes, func(l *Limits) *int64 { return &l.OutputMB }),
	limit("output_session_mb", "How much the outputs of a session take on disk, in MiB (256 where none is set); the oldest are removed.", gigabytes, func(l *Limits) *int64 { return &l.OutputSessionMB }),
	limit("output_all_mb", "How much the outputs of all sessions take on disk, in MiB (1024 where none is set); the oldest are removed, and those of more than a week. 1 GiB of the disk stays free, of one under 20 GiB a twentieth.", gigabytes, func(l *Limits) *int64 { return &l.OutputAllMB }),
	{
		key: "sandbox.env.inherit", kind: choice, choices: []string{"core", "all", "none"}, def: `"core"`, narrower: true,
		doc: "Which of your variables commands see: `core` (HOME, PATH, LANG, TERM and the like), `all`, `none`. Names that look like secrets are dropped unless `include` names them.",
		set: func(c *Config, _ string, v value) { c.Sandbox.Env.Inherit = v.text },
	},
	{
		key: "sandbox.env.include", kind: texts,
		doc:  "Variables to pass on by their exact names, secrets too.",
		list: func(c *Config) *[]string { return &c.Sandbox.Env.Include },
	},
	{
		key: "sandbox.env.exclude", kind: texts, narrower: true,
		doc:  "Globs of variables to drop.",
		list: func(c *Config) *[]string { return &c.Sandbox.Env.Exclude },
	},
	{
		key: "sandbox.env.set", kind: table,
		doc: "Variables that commands see with these values in any case.",
		set: func(c *Config, _ string, v value) { c.Sandbox.Env.Set = v.table },
	},
	{
		key: "tools.NAME.enabled", kind: flag, def: "true", narrower: true,
		doc: "`false` hides the tool NAME (`shell`, `apply_patch`, `read_file`, `view_image`, `list_files`, `search`, `write_stdin`, `background`, `update_plan`, `fetch_url`) from the model and refuses its calls.",
		set: func(c *Config, name string, v value) {
			c.Tools[name] = v.on
		},
	},
	{
		key: "context.compact_at", kind: number, most: 95, def: "80",
		doc: "How full the model's context may become, in percent of its limit, before the model writes a summary that stands for the conversation from then on. 0: only when the provider finds it too long, or `/compact` asks for it. The limit is `models.NAME.context`; where it is not known, 128,000 tokens.",
		set: func(c *Config, _ string, v value) { c.Context.At = v.number },
	},
	{
		key: "retry.patience_s", kind: number, most: 24 * 3600, def: "0",
		doc: "How many seconds a request waits and is tried again while the provider is busy (429), fails (5xx) or cannot be reached. A longer wait that the provider asks for ends it at once. 0: 120 without a screen, 60 with one, where Esc ends it.",
		set: func(c *Config, _ string, v value) { c.PatienceSeconds = v.number },
	},
	{
		key: "speculation.mode", kind: choice, choices: []string{"off", Decoding}, def: `"decoding"`,
		doc: "When tool calls start. `decoding`: while the answer is still coming, each as soon as it is complete; `read_file`, `list_files` and `search` once what they need is known, and again if the rest changes it. What needs a question is never run ahead. `off`: none starts before the answer is complete, so an answer that breaks off has done nothing.",
		set: func(c *Config, _ string, v value) { c.Speculation = v.text },
	},
	{
		key: "tui.mouse", kind: flag, def: "true",
		doc: "`false` leaves wheel and drag to the terminal.",
		set: func(c *Config, _ string, v value) { c.TUI.Mouse = v.on },
	},
	provider("base_url", text, "Where this provider is served, up to and with `/v1`. `$NAME` in front is replaced by that variable.", func(p *Provider, v value) { p.BaseURL = v.text }),
	provider("key_env", text, "The name of the variable that holds its key; commands do not see it. Unset: no key is sent.", func(p *Provider, v value) { p.KeyEnv = v.text }),
	provider("key_command", texts, "A program and its arguments that prints the key: `[\"pass\", \"show\", \"openai\"]`. It runs outside of the sandbox, once, and again when the key is refused.", func(p *Provider, v value) { p.KeyCommand = v.texts }),
	provider("headers", table, "HTTP headers to send along. `$NAME` as a whole value is replaced by that variable.", func(p *Provider, v value) { p.Headers = v.table }),
	provider("wire", choice, "As `wire` above, for this provider.", func(p *Provider, v value) { p.Wire = v.text }),
	provider("context", number, "How many tokens its models take. 0: not known.", func(p *Provider, v value) { p.Limits.Context = v.number }),
	provider("output", number, "How many tokens an answer may have. 0: the provider's own limit.", func(p *Provider, v value) { p.Limits.Output = v.number }),
	provider("vision", choice, "Whether its models see images. With \"no\" they get a description of each image instead. Empty: not known; images are sent, and codeagent remembers a refusal.", func(p *Provider, v value) { p.Limits.Vision = v.text }),
	modelLimit("context", number, "How many tokens the model NAME takes; NAME may be `\"PROVIDER/MODEL\"`. 0: not known.", func(l *ModelLimits, v value) { l.Context = v.number }),
	modelLimit("output", number, "How many tokens an answer of it may have. 0: the provider's own limit.", func(l *ModelLimits, v value) { l.Output = v.number }),
	modelLimit("vision", choice, "Whether it sees images, as for a provider.", func(l *ModelLimits, v value) { l.Vision = v.text }),
}

func limit(name, doc string, most int64, field func(*Limits) *int64) setting {
	return setting{
		key: "sandbox.limits." + name, kind: number, most: most, def: "0", narrower: true, doc: doc + " 0: unset.",
		set: func(c *Config, _ string, v value) { *field(&c.Sandbox.Limits) = v.number },
	}
}

// mostTokens is far above any model's limit.
const mostTokens = 1 << 30

func provider(name string, k kind, doc string, set func(*Provider, value)) setting {
	s := named("providers", name, k, doc)
	switch name {
	case "base_url":
		s.valid = validURL
	case "key_env":
		s.valid = validVariable
	case "wire":
		s.choices, s.def = []string{"", Chat, Responses}, `""`
	case "key_command":
		s.valid = func(v value) error {
			if len(v.texts) == 0 {
				return errors.New("must name a program and its arguments")
			}
			return nil
		}
	case "headers":
		s.valid = validHeaders
	}
	s.set = func(c *Config, name string, v value) {
		p := c.Providers[name]
		p.Name = name
		set(&p, v)
		c.Providers[name] = p
	}
	return s
}

func modelLimit(name string, k kind, doc string, set func(*ModelLimits, value)) setting {
	s := named("models", name, k, doc)
	s.set = func(c *Config, name string, v value) {
		l := c.Models[name]
		set(&l, v)
		c.Models[name] = l
	}
	return s
}

// named returns a setting of a table with a NAME.
func named(table, name string, k kind, doc string) setting {
	s := setting{key: table + ".NAME." + name, kind: k, doc: doc}
	if k == number {
		s.most, s.def = mostTokens, "0"
	}
	if name == "vision" {
		s.choices, s.def = []string{"", "yes", "no"}, `""`
	}
	return s
}

func validURL(v value) error {
	if strings.HasPrefix(v.text, "$") || v.text == "" {
		return nil // checked when it is used
	}
	if _, err := baseURL(v.text); err != nil {
		return fmt.Errorf("invalid value %s: %w", quoted(v.text), err)
	}
	return nil
}

var variableName = regexp.MustCompile("^[A-Za-z_][A-Za-z0-9_]*$")

// validVariable never includes the value in the error: an invalid name may be the key itself.
func validVariable(v value) error {
	if v.text != "" && !variableName.MatchString(v.text) {
		return errors.New("not a variable name. Put the key in an environment variable and name that variable here")
	}
	return nil
}

// headerName is a token of RFC 9110, 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func validHeaders(v value) error {
	for _, name := range slices.Sorted(maps.Keys(v.table)) {
		if !headerName.MatchString(name) {
			return fmt.Errorf("invalid header name %s", quoted(name))
		}
		if strings.ContainsFunc(v.table[name], unicode.IsControl) {
			return fmt.Errorf("the header %s has control characters", quoted(name))
		}
	}
	return nil
}

// fileNever are settings that a file may not set: they approve one run only.
var fileNever = []string{"sandbox.allow_home"}

// find returns the setting for a key, and the name in the place of NAME.
func find(parts []string) (s setting, name string, ok bool) {
	for _, s := range settings {
		if name, ok := matchKey(s.key, parts); ok {
			return s, name, true
		}
	}
	return setting{}, "", false
}

// isTable reports whether there is a setting below parts.
func isTable(parts []string) bool {
	return slices.ContainsFunc(settings, func(s setting) bool {
		pattern := splitKey(s.key)
		if len(pattern) <= len(parts) {
			return false
		}
		_, ok := matchParts(pattern[:len(parts)], parts)
		return ok
	})
}

func matchKey(key string, parts []string) (string, bool) { return matchParts(splitKey(key), parts) }

func matchParts(pattern, parts []string) (name string, ok bool) {
	if len(pattern) != len(parts) {
		return "", false
	}
	for i, p := range pattern {
		switch {
		case p == "NAME":
			name = parts[i]
		case p != parts[i]:
			return "", false
		}
	}
	return name, true
}

// Setting describes one row of the table, for documents and completion.
type Setting struct {
	// Key is dotted; NAME in it stands for any name.
	Key string
	// Type is "string", "one of", "true or false", "whole number", "list of
	// strings" or "table of strings".
	Type    string
	Choices []string
	// Default is written as TOML; empty: unset.
	Default string
	// Narrower: a project's file could set it, to something narrower.
	Narrower bool
	Doc      string
}

// Table lists all settings, section by section.
func Table() []Setting {
	var out []Setting
	for _, s := range settings {
		out = append(out, Setting{s.key, string(s.kind), slices.Clone(s.choices), s.def, s.narrower, s.doc})
	}
	return out
}
