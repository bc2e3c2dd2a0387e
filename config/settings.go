package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeagent/config/server"
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
	tables kind = "list of tables"
)

// setting is one row of the table. NAME in a key stands for any name. Its value is in the field of
// Config that has the key as its tag.
type setting struct {
	key     string
	choices []string // of a string, or of the elements of a list
	most    int64    // of a number; the minimum is 0. A time.Duration is a number of seconds
	def     string   // the default as TOML; empty: unset
	// often: people change it, so the list on the screen has it.
	often bool
	// narrower: a project's file may set it, to something narrower than the user's value. It
	// may not set other settings at all.
	narrower bool
	// wider is for each of some values the next wider one. opens: each element of the list opens something. By
	// these and narrower a value is compared with a managed one; without them it must be equal.
	wider map[string]string
	opens bool
	// covers, if set, reports whether list opens all that one does, which it does not contain.
	covers func(list []string, one string) bool
	// valid, if set, checks what the type cannot; nil means that the value is valid.
	valid func(v any) error
	doc   string
	// event is the name in the place of NAME in the tag, for a hook.
	event string
}

// place is where Config holds a value: the indices of fields, with byName for an entry by its name.
type place struct {
	way []int
	of  reflect.Type
}

const byName = -1

// places returns the place of each tag of Config. The tag of a table begins those in it.
var places = sync.OnceValue(func() map[string]place {
	out := map[string]place{}
	var walk func(t reflect.Type, table string, way []int)
	walk = func(t reflect.Type, table string, way []int) {
		for f := range t.Fields() {
			tag, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
			key, here, of := strings.Trim(table+"."+tag, "."), append(slices.Clone(way), f.Index...), f.Type
			if of.Kind() == reflect.Map && of.Elem().Kind() == reflect.Pointer {
				here, of = append(here, byName), of.Elem().Elem()
			}
			switch {
			case of.Kind() == reflect.Struct && f.IsExported():
				walk(of, key, here)
			case tag != "":
				out[key] = place{here, of}
			}
		}
	}
	walk(reflect.TypeFor[Config](), "", nil)
	return out
})

func (s setting) place() place {
	if s.event != "" {
		return places()["hooks.NAME"]
	}
	return places()[s.key]
}

// at returns the value of s in c. name stands for NAME; a table that has no entry of that name gets one.
func (s setting) at(c *Config, name string) reflect.Value {
	v, key := reflect.ValueOf(c).Elem(), reflect.ValueOf(cmp.Or(s.event, name))
	for _, i := range s.place().way {
		if i != byName {
			v = v.Field(i)
			continue
		}
		if !v.MapIndex(key).IsValid() {
			v.SetMapIndex(key, reflect.New(v.Type().Elem().Elem()))
		}
		v = v.MapIndex(key).Elem()
	}
	return v
}

// kinds are the kinds of the types of values.
var kinds = map[reflect.Type]kind{
	reflect.TypeFor[string](): text, reflect.TypeFor[bool](): flag, reflect.TypeFor[int64](): number, reflect.TypeFor[time.Duration](): number,
	reflect.TypeFor[[]string](): texts, reflect.TypeFor[map[string]string](): table, reflect.TypeFor[[]Hook](): tables,
}

func (s setting) kind() kind {
	if len(s.choices) > 0 && s.place().of.Kind() == reflect.String {
		return choice
	}
	return kinds[s.place().of]
}

// apply stores a value that check returned.
func (s setting) apply(c *Config, name string, v any) {
	at := s.at(c, name)
	if at.Type() == reflect.TypeFor[time.Duration]() {
		v = time.Duration(v.(int64)) * time.Second
	}
	at.Set(reflect.ValueOf(v))
}

const gigabytes = 1 << 30 // the largest number of MB for a limit in bytes is far above this

var settings = []setting{
	{key: "model", often: true,
		doc: "The model to ask; `NAME/MODEL` is the model of the provider NAME. Also the variable `OPENAI_MODEL` and the flag `--model`."},
	{key: "model_provider",
		doc: "Which provider to use: a built-in one or a `[providers.NAME]`. Unset: `base_url` and `api_key_env`."},
	{key: "base_url", valid: validURL,
		doc: "Where the model is served, up to and with `/v1`. Unset with a key present: OpenAI. Also the variable `OPENAI_BASE_URL`."},
	{key: "api_key_env", valid: validVariable, def: `"OPENAI_API_KEY"`,
		doc: "The name of the variable that holds the key. The key itself never stands in this file."},
	{key: "wire", choices: []string{"", Chat, Responses}, def: `""`,
		doc: "The API of `base_url`: `chat` is Chat Completions, `responses` the Responses API. Empty: Responses at api.openai.com, Chat Completions elsewhere."},
	{key: "reasoning_effort", often: true, choices: []string{"", "none", "minimal", "low", "medium", "high", "xhigh"}, def: `""`,
		doc: "How long the model may think, where it can. Empty: the provider's own default."},
	{key: "ask_for_approval", wider: map[string]string{"untrusted": "on-request", "never": "granular", "granular": "on-request", "on-request": "on-failure"}, often: true, choices: []string{"untrusted", "on-request", "on-failure", "granular", "never"}, def: `"on-request"`, narrower: true,
		doc: "When to ask: `untrusted` before every edit, every command that is not known to only read, everything typed to one, and each page of a host that no setting names; `on-request` when the model asks for more than the sandbox allows, for a page of such a host, or for a tool of an MCP server that does not claim to only read; `on-failure` also after a refused command; `granular` like `on-request`, but what `granular.refuse` lists is refused; `never` refuses instead of asking."},
	{key: "trusted_folders", opens: true,
		doc: "Folders whose projects may bring hooks, skills and MCP servers (`.mcp.json`) of their own, with all below them. `~/` is your home folder. Other projects' are not read, and codeagent says so."},
	{key: "claude_code", def: "true",
		doc: "Reads the hooks and skills of Claude Code too: of `~/.claude`, and of `.claude` in a trusted folder."},
	{key: "web_search", wider: map[string]string{"false": "true"}, often: true, def: "false", narrower: true,
		doc: "`true` lets the provider search the web with its own tool, where it has one; the answer shows the sources ([permissions.md](permissions.md#web-search)). No question is asked, so it stays off with `sandbox.mode = \"strict\"`, with `granular` where that refuses `network` or `fetch`, and where the tool `fetch_url` is off."},
	{key: "granular.refuse", choices: []string{"escalation", "network", "edit", "fetch", "input", "mcp"}, narrower: true,
		doc: "Kinds of questions that `granular` refuses without asking: `escalation` (a command wants a path, a socket, or to leave the sandbox), `network` (it wants a host), `edit` (a file outside the writable folders), `fetch` (a page of a host), `input` (to a command that may do more than the sandbox allows), `mcp` (a tool of an MCP server that may change something)."},
	{key: "sandbox.mode", wider: map[string]string{ReadOnly: WorkspaceWrite, Strict: WorkspaceWrite, WorkspaceWrite: FullAccess}, often: true, choices: []string{ReadOnly, WorkspaceWrite, FullAccess, Strict}, def: `"workspace-write"`, narrower: true,
		doc: "What commands may touch. `danger-full-access` has to be spelled out, in your own file or by `--sandbox`. Also the flag `--sandbox`."},
	{key: "sandbox.add_dirs", opens: true,
		doc: "More folders that commands may write, beside the workspace. `~/` is your home folder. One that the settings file names may be gone; where codeagent's broker works and it is not below `/tmp`, a command may make it again. `--add-dir` adds to the list."},
	{key: "sandbox.add_files", opens: true,
		doc: "Single files that commands may write beside the workspace, and nothing next to them. A file may be absent yet, its folder may not. Where a command has made a folder of the name, all in it is open. `--add-file` adds to the list."},
	{key: "sandbox.deny_read", narrower: true,
		doc: "Paths and globs that commands may neither read nor write. A plain path is relative to the workspace, `**/.env` matches at any depth. `--deny-read` adds to the list."},
	{key: "sandbox.deny_secrets", wider: map[string]string{"true": "false"}, def: "false", narrower: true,
		doc: "Adds the usual places of keys to `deny_read`: `~/.ssh`, `~/.aws`, `~/.gnupg`, `.env` files and the like."},
	{key: "sandbox.protected", narrower: true,
		doc: "More that stays read-only inside the writable folders. A relative name (`Makefile`, `.github/workflows`) is protected at any depth; a path with `/` or `~/` in front is protected where it is. What it leads to through links is protected, too."},
	{key: "sandbox.allowed_programs", valid: validList,
		doc: "If set, commands of the model start only these programs, and the shell: names in your PATH, or absolute paths ([sandbox.md](sandbox.md#only-some-programs)). It takes Landlock and codeagent's broker."},
	{key: "sandbox.allowed_workdirs", valid: validList,
		doc: "If set, codeagent works only in these folders and below them: the workspace must be in one, and so must the folder in which a command of the model starts. What a command then names is the affair of the other settings."},
	{key: "sandbox.network", wider: map[string]string{"deny": "full"}, choices: []string{"deny", "full"}, def: `"deny"`,
		doc: "`full` gives every command the whole network."},
	{key: "sandbox.allow_hosts", opens: true, covers: coversHost,
		doc: "Hosts that commands and `fetch_url` may reach; nothing else of the network opens. `name:port`, `name` (ports 443 and 80), `*.example.com:443` or `10.0.0.0/8:443` ([sandbox.md](sandbox.md#the-network)). `--allow-host` adds to the list."},
	{key: "sandbox.deny_hosts", narrower: true,
		doc: "Hosts that commands, MCP servers here and `fetch_url` never reach, whatever allows them, in the forms of `allow_hosts`; without a port, at every port. Not possible with `sandbox.network = \"full\"`; nothing denies a command that runs outside the sandbox."},
	{key: "sandbox.allow_fetch", opens: true, covers: coversHost,
		doc: "Hosts that `fetch_url` may read pages of, in the forms of `allow_hosts`, and commands may not. `--allow-fetch` adds to the list."},
	{key: "sandbox.allow_sockets", opens: true,
		doc: "Sockets with a path that commands may connect to: the program that listens there acts outside the sandbox. `codeagent sandbox --allow-socket` adds to the list."},
	{key: "sandbox.publish", opens: true, valid: validPorts,
		doc: "Ports of background commands that your browser reaches without a question, as strings: `[\"5173\"]` ([ports.md](ports.md))."},
	{key: "sandbox.evidence", choices: []string{"full", "network", "off"}, def: `"full"`,
		doc: "Which refusals are recorded: all, those of the network alone, or none. What is enforced is the same. Less is faster, and you and the model learn less; a call whose refusal is not recorded cannot wait for an answer either."},
	{key: "sandbox.hold", often: true, def: "true",
		doc: "On the screen, under `on-request` and `on-failure`: if a refused call of a running command seems to matter ([permissions.md](permissions.md)), it waits, you are asked, and after a yes the same command continues. If a command failed because of other refused calls, one question offers everything it lacked. `false`: refused calls fail at once, and only `on-failure` asks afterwards."},
	{key: "sandbox.experiments", def: "true",
		doc: "`true` runs a failed command of the model again on drafts if writes were refused, to find out whether that is why ([drafts.md](drafts.md#why-a-command-failed)). `false`: codeagent judges by what it saw."},
	{key: "sandbox.tmp", wider: map[string]string{"private": "shared"}, choices: []string{"private", "shared"}, def: `"private"`,
		doc: "`private`: each session has its own folder for temporary files, named by TMPDIR and, where mounts work, also `/tmp` and `/var/tmp`; of yours there a command reads what its text names. `shared` also opens `/tmp` and `/var/tmp`, which other programs trust."},
	{key: "sandbox.backend", def: `"native"`,
		doc: "What confines commands ([backends.md](backends.md)): `native`, the sandbox of this system; `bwrap`, bubblewrap; `wasm`, WebAssembly modules alone; or the NAME of a `[backends.NAME]`. Also the flag `--backend`. There is no way back to another one: where it does not work, nothing runs, whatever `sandbox.fallback` says."},
	{key: "sandbox.fallback", wider: map[string]string{"refuse": "warn"}, choices: []string{"refuse", "warn"}, def: `"refuse"`,
		doc: "What to do on a system where no sandbox works: run nothing, or run unconfined under a standing warning."},
	{key: "sandbox.required_layers", narrower: true, choices: []string{"landlock", "seccomp", "bwrap", "container", "wasm", "notify", "userns", "mountns", "netns", "connect", "pidns", "cgroup", "seatbelt"},
		doc: "Layers of the sandbox without which nothing runs, beyond those that are always required. `codeagent doctor` lists what works here."},
	{key: "sandbox.allow_home", def: "false",
		doc: "Lets the workspace be your home folder, a folder around it, or one around codeagent's own files, which stay shut to commands: reading and writing. It takes mounts and codeagent's broker (`codeagent doctor`); elsewhere such a workspace is refused. Only as `-c sandbox.allow_home=true`, never in a file."},
	limit("wall_s", "Seconds a command may take.", 24*3600),
	limit("cpu_s", "Seconds of processor time for each process.", 24*3600),
	limit("cpu_percent", "Share of processor time of a command and all it starts, in percent of one processor: `150` is one and a half.", 100<<20),
	limit("memory_mb", "Memory of a command and all it starts, in MiB; where that cannot be held, address space of each process.", gigabytes),
	limit("processes", "How many processes a command may have; where that cannot be held, all of the user.", 1<<22),
	limit("open_files", "How many files each process may have open.", 1<<20),
	limit("file_size_mb", "The largest file a process may write, in MiB.", gigabytes),
	limit("output_mb", "How much of a command's output is kept on disk, in MiB (64 where none is set).", gigabytes),
	limit("output_all_mb", "How much the outputs of all sessions take on disk, in MiB (1024 where none is set); the oldest are removed, and those of more than a week. 1 GiB of the disk stays free, of one under 20 GiB a twentieth.", gigabytes),
	{key: "sandbox.env.inherit", wider: map[string]string{"none": "core", "core": "all"}, choices: []string{"core", "all", "none"}, def: `"core"`, narrower: true,
		doc: "Which of your variables commands see: `core` (HOME, PATH, LANG, TERM and the like), `all`, `none`. Names that look like secrets are dropped unless `include` names them."},
	{key: "sandbox.env.include", opens: true,
		doc: "Variables to pass on by their exact names, secrets too."},
	{key: "sandbox.env.exclude", narrower: true,
		doc: "Globs of variables to drop."},
	{key: "sandbox.env.set",
		doc: "Variables that commands see with these values in any case."},
	{key: "backends.NAME.kind", choices: backendKinds,
		doc: "What the backend NAME is: `native`, `bwrap`, `container` or `wasm`. `codeagent doctor` tries each backend that has a table."},
	{key: "backends.NAME.engine", choices: []string{"", "podman", "docker"}, def: `""`,
		doc: "What runs the containers. Empty: the first of these that is installed."},
	{key: "backends.NAME.image",
		doc: "The image of the containers, with the tools that your commands need. The engine must have it: nothing is pulled."},
	{key: "backends.NAME.memory", most: 1 << 30, def: "0",
		doc: "Memory of all commands of a container together, in MiB, without swap; at least 64. 0: as the engine has it."},
	{key: "backends.NAME.cpus", most: 1 << 20, def: "0",
		doc: "How many processors all commands of a container may use together. 0: as the engine has it."},
	{key: "backends.NAME.tasks", most: 1 << 22, def: "0",
		doc: "How many processes and threads a container may have, with about ten of codeagent's for each command; at least 64. 0: as the engine has it."},
	{key: "tools.NAME.enabled", wider: map[string]string{"false": "true"}, def: "true", narrower: true,
		doc: "`false` hides the tool NAME (`shell`, `apply_patch`, `read_file`, `view_image`, `list_files`, `search`, `write_stdin`, `background`, `update_plan`, `ask_user`, `fetch_url`, `delegate`, `report_findings`, or one of an MCP server by its whole name: `[tools.docs__search]`) from the model and refuses its calls."},
	{key: "context.compact_at", often: true, most: 95, def: "80",
		doc: "How full the model's context may become, in percent of its limit, before the model writes a summary that stands for the conversation from then on. 0: only when the provider finds it too long, or `/compact` asks for it. The limit is `models.NAME.context`; where it is not known, 128,000 tokens."},
	{key: "retry.patience_s", most: 24 * 3600, def: "0",
		doc: "How many seconds a request waits and is tried again while the provider is busy (429), fails (5xx) or cannot be reached. Where nothing listens on this machine it is tried three times. A longer wait that the provider asks for ends it at once. 0: 120 without a screen, 60 with one, where Esc ends it."},
	{key: "exec.streams", choices: []string{"together", Apart}, def: `"together"`,
		doc: "`apart` gives stdout and stderr of the model's commands a pipe each, and the `item.updated` lines of `codeagent exec --json` carry their `stream`. The order between the two is lost then, for the model too: each is in order. Not for commands with a terminal."},
	{key: "speculation.mode", choices: []string{"off", Decoding}, def: `"decoding"`,
		doc: "When tool calls start. `decoding`: while the answer is still coming, each as soon as it is complete. `off`: none starts before the answer is complete, so an answer that breaks off has done nothing."},
	{key: "speculation.patterns", choices: []string{"off", PatternReads, "drafts"}, def: `"reads"`,
		doc: "What runs ahead while the model answers, where its next call is known from earlier ones ([work-ahead.md](work-ahead.md)). `reads`: calls that only read. `drafts`: also commands that may change files. Both run on a draft, and what they did counts only if the model makes the same call and nothing that they read has changed. `off`: nothing runs ahead or is learned."},
	{key: "answers.enabled", def: "false",
		doc: "`true` answers the first message of a session from an earlier session ([answers.md](answers.md)), where that was the same message under the same policy and everything that was read for it is unchanged. The person can ask the model again."},
	{key: "answers.provider",
		doc: "The provider whose `answers.model` makes embeddings, so that messages in other words may hit: a NAME of `providers.NAME` or a built-in one, as for `model_provider`. It gets the first message of each session. Unset: the same text alone hits."},
	{key: "answers.model",
		doc: "The model that makes embeddings: `nomic-embed-text`, `text-embedding-3-small`."},
	{key: "answers.threshold", most: 100, def: "95",
		doc: "The least cosine of the embeddings of two messages that ask the same, in percent: 95 is 0.95. Their content words have to be the same too, in the same order."},
	{key: "answers.top_k", most: 200, def: "5",
		doc: "How many earlier messages are compared, the nearest first, among those of the same project, model, instructions and policy."},
	hook("before_tool", "Commands to run before a tool call: `[[hooks.before_tool]]` with `command`, `match` (a regular expression for the whole name of the tool; unset: all) and `timeout_s` (10). They run in the sandbox and may deny the call, have you asked, or add words for the model ([hooks.md](hooks.md))."),
	hook("after_tool", "As `hooks.before_tool`, after a call: they get its result with what the sandbox denied, and may add words."),
	hook("question", "As `hooks.before_tool`, before you are asked: they may answer no."),
	hook("prompt", "As `hooks.before_tool`, before your message is sent: they may refuse it or add words. `match` has no effect."),
	hook("turn_end", "As `hooks.prompt`, when the model makes no more calls: they may give the model a reason to continue."),
	hook("session_start", "As `hooks.prompt`, before the first message of a run: they may add words."),
	{key: "mcp.servers.NAME.command", valid: checks(server.CheckCommand),
		doc: "The program of the MCP server NAME, which codeagent starts in the sandbox and speaks to over its standard input and output ([mcp-client.md](mcp-client.md)). NAME becomes a part of its tools' names, `NAME__tool`: letters, digits, `-` and `_`, at most 32."},
	{key: "mcp.servers.NAME.args",
		doc: "The arguments of `command`."},
	{key: "mcp.servers.NAME.env", valid: checks(server.CheckEnv),
		doc: "Variables for the server, beside the usual ones (HOME, PATH and the like): `{API_TOKEN = \"$API_TOKEN\"}`. `$NAME` and `${NAME}` in a value stand for that variable of yours, `$$` for a dollar."},
	{key: "mcp.servers.NAME.url", valid: checks(server.CheckURL),
		doc: "The address of an MCP server that runs elsewhere (streamable HTTP), in place of `command`. What it does is not in the sandbox. `$NAME` as in `env`."},
	{key: "mcp.servers.NAME.headers", valid: checks(server.CheckHeaders, server.CheckKeys),
		doc: "HTTP headers for `url`: `{Authorization = \"Bearer $API_TOKEN\"}`, with `$NAME` as in `env`. A header that carries a key has to name a variable."},
	{key: "mcp.servers.NAME.cwd", choices: []string{"private", "workspace"},
		doc: "The folder that the server starts in: `private`, its own, or `workspace`. Unset: `private`, and `workspace` for a server of a project or an editor. What commands put into the workspace may become a part of a server that starts there: `npx` and `python -m` look for packages in their folder first."},
	{key: "mcp.servers.NAME.enabled", def: "true",
		doc: "`false` keeps the server NAME out of all sessions: it is not started, whoever configured it."},
	{key: "mcp.servers.NAME.enabled_tools",
		doc: "The tools of the server that the model may see, by the server's names. Unset: all."},
	{key: "mcp.servers.NAME.disabled_tools",
		doc: "Tools of the server that the model does not see."},
	{key: "mcp.servers.NAME.startup_timeout_s", most: server.MostSeconds, def: strconv.Itoa(server.StartupSeconds), valid: validSeconds,
		doc: "How many seconds the server may take to start."},
	{key: "mcp.servers.NAME.tool_timeout_s", most: server.MostSeconds, def: strconv.Itoa(server.ToolSeconds), valid: validSeconds,
		doc: "How many seconds a call of one of its tools may take."},
	{key: "mcp.servers.NAME.required", def: "false",
		doc: "`true`: without this server no session starts. `false`: codeagent says that it failed, and works without it."},
	{key: "mcp.servers.NAME.sandbox.workspace", choices: []string{"read", "write", "none"}, def: `"read"`,
		doc: "What the server may do in the workspace."},
	{key: "mcp.servers.NAME.sandbox.backend",
		doc: "What confines the server ([backends.md](backends.md)): a kind, or the NAME of a `[backends.NAME]`. Unset: what confines the session's commands, and the sandbox of the system where that is `wasm`."},
	{key: "mcp.servers.NAME.sandbox.read", opens: true, valid: checks(server.CheckPlaces),
		doc: "More files and folders that the server may read, absolute or with `~/` in front. Unset: its program and what its settings name, but not your home folder."},
	{key: "mcp.servers.NAME.sandbox.write", opens: true, valid: checks(server.CheckPlaces),
		doc: "More files and folders that the server may write. It always has a folder of its own."},
	{key: "mcp.servers.NAME.sandbox.allow_hosts", opens: true, covers: coversHost, valid: checks(server.CheckHosts),
		doc: "Hosts that the server may reach, in the forms of `sandbox.allow_hosts`."},
	{key: "mcp.servers.NAME.sandbox.allow_sockets", opens: true, valid: checks(server.CheckPlaces),
		doc: "Sockets with a path that the server may connect to: the program that listens there acts outside the sandbox."},
	{key: "mcp.servers.NAME.sandbox.env", opens: true, valid: validVariables,
		doc: "Variables of yours that the server gets, by their exact names."},
	{key: "diagnostics.enabled", def: "true",
		doc: "After an edit the errors that an installed language server newly finds in the changed files go to the model and to you ([diagnostics.md](diagnostics.md)). `false`: no language server is started."},
	{key: "diagnostics.servers.NAME.enabled", def: "true",
		doc: "`false`: the language server NAME is not started. `gopls`, `typescript`, `pyright`, `rust-analyzer` and `clangd` are known."},
	{key: "diagnostics.servers.NAME.command", valid: checks(server.CheckCommand),
		doc: "The program of the language server NAME, which codeagent starts in the sandbox at the first change of a file of its. The keys of a server that codeagent knows change only what they set."},
	{key: "diagnostics.servers.NAME.args",
		doc: "The arguments of `command`, such as `[\"--stdio\"]`."},
	{key: "diagnostics.servers.NAME.extensions", valid: checks(checkExtensions),
		doc: "The ends of the names of its files: `[\".ex\", \".exs\"]`."},
	{key: "diagnostics.servers.NAME.language",
		doc: "What the protocol calls the language of these files (`languageId`). Unset: NAME."},
	{key: "diagnostics.servers.NAME.read", opens: true, valid: checks(server.CheckPlaces),
		doc: "Files and folders that the server may read beside the workspace and what the system has installed, absolute or with `~/` in front, such as a toolchain in your home folder."},
	{key: "undo.unkept", wider: map[string]string{"ask": "allow"}, often: true, choices: []string{"ask", "allow"}, def: `"ask"`,
		doc: "When a command is about to delete, replace or empty a file that the session did not make and that `/undo` could not bring back. `ask`: that call waits and you are asked; where nobody can be asked it fails. `allow`: it is made. The same holds for a `git push` that would overwrite or delete what the remote has."},
	{key: "tui.mouse", often: true, def: "true",
		doc: "`false` leaves wheel and drag to the terminal."},
	{key: "tui.screen_reader", def: "false",
		doc: "`true` draws no screen: what happens is written in lines, each once, without colours and frames, and you type whole lines. Made for screen readers. A terminal with `TERM=dumb` always gets this."},
	{key: "tui.vim", often: true, def: "false",
		doc: "`true` edits the message with the keys of vi: it starts in insert mode, Esc goes to normal mode."},
	{key: "tui.theme", often: true, def: `"auto"`,
		doc: "The colours: `auto` follows the terminal's background and how many colours it has, `light`, `dark`, `ansi` (the terminal's own 16), or the NAME of a theme of yours. `/theme` tries one. NO_COLOR draws none."},
	{key: "tui.notify", often: true, choices: []string{"auto", "bell", "osc9", "osc777", "off"}, def: `"auto"`,
		doc: "How you are called when a question waits or a turn has ended while the terminal does not have the focus; where the terminal does not report that, while you have pressed no key for 30 seconds. `bell`, or a desktop notification (`osc9`: iTerm2, WezTerm, Ghostty, kitty, foot; `osc777`: urxvt). `auto`: what the terminal is known to take, else the bell."},
	{key: "tui.title", often: true, def: "true",
		doc: "The terminal's title names the folder, with `●` while the model works and `?` while a question waits. `false` leaves the title alone."},
	{key: "tui.progress", choices: []string{"auto", "on", "off"}, def: `"auto"`,
		doc: "Shows in the taskbar or the tab that the model works (OSC 9;4), and that a question waits. `auto`: only in Windows Terminal, ConEmu, Ghostty and WezTerm, since others may print it."},
	{key: "tui.status_command",
		doc: "A shell command whose first line the footer shows in place of model, folder and tokens; sandbox and approval policy stay. It runs at the start and after each turn, in the sandbox: it writes nothing, reaches no network and has two seconds. `CODEAGENT_MODEL`, `_FOLDER`, `_BRANCH`, `_SANDBOX`, `_APPROVALS`, `_CONTEXT` (percent), `_INPUT_TOKENS`, `_OUTPUT_TOKENS` and `_COST` are set."},
	{key: "themes.NAME",
		doc: "A theme of yours: `{base = \"dark\", accent = \"#88c0d0\", warn = \"3\"}`. A colour is `#rrggbb` or one of the terminal's own, `0` to `15`. These have one: dim, faint, accent, good, bad, warn, code, added, gone, and the backgrounds said, added-words, gone-words, added-lines, gone-lines. `base` gives the others theirs."},
	{key: "keys.NAME",
		doc: "The keys of the action NAME on the screen, such as `message-newline = [\"ctrl+j\", \"f2\"]`; `/keys` and `codeagent help keys` list the names. `[]` takes its keys away. A key that then means two things in one place is an error."},
	{key: "providers.NAME.base_url", valid: validURL,
		doc: "Where this provider is served, up to and with `/v1`. `$NAME` in front is replaced by that variable."},
	{key: "providers.NAME.key_env", valid: validVariable,
		doc: "The name of the variable that holds its key; commands do not see it. Unset: no key is sent."},
	{key: "providers.NAME.key_command", valid: validProgram,
		doc: "A program and its arguments that prints the key: `[\"pass\", \"show\", \"openai\"]`. It runs outside of the sandbox, once, and again when the key is refused."},
	{key: "providers.NAME.headers", valid: checks(server.CheckHeaders),
		doc: "HTTP headers to send along. `$NAME` as a whole value is replaced by that variable."},
	{key: "providers.NAME.wire", choices: []string{"", Chat, Responses}, def: `""`,
		doc: "As `wire` above, for this provider."},
	{key: "providers.NAME.context", most: mostTokens, def: "0",
		doc: "How many tokens its models take. 0: not known."},
	{key: "providers.NAME.output", most: mostTokens, def: "0",
		doc: "How many tokens an answer may have. 0: the provider's own limit."},
	{key: "providers.NAME.vision", choices: []string{"", "yes", "no"}, def: `""`,
		doc: "Whether its models see images. With \"no\" they get a description of each image instead. Empty: not known; images are sent, and codeagent remembers a refusal."},
	{key: "models.NAME.context", most: mostTokens, def: "0",
		doc: "How many tokens the model NAME takes; NAME may be `\"PROVIDER/MODEL\"`, and `*` in it stands for any text. The most specific name counts. 0: not known."},
	{key: "models.NAME.output", most: mostTokens, def: "0",
		doc: "How many tokens an answer of it may have. 0: the provider's own limit."},
	{key: "models.NAME.price", valid: validPrices,
		doc: "What it costs, in one currency for a million tokens: `{input = \"1.25\", cached = \"0.13\", output = \"10\"}`. The footer and `/status` then show what the session cost, and not what the provider's list says ([sessions.md](sessions.md#cost)); `cached` is input from the provider's cache, at the price of `input` where it is not given."},
	{key: "models.NAME.vision", choices: []string{"", "yes", "no"}, def: `""`,
		doc: "Whether it sees images, as for a provider."},
	{key: "models.NAME.sandbox", wider: map[string]string{ReadOnly: ""}, choices: []string{"", ReadOnly}, def: `""`,
		doc: "`read-only`: commands of this model write only temporary files until you allow more, whatever `sandbox.mode` says. Meant for weaker models."},
	{key: "models.NAME.must_justify", def: "false",
		doc: "`true`: a request without a reason that names what needs it always goes back to the model, and you are not asked. `false`: a command's request goes back once; after that you are asked."},
	{key: "models.NAME.may_ask_outside", def: "true",
		doc: "`false`: this model cannot ask to run a command outside the sandbox. codeagent does not offer it, and refuses it without asking you."},
}

func limit(name, doc string, most int64) setting {
	return setting{key: "sandbox.limits." + name, most: most, def: "0", narrower: true, doc: doc + " 0: unset."}
}

// mostTokens is far above any model's limit.
const mostTokens = 1 << 30

func validURL(v any) error {
	text := v.(string)
	if strings.HasPrefix(text, "$") || text == "" {
		return nil // checked when it is used
	}
	if _, err := baseURL(text); err != nil {
		return fmt.Errorf("invalid value %s: %w", quoted(text), err)
	}
	return nil
}

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z_][A-Za-z0-9_]*$") })

// validVariable never includes the value in the error: an invalid name may be the key itself.
func validVariable(v any) error {
	if name := v.(string); name != "" && !variableName().MatchString(name) {
		return errors.New("not a variable name. Put the key in an environment variable and name that variable here")
	}
	return nil
}

// validList refuses a list that would allow everything, and looks as if it allowed nothing.
func validList(v any) error {
	if len(v.([]string)) == 0 {
		return errors.New("the list is empty: name something, or leave the setting away")
	}
	return nil
}

func validProgram(v any) error {
	if len(v.([]string)) == 0 {
		return errors.New("must name a program and its arguments")
	}
	return nil
}

// validPrices accepts the prices of a model.
func validPrices(v any) error {
	for name, price := range v.(map[string]string) {
		if name != "input" && name != "cached" && name != "output" {
			return fmt.Errorf("unknown price %s; use input, cached, output", quoted(name))
		}
		if n, err := strconv.ParseFloat(price, 64); err != nil || !(n >= 0 && n <= 1e6) {
			return fmt.Errorf("the price of %s is %s; use a number such as \"1.25\"", name, quoted(price))
		}
	}
	return nil
}

// fileNever are settings that a file may not set: they approve one run only.
var fileNever = []string{"sandbox.allow_home"}

// find returns the setting for a key, and the name in the place of NAME.
func find(parts []string) (s setting, name string, ok bool) {
	for _, s := range settings {
		if name, ok := match(splitKey(s.key), parts); ok {
			return s, name, true
		}
	}
	return setting{}, "", false
}

// isTable reports whether there is a setting below parts.
func isTable(parts []string) bool { return len(below(parts)) > 0 }

func below(parts []string) []string {
	var out []string
	for _, s := range settings {
		pattern := splitKey(s.key)
		if len(pattern) <= len(parts) {
			continue
		}
		if _, ok := match(pattern[:len(parts)], parts); ok {
			out = append(out, concrete(pattern, parts))
		}
	}
	return out
}

// concrete replaces NAME by the part of the given key.
func concrete(pattern, parts []string) string {
	for i := range min(len(pattern), len(parts)) {
		if pattern[i] == "NAME" {
			pattern[i] = parts[i]
		}
	}
	return strings.Join(pattern, ".")
}

func match(pattern, parts []string) (name string, ok bool) {
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
