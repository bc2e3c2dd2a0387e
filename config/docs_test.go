package config_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/config"
)

var update = flag.Bool("update", false, "rewrite docs/config.md from the table")

const docsHead = `# Settings

This page is made from the table in ` + "`config/settings.go`" + ` by ` + "`go test ./config -run TestDocs -update`" + `; a test fails when it is stale.

Settings come from, each overriding the one before: the defaults, your file, the environment, the profile of ` + "`--profile`" + `, ` + "`-c key=value`" + `, and flags.
Your file is ` + "`$CODEAGENT_HOME/config.toml`" + ` where that variable is set, else ` + "`~/.config/codeagent/config.toml`" + ` (` + "`$XDG_CONFIG_HOME`" + ` is respected).
A key that is not in this list is an error, and so is a value of another type; the message names file, line, column and what was expected.

` + "`-c`" + ` takes the dotted key and a TOML value: ` + "`-c sandbox.limits.cpu_s=10`" + `, ` + "`-c 'sandbox.add_dirs=[\"/data\"]'`" + `. A string may stand without quotes: ` + "`-c sandbox.mode=read-only`" + `. One entry of a table is a key of its own: ` + "`-c sandbox.env.set.LANG=C`" + `.

A project's own ` + "`.codeagent/config.toml`" + ` is not read; that there is one is reported. Settings marked *narrower* are those that
such a file may one day set, to something narrower than yours; it may set no others.

## Profiles

A table ` + "`[profiles.NAME]`" + ` of your file may hold any setting of this list. ` + "`-p NAME`" + ` (` + "`--profile`" + `) uses these instead of the file's other values:

` + "```toml" + `
[profiles.ci]
model = "openai/gpt-5-mini"
ask_for_approval = "never"

[profiles.ci.sandbox]
mode = "read-only"
` + "```" + `

A list in a profile replaces the file's list. Errors in a profile are reported also when it is not used.

## Managed settings

On Linux and macOS ` + "`/etc/codeagent/managed.toml`" + ` narrows these settings for everybody on the machine. It has to belong to root, and its folder too, and nobody else may
write them; otherwise, and if the file cannot be read or has an error, codeagent does not start. What a setting there says is the most that holds:

` + "```toml" + `
ask_for_approval = "on-request"       # or untrusted, granular, never
sandbox.mode = "workspace-write"      # or read-only, strict
sandbox.deny_read = ["~/.ssh"]        # everybody's, and what you add
sandbox.allow_hosts = ["proxy.example:3128"] # you may allow these, and no others
sandbox.limits.wall_s = 600           # or less
tools.fetch_url.enabled = false
` + "```" + `

Lists that close something grow by yours, in lists that open something yours may name what the managed one names, and limits may be lower. Any other setting has
exactly the managed value. Your file, a profile, a variable, ` + "`-c`" + `, a flag, ` + "`/config`" + ` and an answer for the session change nothing of that: a wider value is an error that says
who decides. Nobody can be asked for a file, host or socket that a managed setting closes, rules and earlier answers do not open it, and MCP servers do not get it.
With any managed setting of ` + "`sandbox`" + `, nothing runs outside the sandbox, unless ` + "`sandbox.mode`" + ` there is ` + "`danger-full-access`" + `; a managed ` + "`models.NAME`" + ` holds for every model that
anybody names. To fix the model, set ` + "`model_provider`" + ` and ` + "`model`" + `. ` + "`codeagent doctor`" + ` lists what is managed, ` + "`/config`" + ` shows it as the source.

## On the screen

` + "`/config`" + ` lists the settings that people change, each with its value and where that comes from: the default, a line of your file, a variable, a flag. Enter changes
one. What can change while codeagent runs changes for this session, and Ctrl+S keeps it in your file; any other goes to your file and holds from the next start on.
Comments and order of the file stay.

## Keys

The settings hold no keys. There are three ways to give one:

- on the screen: the list without a model, or ` + "`/model`" + ` and there "Another provider, or a key". You choose a provider and paste its key, which is not shown, and a model of the provider's own list. One small request tries it. The choice is then written to your file as ` + "`model_provider`" + ` and ` + "`model`" + `, and the key to ` + "`keys/keys.json`" + ` beside it: mode 600, read by codeagent alone, and closed to commands in the sandbox and to the model's tools. In the list of providers Ctrl+R enters another key, and Ctrl+X forgets it.
- a variable: ` + "`api_key_env`" + ` and ` + "`key_env`" + ` name it. While it is set it comes before the kept key.
- a program that prints it: ` + "`key_command`" + `, which comes before both.

A kept key is used by every command of codeagent (` + "`exec`" + `, ` + "`acp`" + `, ` + "`mcp`" + `), and sent only to the scheme and host that it was entered for. A file of keys
that another user owns or may access is not used, and codeagent says so. ` + "`codeagent doctor`" + ` and ` + "`/status`" + ` say where the key comes from.

## Providers

` + "`--model NAME/MODEL`" + ` asks the model MODEL of the provider NAME, one of these or a ` + "`[providers.NAME]`" + ` of your own:

`

// docsProviders follows the list of built-in providers.
const docsProviders = `
A table of the same name changes what it names and leaves the rest: ` + "`[providers.groq]`" + ` with a ` + "`key_command`" + ` keeps the address.

` + "```toml" + `
[providers.work]
base_url = "https://llm.example.com/v1"
key_command = ["pass", "show", "llm"]     # or key_env = "WORK_LLM_KEY"
headers = { X-Team = "$TEAM" }
wire = "responses"                        # default: "chat"

[models."work/big-model"]
context = 200000
output = 32000
vision = "no"
` + "```" + `

You can give a model that you trust less fewer permissions. codeagent never decides this by a model's name, size or address.

` + "```toml" + `
[models."ollama/*"]
sandbox = "read-only"                     # until an answer of yours opens more
must_justify = true
may_ask_outside = false
` + "```" + `

Names of models hold slashes too. So where ` + "`model_provider`" + ` is set, the prefix counts only when ` + "`model`" + ` comes from a later source than it
(` + "`--model`" + ` over the file), and where ` + "`base_url`" + ` is set only the name of a ` + "`[providers.NAME]`" + ` counts: what was to be asked at one place does not
reach another by accident.

Without any of this codeagent shows a list: the models of a server on this machine that answers on its usual port, the tour, and all providers.
"Another address" takes any server with the OpenAI API; it gets a table ` + "`[providers.NAME]`" + ` named by its host. Nothing is asked of a model until you choose it.

`

// page renders the table.
func page() []byte {
	var b bytes.Buffer
	b.WriteString(docsHead)
	b.WriteString("| NAME | address | key |\n|---|---|---|\n")
	for _, p := range config.Presets() {
		key := "none"
		if p.KeyEnv != "" {
			key = "`" + p.KeyEnv + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", p.Name, p.BaseURL, key)
	}
	b.WriteString(docsProviders)
	section := "-"
	for _, s := range config.Table() {
		if here := sectionOf(s.Key); here != section {
			section = here
			if section == "" {
				b.WriteString("## At the top of the file\n\n")
			} else {
				fmt.Fprintf(&b, "## [%s]\n\n", section)
			}
			b.WriteString("| key | type | default | project | |\n|---|---|---|---|---|\n")
		}
		kind := s.Type
		if len(s.Choices) > 0 {
			var list []string
			for _, c := range s.Choices {
				list = append(list, fmt.Sprintf("`%q`", c))
			}
			kind = strings.Join(list, ", ")
			if s.Type == "list of strings" {
				kind = "list of " + kind
			}
		}
		def, project := "", "never"
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		if s.Narrower {
			project = "narrower"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Key, kind, def, project, s.Doc)
		if next := nextSection(s.Key); next != section {
			b.WriteString("\n")
		}
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

func sectionOf(key string) string {
	if i := strings.LastIndex(key, "."); i >= 0 {
		return key[:i]
	}
	return ""
}

// nextSection is the section of the setting after key.
func nextSection(key string) string {
	all := config.Table()
	for i, s := range all {
		if s.Key == key && i+1 < len(all) {
			return sectionOf(all[i+1].Key)
		}
	}
	return "-"
}

func TestDocs(t *testing.T) {
	name := filepath.Join("..", "docs", "config.md")
	if *update {
		if err := os.WriteFile(name, page(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, page()) {
		t.Error("docs/config.md is stale: run `go test ./config -run TestDocs -update`")
	}
}

// TestTableIsWhole: each row has what the page and the messages need, and the rows of a
// section are adjacent.
func TestTableIsWhole(t *testing.T) {
	seen, sections := map[string]bool{}, []string{}
	for _, s := range config.Table() {
		if seen[s.Key] || s.Doc == "" || !strings.HasSuffix(s.Doc, ".") || strings.Contains(s.Doc, "|") {
			t.Errorf("%s: twice, or without a sentence, or with a bar that breaks the table", s.Key)
		}
		seen[s.Key] = true
		if here := sectionOf(s.Key); len(sections) == 0 || sections[len(sections)-1] != here {
			for _, before := range sections {
				if before == here {
					t.Errorf("section %q stands twice", here)
				}
			}
			sections = append(sections, here)
		}
	}
}
