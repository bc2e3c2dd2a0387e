// Package house holds the house rules of ARCHITECTURE.md as data and checks
// them: which room may know which, which doors lead to the outside and who may
// use them, who may widen a policy, who may start a goroutine.
//
// The tables are policy. When a build breaks one of them, the build is wrong: a
// change here is a decision of its own and says why. A new room gets its line
// and its reason.
package house

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = "codeagent"

// room is one line of the import table. Packages below a room's folder belong
// to it unless they have a line of their own.
type room struct {
	path  string
	floor int
	// imports are the rooms of ours that its non-test files may import.
	imports []string
	// support marks test support: importable from tests and other support only,
	// and itself free of the rules about doors, grants and goroutines.
	support bool
	// pure rooms perform no IO: os for its types only, and no net or syscall.
	pure bool
	// libraries are what a pure room uses beside the standard library, without IO.
	libraries []string
}

var rooms = []room{
	// Floor 0: words.
	// Texts, counts, sizes and times short enough for a line: one way for all rooms.
	{path: "internal/short", pure: true},
	// Git's layout and its settings: every room that looks for a repository, or into one, asks it.
	{path: "internal/git", imports: []string{"internal/git/dotgit", "sandbox/protect"}, pure: true},
	{path: "internal/git/dotgit", imports: []string{"sandbox/protect"}, pure: true},
	{path: "sandbox", imports: []string{"internal/git/dotgit", "sandbox/protect"}, pure: true},
	// What is protected, and why: one table and one answer for every room that judges a path.
	{path: "sandbox/protect", pure: true},
	// Names of files and hosts in a text. They decide which calls are held, and what a command lost.
	{path: "sandbox/named", imports: []string{"sandbox"}, pure: true, libraries: []string{"golang.org/x/net/publicsuffix", "mvdan.cc/sh/v3/syntax"}},
	// A policy made exact for one machine, which is all that a backend gets.
	{path: "sandbox/resolved", imports: []string{"sandbox"}, pure: true},
	{path: "model", pure: true},
	{path: "patch", imports: []string{"internal/short"}, pure: true, libraries: []string{"golang.org/x/text/unicode/norm"}},
	{path: "event", imports: []string{"sandbox", "model"}, pure: true},
	// The pages of docs/, for codeagent help.
	{path: "docs", pure: true},
	{path: "prompts", imports: []string{"event", "internal/short", "internal/visible", "sandbox", "sandbox/resolved", "sandbox/protect", "skills"}, pure: true},
	// The front matter of SKILL.md files, which come from anybody.
	{path: "skills", imports: []string{"internal/short", "internal/visible"}, pure: true},
	// What serves file requests inside the sandbox. Standard library only: it is
	// linked into the helper, and its protocol is shared with exec.
	{path: "internal/fileworker"},
	// The door through which codeagent itself acts on the host: what it opens, writes and
	// runs. The rules of that are in its package comment.
	{path: "hostfile", imports: []string{"internal/visible", "sandbox"}},
	// The environment, without what libraries act on. It must import nothing but os.
	{path: "internal/environ"},
	// Which characters must be shown by name: every face shows them alike.
	{path: "internal/visible", pure: true},
	// Lines of bounded length: the other side may never end one.
	{path: "internal/linereader", pure: true},
	// The messages of JSON-RPC, of editors and MCP servers: hostile input.
	{path: "internal/jsonrpc", imports: []string{"internal/visible"}, pure: true, libraries: []string{"github.com/modelcontextprotocol/go-sdk/jsonrpc"}},
	// JSON that is still being written: a wire asks where a call ends, the agent
	// which of its fields are there.
	{path: "internal/partial", pure: true},
	// Text of what web servers send: hostile input, so it is a room by itself that
	// can be fuzzed. HTML is parsed by golang.org/x/net.
	{path: "internal/webtext", imports: []string{"internal/visible"}},

	// Hides secrets in what leaves a session: the log, and what a collector gets.
	{path: "internal/mask", pure: true},

	// Makes images of files. Decoders of the Go project's own (x/image), and no IO.
	{path: "internal/picture", imports: []string{"model"}},

	// Floor 1: judgement and hands.
	{path: "approvals", floor: 1, imports: []string{"approvals/ask", "approvals/content", "approvals/decide", "approvals/ledger", "approvals/review", "approvals/rules", "event", "internal/git/dotgit", "internal/short", "sandbox", "sandbox/named"}},
	// What is decided about an action, by a value: no lock, no clock, no file.
	{path: "approvals/decide", floor: 1, imports: []string{"approvals/ledger", "approvals/rules", "event", "internal/short", "internal/visible", "sandbox", "sandbox/named"}, pure: true, libraries: []string{"mvdan.cc/sh/v3/syntax"}},
	// A question as data: its title, warnings and options.
	{path: "approvals/ask", floor: 1, imports: []string{"approvals/decide", "approvals/rules", "event", "internal/short", "sandbox"}, pure: true, libraries: []string{"mvdan.cc/sh/v3/syntax"}},
	// Grants everything and records it, for the commands that find out which settings are needed.
	{path: "approvals/learn", floor: 1, imports: []string{"sandbox", "sandbox/named"}},
	// The rules that answer before a person is asked: their file, and what they match.
	{path: "approvals/rules", floor: 1, imports: []string{"internal/short", "sandbox", "sandbox/named"}, pure: true, libraries: []string{"github.com/pelletier/go-toml/v2", "github.com/pelletier/go-toml/v2/unstable", "mvdan.cc/sh/v3/syntax"}},
	// Rules of other tools, translated into rules.toml. Their files are hostile input.
	{path: "approvals/rules/foreign", floor: 1, imports: []string{"approvals/rules", "internal/short", "sandbox"}, pure: true, libraries: []string{"github.com/pelletier/go-toml/v2", "go.starlark.net/syntax"}},
	// What hooks answer: hostile text, which may deny, ask and add words, and permit nothing.
	{path: "hooks", floor: 1, imports: []string{"event", "internal/short", "internal/visible", "patch", "sandbox"}, pure: true},
	// Which refusals programs survive: a file of codeagent's own, which only decides whether to ask.
	{path: "approvals/without", floor: 1, imports: []string{"hostfile", "sandbox", "sandbox/named"}},
	// Which call follows which step, which only says what runs ahead on a draft.
	{path: "patterns", floor: 1, pure: true},
	// The memory of all sessions, which the side program keeps.
	{path: "patterns/store", floor: 1, imports: []string{"hostfile", "patterns"}},
	// Answers to first messages, in a file of codeagent's own. One is shown only where it was made, and grants nothing.
	{path: "answers", floor: 1, imports: []string{"draft", "hostfile", "sandbox"}},
	// A question in words, for faces without a screen: all of them say the same.
	{path: "approvals/plain", floor: 1, imports: []string{"approvals", "event", "internal/short", "internal/visible", "sandbox"}, pure: true},
	// What is open, as data: entries of the ledger, and the exported file.
	{path: "approvals/ledger", floor: 1, imports: []string{"approvals/content", "approvals/rules", "internal/short", "internal/visible", "sandbox"}, pure: true, libraries: []string{"github.com/pelletier/go-toml/v2"}},
	// What the reason of a request lacks, judged by its words.
	{path: "approvals/review", floor: 1, pure: true},
	// The files that an answer depends on, as data. The wiring reads the files.
	{path: "approvals/content", floor: 1, pure: true},
	// The settings of MCP servers, which the servers' room and the gate share.
	{path: "config/server", floor: 1, imports: []string{"internal/short", "sandbox/named"}},
	{path: "config", floor: 1, imports: []string{"config/server", "hostfile", "internal/git", "internal/short", "sandbox", "sandbox/named", "sandbox/protect"}},
	// It exports pages to be read: the same characters are shown by name there.
	{path: "session", floor: 1, imports: []string{"hostfile", "model", "internal/short", "internal/visible"}},
	{path: "seatbelt", floor: 1, imports: []string{"sandbox", "sandbox/resolved"}},
	// Each renders what a policy becomes as the command line of another program.
	{path: "backends/container", floor: 1, imports: []string{"hostfile", "linuxsandbox", "linuxsandbox/spec", "sandbox"}},
	{path: "backends/bwrap", floor: 1, imports: []string{"hostfile", "linuxsandbox", "sandbox"}},
	// Modules instead of programs: codeagent's half, what both halves say, and the half of the side program.
	{path: "backends/wasm", floor: 1, imports: []string{"approvals/rules", "backends/wasm/order", "hostfile", "sandbox", "sandbox/resolved"}},
	{path: "backends/wasm/order", floor: 1, imports: []string{"sandbox"}},
	{path: "backends/wasm/module", floor: 1, imports: []string{"backends/wasm/order", "sandbox", "sandbox/protect"}},
	{path: "linuxsandbox", floor: 1, imports: []string{"hostfile", "sandbox", "sandbox/resolved", "internal/fileworker", "linuxsandbox/broker", "linuxsandbox/broker/judge", "linuxsandbox/broker/sockets", "linuxsandbox/cgroup", "linuxsandbox/kernel", "linuxsandbox/netns", "linuxsandbox/plan", "linuxsandbox/spec", "linuxsandbox/control", "linuxsandbox/keeper", "linuxsandbox/program"}},
	// What a policy becomes on a kernel. It looks at files and changes nothing.
	{path: "linuxsandbox/plan", floor: 1, imports: []string{"hostfile", "sandbox", "sandbox/resolved", "internal/git", "internal/short", "linuxsandbox/broker/judge", "linuxsandbox/broker/sockets", "linuxsandbox/cgroup", "linuxsandbox/kernel", "linuxsandbox/spec"}},
	// The helper's half. It serves the file worker, to which exec speaks. All that runs
	// before a command's first instruction is here, and in the rooms that it imports.
	{path: "linuxsandbox/keeper", floor: 1, imports: []string{"sandbox", "internal/fileworker", "linuxsandbox/control", "linuxsandbox/filter", "linuxsandbox/kernel", "linuxsandbox/spec"}},
	// What codeagent and the helper send each other.
	{path: "linuxsandbox/spec", imports: []string{"sandbox", "linuxsandbox/kernel"}},
	// What codeagent tells the helper and what that reports, and the socket for it.
	{path: "linuxsandbox/control", imports: []string{"linuxsandbox/kernel"}},
	// Control groups: the limits of a command with all its descendants.
	{path: "linuxsandbox/cgroup", imports: []string{"sandbox", "linuxsandbox/kernel"}},
	// The network of a session. Only codeagent links it: the helper has nothing that
	// reaches a network.
	{path: "linuxsandbox/netns", floor: 1, imports: []string{"sandbox", "sandbox/resolved", "linuxsandbox/control", "linuxsandbox/kernel"}},
	// The filter is policy of its own: a table that can be read without any other room.
	{path: "linuxsandbox/filter"},
	// The helper before it runs.
	{path: "linuxsandbox/program", imports: []string{"linuxsandbox/control", "linuxsandbox/kernel"}},
	// Calls of Linux that several rooms of linuxsandbox make alike.
	{path: "linuxsandbox/kernel"},
	// Answers the calls that the filter asks about, below it what has arrows one way.
	{path: "linuxsandbox/broker", floor: 1, imports: []string{"internal/git", "sandbox", "sandbox/resolved", "sandbox/protect", "linuxsandbox/broker/calls", "linuxsandbox/broker/evidence", "linuxsandbox/broker/judge", "linuxsandbox/broker/notify", "linuxsandbox/broker/pathwalk", "linuxsandbox/broker/processes", "linuxsandbox/broker/sockets", "linuxsandbox/broker/terminal", "linuxsandbox/broker/umask", "linuxsandbox/filter", "linuxsandbox/kernel", "linuxsandbox/netns", "linuxsandbox/spec"}},
	// What decides about its calls, and makes none.
	{path: "linuxsandbox/broker/judge", floor: 1, imports: []string{"internal/git", "internal/git/dotgit", "sandbox", "sandbox/resolved", "sandbox/protect", "linuxsandbox/broker/notify", "linuxsandbox/broker/pathwalk", "linuxsandbox/kernel", "linuxsandbox/spec"}},
	// The log of its denials, and of the programs that met them.
	{path: "linuxsandbox/broker/evidence", floor: 1, imports: []string{"sandbox", "linuxsandbox/broker/notify", "linuxsandbox/broker/pathwalk", "linuxsandbox/kernel"}},
	// Handlers that know neither its judge nor each other.
	{path: "linuxsandbox/broker/processes", floor: 1, imports: []string{"sandbox", "linuxsandbox/broker/calls", "linuxsandbox/broker/evidence", "linuxsandbox/broker/notify", "linuxsandbox/broker/pathwalk", "linuxsandbox/filter", "linuxsandbox/kernel"}},
	{path: "linuxsandbox/broker/terminal", floor: 1, imports: []string{"sandbox", "linuxsandbox/broker/calls", "linuxsandbox/broker/notify", "linuxsandbox/broker/pathwalk", "linuxsandbox/broker/sockets", "linuxsandbox/kernel"}},
	{path: "linuxsandbox/broker/umask", floor: 1, imports: []string{"linuxsandbox/broker/notify", "linuxsandbox/broker/pathwalk", "linuxsandbox/kernel"}},
	// A refused call that waits for an answer, and the rules by which one may proceed.
	{path: "linuxsandbox/broker/notify", floor: 1, imports: []string{"sandbox", "linuxsandbox/kernel", "linuxsandbox/spec"}},
	// Tables of the calls that are answered, and the reading of their arguments.
	{path: "linuxsandbox/broker/calls", floor: 1, imports: []string{"linuxsandbox/broker/notify", "linuxsandbox/broker/pathwalk", "linuxsandbox/kernel"}},
	// From a name in a process to an open descriptor, for the broker.
	{path: "linuxsandbox/broker/pathwalk", floor: 1, imports: []string{"sandbox", "linuxsandbox/kernel"}},
	// Sockets of a command. It lets no call proceed and judges no file: its broker does.
	{path: "linuxsandbox/broker/sockets", floor: 1, imports: []string{"sandbox", "sandbox/resolved", "linuxsandbox/broker/notify", "linuxsandbox/broker/pathwalk", "linuxsandbox/kernel", "linuxsandbox/netns"}},
	// Judges whether the sandbox made a command fail: no list of programs, no words of
	// theirs where a broker saw what was refused. exec hands it what is known.
	{path: "exec/verdict", imports: []string{"sandbox"}, pure: true, libraries: []string{"mvdan.cc/sh/v3/syntax"}},
	// The client of the file worker. Its users get no way to serve files outside the sandbox.
	{path: "exec/worker", floor: 1, imports: []string{"sandbox", "internal/fileworker"}},
	{path: "exec", floor: 1, imports: []string{"hostfile", "sandbox", "sandbox/resolved", "sandbox/named", "internal/fileworker", "internal/short", "exec/verdict", "exec/worker"}},
	// Runs a failed command again on drafts, to find out why it failed. What it decides is in decide.go, without IO.
	{path: "exec/experiment", floor: 1, imports: []string{"draft", "exec", "exec/worker", "hostfile", "internal/git/dotgit", "sandbox", "undo"}},
	{path: "gitrun", floor: 1, imports: []string{"exec", "hostfile", "internal/git", "sandbox"}},
	{path: "egress", floor: 1, imports: []string{"sandbox"}},
	// What a command changed on a draft. The file worker changes the files themselves.
	{path: "draft", floor: 1, imports: []string{"exec/worker", "hostfile", "sandbox"}},
	{path: "undo", floor: 1, imports: []string{"exec/worker", "hostfile", "internal/git", "internal/git/dotgit", "internal/linereader", "internal/short", "sandbox"}},
	{path: "model/wire", floor: 1, imports: []string{"internal/short", "model"}},
	{path: "model/chat", floor: 1, imports: []string{"model", "model/wire", "internal/partial"}},
	{path: "model/responses", floor: 1, imports: []string{"model", "model/wire"}},
	// The model server that plays a script: product code, the tour stands on it.
	{path: "internal/scripted", floor: 1},
	{path: "model/tour", floor: 1, imports: []string{"hostfile", "internal/scripted"}},

	// The client of one MCP server. It starts no program, touches no file and permits nothing;
	// what a server says is bounded and made harmless there.
	// The other half: codeagent as a server. Its client is hostile too.
	// What an MCP server asks the person, and whether an answer fits: for the client and all faces.
	// Questions that grant nothing: of servers, and of the model.
	{path: "mcp/inquiry", imports: []string{"internal/visible"}, pure: true},
	{path: "mcp/serve", floor: 1, imports: []string{"internal/short", "internal/visible", "mcp/inquiry", "model"}},
	// The sign-in to a server that is reached by URL: it listens on loopback, and keeps secrets.
	{path: "mcp/signin", floor: 1, imports: []string{"hostfile", "internal/short", "internal/visible", "sandbox"}},
	// The client of one language server: hostile texts. It starts no program and touches no file.
	{path: "diagnostics", floor: 1, imports: []string{"internal/short", "internal/visible"}},
	{path: "mcp", floor: 1, imports: []string{"internal/jsonrpc", "internal/linereader", "internal/picture", "internal/short", "internal/visible", "mcp/inquiry", "model"}},

	// Floor 2: deeds.
	{path: "tools", floor: 2, imports: []string{"approvals", "draft", "egress", "event", "exec", "exec/experiment", "exec/worker", "internal/git", "internal/picture", "internal/short", "internal/visible", "internal/webtext", "mcp/inquiry", "model", "patch", "sandbox", "undo"}},

	// Floor 3: the agent and its faces, which do not see each other.
	{path: "agent", floor: 3, imports: []string{"answers", "approvals", "approvals/without", "event", "hooks", "internal/short", "model", "patterns", "prompts", "sandbox", "tools"}},
	{path: "tui", floor: 3, imports: []string{"approvals", "event", "internal/environ", "internal/short", "mcp/inquiry", "prompts", "tui/attention", "tui/clipboard", "tui/composer", "tui/diff", "tui/fill", "tui/footer", "tui/form", "tui/home", "tui/keys", "tui/lines", "tui/lists", "tui/mark", "tui/memory", "tui/mention", "tui/message", "tui/modes", "tui/page", "tui/paint", "tui/palette", "tui/part", "tui/picker", "tui/question", "tui/reader", "tui/rewind", "tui/settings", "tui/setup", "tui/slash", "tui/templates", "tui/terminal", "tui/transcript", "tui/trying", "tui/undoing"}},
	{path: "tui/terminal", floor: 3, libraries: []string{"charm.land/bubbletea/v2", "github.com/charmbracelet/colorprofile", "github.com/charmbracelet/ultraviolet", "github.com/charmbracelet/x/ansi", "github.com/muesli/cancelreader", "golang.org/x/term"}},
	// The parts of the screen: none performs IO, none knows the one tea.Model.
	{path: "tui/keys", floor: 3, imports: []string{"internal/short"}, pure: true, libraries: []string{"charm.land/bubbletea/v2"}},
	{path: "tui/message", floor: 3, imports: []string{"model"}, pure: true},
	// The search of files by a few letters: 100,000 paths for each key.
	{path: "tui/mention", floor: 3, imports: []string{"internal/short", "tui/keys", "tui/paint", "tui/part"}, pure: true},
	// Marks in drawn lines say what a copy gives back.
	{path: "tui/mark", floor: 3, pure: true, libraries: []string{"github.com/charmbracelet/x/ansi"}},
	{path: "tui/highlight", floor: 3, imports: []string{"tui/paint"}, pure: true},
	// Everything drawn goes through it: it makes hostile text harmless.
	{path: "tui/palette", floor: 3, pure: true},
	{path: "tui/paint", floor: 3, imports: []string{"internal/short", "internal/visible", "tui/mark", "tui/palette"}, pure: true, libraries: []string{"charm.land/lipgloss/v2", "github.com/charmbracelet/x/ansi"}},
	{path: "tui/denial", floor: 3, imports: []string{"internal/short", "sandbox", "tui/paint"}, pure: true},
	{path: "tui/diff", floor: 3, imports: []string{"event", "sandbox", "tui/highlight", "tui/paint"}, pure: true, libraries: []string{"znkr.io/diff"}},
	{path: "tui/markdown", floor: 3, imports: []string{"tui/highlight", "tui/mark", "tui/paint"}, pure: true, libraries: []string{"github.com/charmbracelet/x/ansi", "github.com/yuin/goldmark/ast", "github.com/yuin/goldmark/extension", "github.com/yuin/goldmark/extension/ast", "github.com/yuin/goldmark/parser", "github.com/yuin/goldmark/text", "github.com/yuin/goldmark/util"}},
	{path: "tui/composer", floor: 3, imports: []string{"tui/keys", "tui/message", "tui/paint", "tui/part"}, pure: true},
	{path: "tui/picker", floor: 3, imports: []string{"tui/composer", "tui/keys", "tui/paint", "tui/part"}, pure: true, libraries: []string{"github.com/charmbracelet/x/ansi"}},
	{path: "tui/footer", floor: 3, imports: []string{"event", "model", "sandbox", "tui/paint", "tui/part"}, pure: true},
	{path: "tui/fill", floor: 3, imports: []string{"tui/keys", "tui/page", "tui/paint"}, pure: true},
	{path: "tui/home", floor: 3, imports: []string{"event", "internal/short", "tui/paint"}, pure: true},
	{path: "tui/page", floor: 3, imports: []string{"internal/short", "tui/keys", "tui/paint", "tui/part"}, pure: true},
	{path: "tui/reader", floor: 3, imports: []string{"tui/composer", "tui/keys", "tui/paint", "tui/part", "tui/transcript"}, pure: true},
	{path: "tui/undoing", floor: 3, imports: []string{"event", "internal/short", "tui/diff", "tui/lists", "tui/page", "tui/paint", "tui/part", "tui/transcript"}, pure: true},
	{path: "tui/trying", floor: 3, imports: []string{"event", "internal/short", "internal/visible", "sandbox", "tui/diff", "tui/page", "tui/paint", "tui/part", "tui/picker"}, pure: true},
	{path: "tui/lines", floor: 3, imports: []string{"tui/form", "tui/keys", "tui/page", "tui/paint", "tui/part", "tui/picker", "tui/question", "tui/slash", "tui/transcript"}, pure: true, libraries: []string{"github.com/charmbracelet/x/ansi"}},
	{path: "tui/memory", floor: 3, imports: []string{"tui/part", "tui/picker"}, pure: true},
	{path: "tui/settings", floor: 3, imports: []string{"tui/keys", "tui/lists", "tui/part", "tui/picker"}, pure: true},
	{path: "tui/setup", floor: 3, imports: []string{"tui/keys", "tui/paint", "tui/part", "tui/picker"}, pure: true},
	{path: "tui/lists", floor: 3, imports: []string{"internal/short", "tui/keys", "tui/page", "tui/paint", "tui/part", "tui/picker"}, pure: true},
	{path: "tui/slash", floor: 3, imports: []string{"internal/short", "tui/keys", "tui/paint", "tui/part"}, pure: true},
	{path: "tui/attention", floor: 3, imports: []string{"tui/paint"}, pure: true},
	{path: "tui/rewind", floor: 3, imports: []string{"internal/short", "tui/lists", "tui/message", "tui/page", "tui/paint", "tui/part", "tui/picker", "tui/undoing"}, pure: true},
	{path: "tui/modes", floor: 3, imports: []string{"approvals", "event", "tui/keys", "tui/message", "tui/part", "tui/question"}, pure: true},
	{path: "tui/clipboard", floor: 3, imports: []string{"event", "internal/short", "model", "tui/message", "tui/part"}, pure: true},
	{path: "tui/templates", floor: 3, imports: []string{"event", "mcp/inquiry", "prompts", "tui/form", "tui/lists", "tui/message", "tui/part", "tui/picker", "tui/slash"}, pure: true},
	{path: "tui/part", floor: 3, imports: []string{"event", "tui/keys", "tui/paint"}, pure: true},
	// What an MCP server asks: its words, and what is sent to it.
	{path: "tui/form", floor: 3, imports: []string{"internal/visible", "mcp/inquiry", "tui/composer", "tui/keys", "tui/paint", "tui/part"}, pure: true},
	{path: "tui/question", floor: 3, imports: []string{"approvals", "approvals/rules", "event", "internal/visible", "sandbox", "tui/composer", "tui/denial", "tui/diff", "tui/keys", "tui/paint", "tui/part", "tui/trying"}, pure: true},
	{path: "tui/transcript", floor: 3, imports: []string{"approvals", "event", "internal/short", "sandbox", "tui/denial", "tui/diff", "tui/home", "tui/keys", "tui/mark", "tui/markdown", "tui/message", "tui/paint", "tui/part"}, pure: true, libraries: []string{"github.com/charmbracelet/x/ansi"}},
	{path: "headless", floor: 3, imports: []string{"approvals", "approvals/plain", "event", "internal/short", "internal/visible", "model", "sandbox"}},

	// The face for editors: the Agent Client Protocol over two streams.
	{path: "acp", floor: 3, imports: []string{"approvals", "approvals/plain", "event", "internal/jsonrpc", "internal/linereader", "internal/picture", "internal/short", "internal/visible", "mcp/inquiry", "model", "sandbox"}, pure: true, libraries: []string{"github.com/coder/acp-go-sdk"}},

	// Observers of the same events, for those who run codeagent: a log and a collector. Both are
	// off unless they are asked for.
	{path: "eventlog", floor: 3, imports: []string{"event", "internal/mask", "internal/visible", "sandbox"}, pure: true},
	{path: "telemetry", floor: 3, imports: []string{"event", "internal/mask", "internal/visible", "sandbox"}},

	// Floor 4: wiring.
	{path: "cmd/codeagent", floor: 5, imports: []string{"cmd/codeagent/acpcmd", "cmd/codeagent/attach", "cmd/codeagent/cli", "cmd/codeagent/completion", "cmd/codeagent/doctor", "cmd/codeagent/execcmd", "cmd/codeagent/helpcmd", "cmd/codeagent/mcpcmd", "cmd/codeagent/patternscmd", "cmd/codeagent/permissionscmd", "cmd/codeagent/rulescmd", "cmd/codeagent/sandboxcmd", "cmd/codeagent/screen", "cmd/codeagent/serverscmd", "cmd/codeagent/sessionscmd", "cmd/codeagent/trycmd", "cmd/codeagent/undocmd", "cmd/codeagent/workspace", "eventlog", "exec", "internal/environ", "internal/fileworker", "internal/visible", "linuxsandbox", "seatbelt"}},
	// One package a command, and below them what they share. None knows package main.
	{path: "cmd/codeagent/screen", floor: 4, imports: []string{"agent", "approvals", "cmd/codeagent/attach", "cmd/codeagent/cli", "cmd/codeagent/commands", "cmd/codeagent/conversation", "cmd/codeagent/doctor", "cmd/codeagent/instructions", "cmd/codeagent/providers", "cmd/codeagent/servers", "cmd/codeagent/sessionscmd", "cmd/codeagent/trycmd", "cmd/codeagent/workspace", "config", "config/server", "draft", "event", "exec", "hostfile", "internal/picture", "internal/short", "internal/visible", "model", "prompts", "sandbox", "session", "tools", "tui", "tui/attention", "tui/clipboard", "tui/fill", "tui/footer", "tui/home", "tui/keys", "tui/lists", "tui/memory", "tui/message", "tui/paint", "tui/palette", "tui/picker", "tui/rewind", "tui/settings", "tui/setup", "tui/templates", "tui/trying", "tui/undoing", "undo"}},
	{path: "cmd/codeagent/execcmd", floor: 4, imports: []string{"agent", "approvals/rules", "cmd/codeagent/attach", "cmd/codeagent/cli", "cmd/codeagent/conversation", "cmd/codeagent/sessionscmd", "cmd/codeagent/workspace", "config", "event", "exec", "gitrun", "headless", "hostfile", "internal/short", "mcp/inquiry", "model", "prompts", "sandbox"}},
	{path: "cmd/codeagent/acpcmd", floor: 4, imports: []string{"acp", "agent", "approvals", "cmd/codeagent/cli", "cmd/codeagent/commands", "cmd/codeagent/conversation", "cmd/codeagent/servers", "cmd/codeagent/sessionscmd", "cmd/codeagent/undocmd", "cmd/codeagent/workspace", "config", "config/server", "event", "hostfile", "internal/short", "internal/visible", "mcp/inquiry", "prompts", "session", "undo"}},
	// What the screen and an editor offer beside talking: written once, shown in two ways.
	{path: "cmd/codeagent/commands", floor: 4, imports: []string{"agent", "approvals", "approvals/ledger", "approvals/plain", "approvals/without", "cmd/codeagent/conversation", "cmd/codeagent/providers", "cmd/codeagent/servers", "cmd/codeagent/sessionscmd", "cmd/codeagent/undocmd", "cmd/codeagent/workspace", "event", "exec", "hostfile", "internal/short", "internal/visible", "prompts", "sandbox", "undo"}},
	{path: "cmd/codeagent/conversation", floor: 4, imports: []string{"agent", "answers", "approvals", "approvals/content", "approvals/ledger", "approvals/rules", "approvals/without", "cmd/codeagent/attach", "cmd/codeagent/cli", "cmd/codeagent/extensions", "cmd/codeagent/instructions", "cmd/codeagent/languages", "cmd/codeagent/providers", "cmd/codeagent/servers", "cmd/codeagent/sessionscmd", "cmd/codeagent/workspace", "config", "config/server", "draft", "egress", "event", "exec", "hooks", "hostfile", "internal/mask", "internal/short", "internal/visible", "mcp/inquiry", "model", "model/chat", "model/tour", "patterns", "prompts", "sandbox", "session", "telemetry", "tools", "undo"}},
	{path: "cmd/codeagent/helpcmd", floor: 4, imports: []string{"cmd/codeagent/cli", "cmd/codeagent/workspace", "docs", "hostfile", "tui/markdown", "tui/paint"}},
	// What a shell offers while a command line is typed.
	{path: "cmd/codeagent/completion", floor: 4, imports: []string{"cmd/codeagent/cli", "cmd/codeagent/sessionscmd", "cmd/codeagent/workspace", "config", "eventlog", "internal/visible"}},
	{path: "cmd/codeagent/permissionscmd", floor: 4, imports: []string{"approvals/ledger", "approvals/rules", "approvals/without", "cmd/codeagent/cli", "cmd/codeagent/workspace", "config", "internal/short", "internal/visible"}},
	{path: "cmd/codeagent/patternscmd", floor: 4, imports: []string{"cmd/codeagent/cli", "cmd/codeagent/workspace", "internal/short", "internal/visible", "patterns"}},
	{path: "cmd/codeagent/mcpcmd", floor: 4, imports: []string{"agent", "approvals", "approvals/plain", "cmd/codeagent/cli", "cmd/codeagent/conversation", "cmd/codeagent/sessionscmd", "cmd/codeagent/undocmd", "cmd/codeagent/workspace", "event", "exec", "internal/short", "internal/visible", "mcp/inquiry", "mcp/serve", "model", "sandbox", "tools", "undo"}},
	// What sandbox --learn and mcp learn share: the same question before, the same text after.
	{path: "cmd/codeagent/learning", floor: 4, imports: []string{"cmd/codeagent/cli", "cmd/codeagent/workspace", "hostfile", "internal/visible", "sandbox"}},
	// The commands about the servers that codeagent uses: they change settings, mcpcmd serves.
	{path: "cmd/codeagent/serverscmd", floor: 4, imports: []string{"approvals", "approvals/learn", "approvals/plain", "approvals/rules", "cmd/codeagent/cli", "cmd/codeagent/execcmd", "cmd/codeagent/extensions", "cmd/codeagent/learning", "cmd/codeagent/screen", "cmd/codeagent/servers", "cmd/codeagent/workspace", "config", "config/server", "event", "internal/mask", "internal/short", "internal/visible", "mcp/inquiry", "mcp/signin", "sandbox", "sandbox/named"}},
	// What the commands of codeagent share: its streams, its flags, its exit statuses.
	{path: "cmd/codeagent/rulescmd", floor: 4, imports: []string{"approvals", "approvals/ledger", "approvals/rules", "approvals/rules/foreign", "cmd/codeagent/cli", "cmd/codeagent/workspace", "config", "hostfile", "internal/short", "internal/visible"}},
	{path: "cmd/codeagent/doctor", floor: 4, imports: []string{"cmd/codeagent/cli", "cmd/codeagent/languages", "cmd/codeagent/providers", "cmd/codeagent/workspace", "config", "exec", "hostfile", "internal/short", "linuxsandbox", "sandbox"}},
	{path: "cmd/codeagent/sandboxcmd", floor: 4, imports: []string{"approvals", "approvals/learn", "approvals/plain", "cmd/codeagent/cli", "cmd/codeagent/learning", "cmd/codeagent/workspace", "config", "exec", "internal/short", "internal/visible", "sandbox"}},
	{path: "cmd/codeagent/sessionscmd", floor: 4, imports: []string{"cmd/codeagent/cli", "cmd/codeagent/workspace", "hostfile", "internal/short", "internal/visible", "session", "undo"}},
	{path: "cmd/codeagent/trycmd", floor: 4, imports: []string{"approvals/plain", "cmd/codeagent/cli", "cmd/codeagent/learning", "cmd/codeagent/workspace", "draft", "exec", "internal/short", "internal/visible", "model", "sandbox", "session", "tools", "undo"}},
	{path: "cmd/codeagent/undocmd", floor: 4, imports: []string{"cmd/codeagent/cli", "cmd/codeagent/sessionscmd", "cmd/codeagent/workspace", "config", "internal/short", "internal/visible", "model", "sandbox", "session", "undo"}},
	{path: "cmd/codeagent/attach", floor: 4, imports: []string{"agent", "cmd/codeagent/cli", "cmd/codeagent/workspace", "hostfile", "internal/picture", "internal/visible", "model"}},
	{path: "cmd/codeagent/instructions", floor: 4, imports: []string{"cmd/codeagent/workspace", "event", "hostfile", "prompts", "sandbox"}},
	// The MCP servers of a session: the one place where settings, sandbox, protocol and gate of a
	// server meet.
	{path: "cmd/codeagent/servers", floor: 4, imports: []string{"approvals", "approvals/content", "approvals/decide", "cmd/codeagent/cli", "cmd/codeagent/workspace", "config", "config/server", "event", "exec", "hostfile", "internal/short", "internal/visible", "mcp", "mcp/inquiry", "mcp/signin", "model", "sandbox", "tools", "undo"}},
	// The language servers of a session: where settings, sandbox and the client of each meet.
	{path: "cmd/codeagent/languages", floor: 4, imports: []string{"cmd/codeagent/servers", "cmd/codeagent/workspace", "config", "config/server", "diagnostics", "event", "exec", "hostfile", "sandbox"}},
	// Reads what the user and trusted projects add: hooks and skills.
	{path: "cmd/codeagent/extensions", floor: 4, imports: []string{"cmd/codeagent/workspace", "config", "config/server", "hooks", "hostfile", "internal/short", "sandbox", "sandbox/named", "skills"}},
	{path: "cmd/codeagent/providers", floor: 4, imports: []string{"agent", "cmd/codeagent/cli", "cmd/codeagent/workspace", "config", "event", "hostfile", "internal/visible", "model", "model/chat", "model/responses", "model/wire", "session"}},
	{path: "cmd/codeagent/workspace", floor: 4, imports: []string{"approvals", "approvals/ledger", "approvals/rules", "backends/bwrap", "backends/container", "backends/wasm", "cmd/codeagent/cli", "config", "draft", "eventlog", "exec", "exec/experiment", "exec/verdict", "exec/worker", "gitrun", "hooks", "hostfile", "internal/git", "internal/mask", "internal/short", "internal/visible", "linuxsandbox", "patterns", "sandbox", "sandbox/protect", "sandbox/resolved", "seatbelt"}},
	{path: "cmd/codeagent/cli", floor: 4, imports: []string{"eventlog", "hostfile", "internal/visible", "sandbox"}},
	{path: "cmd/codeagent-extra", floor: 4, imports: []string{"backends/wasm/module", "patterns/store"}},
	{path: "cmd/linux-sandbox-helper", floor: 4, imports: []string{"linuxsandbox/keeper"}},

	// Test support. It may do what tests may; what ships must not depend on it.
	{path: "sandbox/sandboxtest", support: true, imports: []string{"hostfile", "sandbox", "sandbox/protect/protecttest", "sandbox/resolved", "internal/fileworker", "internal/attack", "internal/golden", "internal/machine"}},
	// Calls that wait, for the tests of the broker's handlers.
	{path: "linuxsandbox/broker/notify/notifytest", support: true, imports: []string{"linuxsandbox/broker/notify", "linuxsandbox/filter"}},
	// Backends and scenes for the packages of tests that need the whole of linuxsandbox.
	{path: "linuxsandbox/backendtest", support: true, imports: []string{"internal/attack", "internal/machine", "linuxsandbox", "linuxsandbox/cgroup", "linuxsandbox/netns", "linuxsandbox/plan", "sandbox", "sandbox/named", "sandbox/resolved", "sandbox/sandboxtest"}},
	// Names of the table for tests that need some protected name.
	{path: "sandbox/protect/protecttest", support: true, imports: []string{"sandbox/protect"}},
	// Takes the suggestions that suites meet: codeagent must accept each, and each must help.
	{path: "config/configtest", support: true, imports: []string{"approvals", "config", "event", "sandbox", "sandbox/named"}},
	{path: "model/modeltest", support: true, imports: []string{"model", "internal/scripted", "internal/golden"}},
	// Programs that try to break out, built once and run under every backend.
	{path: "internal/attack", support: true, imports: []string{"sandbox", "internal/machine"}},
	// Other projects' tests, bare and in the sandbox; it builds both programs to run them.
	{path: "internal/compat", support: true, imports: []string{"internal/attack"}},
	{path: "internal/golden", support: true, imports: []string{"internal/machine"}},
	// An MCP server that wants a sign-in, and the authorization server for it.
	{path: "mcp/signin/signintest", support: true},
	// Hostile texts for the parts of the screen.
	{path: "tui/tuitest", support: true},
	// Somebody who presses keys at an overlay.
	{path: "tui/tuitest/overlaytest", support: true, imports: []string{"internal/golden", "tui/keys", "tui/paint", "tui/part"}},
	// What `make test` prints: reads `go test -json`, ships with nothing.
	{path: "internal/testsummary", support: true, imports: []string{"internal/machine"}},
	// What the machine cannot do, found by trying, and how much it can: one way for all tests.
	{path: "internal/machine", support: true},
}

// apart are rooms of one floor that not even tests may join.
var apart = []string{"agent", "tui", "headless", "acp"}

// door is an import that only some rooms may use. A prefix also covers what
// lies below it.
type door struct {
	prefix string
	rooms  []string
	reason string
}

var doors = []door{
	{"os/exec", []string{"seatbelt", "hostfile"}, "commands start in exec and linuxsandbox, by system calls of their own, or as sandbox-exec; hostfile starts codeagent's own programs"},
	{"net/http", []string{"model/wire", "egress", "internal/scripted", "mcp", "mcp/signin", "telemetry"}, "the wires, and egress for what codeagent fetches; the tool gets a Fetcher handed in; telemetry sends to the collector that OTEL_* names; mcp to the servers that the settings name by URL, mcp/signin to where they have a person sign in"},
	{"net", []string{"model/wire", "mcp/signin", "egress", "internal/scripted", "cmd/codeagent/doctor", "cmd/codeagent/workspace"}, "the same, where the answer to a sign-in arrives on loopback, doctor's probe, and the lookup of names for the session's network; addresses are parsed with net/netip"},
	{"charm.land/bubbletea", []string{"tui", "tui/keys", "tui/terminal"}, "one room draws; keys knows its key presses, terminal its views"},
	{"charm.land/bubbles", nil, "the screen's parts are its own"},
	{"charm.land/lipgloss", []string{"tui/paint"}, "colours come from one room"},
	{"golang.org/x/sys/unix", []string{"linuxsandbox", "linuxsandbox/broker", "linuxsandbox/broker/calls", "linuxsandbox/broker/evidence", "linuxsandbox/broker/judge", "linuxsandbox/broker/notify", "linuxsandbox/broker/pathwalk", "linuxsandbox/broker/processes", "linuxsandbox/broker/sockets", "linuxsandbox/broker/terminal", "linuxsandbox/broker/umask", "linuxsandbox/cgroup", "linuxsandbox/filter", "linuxsandbox/kernel", "linuxsandbox/plan", "linuxsandbox/spec", "linuxsandbox/netns", "draft", "exec", "hostfile", "undo", "tui/terminal", "linuxsandbox/control", "linuxsandbox/keeper", "linuxsandbox/program", "backends/wasm/module", "patterns/store"}, "system calls stay where they are reviewed; undo looks at entries of folders that commands change meanwhile, draft at the marks of overlayfs, tui/terminal whether a key waits"},
	{"github.com/landlock-lsm/go-landlock", []string{"linuxsandbox/keeper"}, "system calls stay where they are reviewed"},
	{"github.com/elastic/go-seccomp-bpf", nil, "our filters are checked against its tables by tests; it is not linked"},
	{"os/signal", []string{"cmd/codeagent", "cmd/codeagent/acpcmd", "cmd/codeagent/doctor", "cmd/codeagent/execcmd", "cmd/codeagent/mcpcmd", "cmd/codeagent/screen", "tui/terminal"}, "signals are the program's, not a library's; doctor tries to send one, screen waits for SIGCONT after Ctrl+Z, terminal for SIGWINCH, exec, acp and mcp take SIGPIPE"},
	{"html/template", nil, "it escapes prompts"},
	{"unsafe", []string{"linuxsandbox", "linuxsandbox/keeper", "linuxsandbox/broker/notify", "linuxsandbox/broker/sockets", "linuxsandbox/filter", "linuxsandbox/kernel", "linuxsandbox/netns", "linuxsandbox/control", "backends/wasm/module"}, "for system calls that x/sys/unix does not wrap; the memory of a module is mapped at an address"},
	{"C", nil, "both programs are built without cgo"},
}

// exactDoors are doors whose sub-packages are not behind them: net/netip,
// net/url and net/textproto only parse.
var exactDoors = map[string]bool{"net": true, "unsafe": true, "C": true}

// permitted names a file pattern that a rule lets through, and why. The pattern
// is a path.Match of the path from the root; a room's name covers the room.
type permitted struct{ pattern, reason string }

// wideners may call Policy.With and Policy.Plus.
var wideners = []permitted{
	{"approvals", "it mints permits: the only way a policy gets wider"},
	{"approvals/decide", "it decides under which policy an action would run; only the gate mints"},
	{"sandbox/resolved", "defines that of the resolved policy"},
	{"linuxsandbox/broker/broker.go", "adds the folders that a command has for itself, such as its shared memory"},
	{"backends/wasm/wasm.go", "lets the side program read its own program and compiled modules"},
	{"seatbelt/backend.go", "lets the file worker read its own program"},
	{"linuxsandbox/broker/judge/grant.go", "takes up what a Holder granted to a command that runs; it builds no grant. It asks what would stay protected where everything is a root; no command gets that policy"},
	{"sandbox", "defines it"},
}

// granters may build a Grant that is not empty.
var granters = []permitted{
	{"approvals", "it mints permits"},
	{"approvals/decide", "it makes a wish exact"},
	{"approvals/ask", "a question shows what a yes would grant"},
	{"approvals/ledger", "an entry says what a setting opens"},
	{"approvals/learn", "grants everything to a command that the user starts to find out what it needs"},
	{"sandbox", "defines it"},
}

// starters may say `go`, or Group.Go.
var starters = []permitted{
	{"cmd/codeagent/signals.go", "the signal watcher"},
	{"config/git.go", "lists many folders at the same time, all joined before it returns"},
	{"cmd/codeagent/conversation", "the sweep of what was kept to be undone"},
	{"cmd/codeagent/sandboxcmd", "the copier of the command's stderr, ended with the command"},
	{"cmd/codeagent/screen/lines.go", "the reader of typed lines, which ends with the input"},
	{"cmd/codeagent/acpcmd", "what is looked up beside the start of a session, ended with it"},
	{"cmd/codeagent/servers", "the starts of the servers and who follows each to its end, ended by Close; who waits for all starts, which have time limits"},
	{"cmd/codeagent/languages", "the ends of the servers, joined by Close"},
	{"diagnostics", "the rounds of a server, one after another, joined by Close"},
	{"cmd/codeagent/providers", "the lists of models of several providers, each ended by its time limit"},
	{"cmd/codeagent/workspace", "what git trusts while a session starts, the sweep of old temporary folders, who waits for the side program that folds"},
	{"exec", "output copiers and the waiter, joined before Run returns; jobs"},
	{"exec/worker", "a search that its caller may leave"},
	{"gitrun/history.go", "the writer of what git reads, ended with it"},
	{"hostfile", "a read that its caller may leave"},
	{"linuxsandbox/broker/sockets", "one for each connection that is not ready, joined before the broker ends; what is asked with other capabilities"},
	{"linuxsandbox/netns", "what the name service and the relay serve, and each stream and lookup"},
	{"linuxsandbox/broker", "a thread for each running command, ended by Stop; one for each held question, ended with the command; the probe"},
	{"linuxsandbox/broker/judge", "a question to the history, joined before the answer"},
	{"linuxsandbox", "the follower of each command; the copy of the helper, and the first keeper that is started ahead"},
	{"linuxsandbox/plan/globs.go", "a search for the files that a policy's globs match, which ends with the session"},
	{"linuxsandbox/keeper", "the thread that is confined and starts the command, short calls on a thread without the filter, and the sweep where no domain holds the command"},
	{"acp", "the reader of the editor's messages, the writer, one for each request; joined before Serve returns, but for a reader or writer that the editor blocks"},
	{"agent/batch.go", "parallel tool calls, an errgroup"},
	{"agent/ahead.go", "what runs ahead of an answer, an errgroup joined when the answer has ended"},
	{"agent/delegate.go", "the helpers of a call, an errgroup joined before the call ends"},
	{"tui/terminal", "the painter, the watcher of the size and the decoder, joined by Close; the reader, which ends with its file"},
	{"mcp/serve", "the reader and the writer of the client's pipes, a call that goes on between two requests, its progress; all but the reader of stdin end before Run returns"},
	{"mcp", "the reader and the writer of a server's pipes, and what reads a changed list, ended by Close"},
	{"mcp/signin", "the server of one answer on loopback, ended with the sign-in"},
	{"telemetry", "the sender, ended by Close within two seconds"},
	{"internal/scripted", "the accept loop of the scripted server, ended by Close"},
}

// wiring is the folder of package main. It declares the commands and joins packages: it is
// short, and it calls no function that judges.
const (
	wiring     = "cmd/codeagent"
	wiringMost = 200 // lines a file
)

// judges are the functions that decide what may run or be touched, by name.
var judges = []string{"With", "Judge*", "Decide*", "Settle*"}

// exiters may end the process.
var exiters = []permitted{
	{"cmd/codeagent/main.go", "func main"},
	{"cmd/linux-sandbox-helper/main.go", "func main"},
	{"cmd/codeagent-extra/main.go", "func main"},
}

// slow are packages that cost milliseconds at every start, or ask the terminal
// something from an init.
var slow = []door{
	{prefix: "github.com/alecthomas/chroma/v2/lexers", reason: "parses 300 lexers in init: 9 ms"},
	{prefix: "github.com/alecthomas/chroma/v2/styles", reason: "parses all styles in init"},
	{prefix: "github.com/charmbracelet/glamour", reason: "12 ms in init"},
	{prefix: "charm.land/glamour", reason: "12 ms in init"},
	{prefix: "github.com/charmbracelet/bubbletea", reason: "version 1 queries the terminal in init"},
	{prefix: "github.com/charmbracelet/lipgloss", reason: "version 1 does not build beside version 2"},
	{prefix: "github.com/charmbracelet/bubbles", reason: "version 1 brings bubbletea 1"},
	{prefix: "github.com/openai/openai-go", reason: "18 MB"},
}

// large is what only codeagent-extra may link.
var large = []door{
	{prefix: "github.com/tetratelabs/wazero", reason: "5 MB"},
	{prefix: "modernc.org/sqlite", reason: "5 MB, and 1.5 ms at every start"},
}

// helperRooms are all rooms that the helper links: what is in them runs before a
// command's first instruction, and is reviewed for that.
var helperRooms = []string{
	helperProgram, "internal/fileworker", "internal/git/dotgit", "sandbox", "sandbox/protect",
	"linuxsandbox/control", "linuxsandbox/filter", "linuxsandbox/keeper", "linuxsandbox/kernel", "linuxsandbox/spec",
}

const helperProgram = "cmd/linux-sandbox-helper"

// helperFree is what the helper must not be able to do: speak to a network.
var helperFree = []door{
	{prefix: "net/http", reason: "the helper cannot speak to a network"},
	{prefix: "net", reason: "the helper cannot speak to a network"},
	{prefix: "crypto/tls", reason: "the helper cannot speak to a network"},
}

// pins are versions that must stand in go.mod exactly.
var pins = []struct{ module, version, reason string }{
	{"github.com/mattn/go-runewidth", "v0.0.31", "v0.0.26 and v0.0.27 build tables in init: 18 ms at every start"},
	{"github.com/charmbracelet/ultraviolet", "v0.0.0-20260910203606-6c9e17dc7a16", "the default pick leaves stale rows on the screen"},
	{"github.com/elastic/go-seccomp-bpf", "v1.6.0", "the version whose traps are tested for"},
	{"github.com/landlock-lsm/go-landlock", "v0.11.0", "the version whose traps are tested for"},
}

func TestHouse(t *testing.T) {
	h, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range h.check() {
		t.Error(v)
	}
}

func TestPins(t *testing.T) {
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range checkPins(string(data)) {
		t.Error(v)
	}
}

// TestDependencies looks at everything the programs link, for each system.
func TestDependencies(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		for _, c := range []struct {
			program string
			never   []door
		}{{"cmd/codeagent", append(large, slow...)}, {"cmd/linux-sandbox-helper", append(append(helperFree, large...), slow...)}, {"cmd/codeagent-extra", slow}} {
			if goos == "darwin" && c.program == "cmd/linux-sandbox-helper" {
				continue
			}
			if _, err := os.Stat(filepath.FromSlash(c.program)); err != nil {
				continue
			}
			deps, err := dependencies(goos, "./"+c.program)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range checkDependencies(c.program, deps, c.never) {
				t.Errorf("GOOS=%s: %s", goos, v)
			}
		}
	}
}

// TestTables: a line for a room that no rule can reach, or twice, is a mistake.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rooms {
		if seen[r.path] {
			t.Errorf("room %s has two lines", r.path)
		}
		seen[r.path] = true
	}
	for _, r := range rooms {
		for _, imp := range r.imports {
			if !seen[imp] {
				t.Errorf("room %s may import %s, which has no line", r.path, imp)
			}
		}
	}
	for _, list := range [][]permitted{wideners, granters, starters, exiters} {
		for _, p := range list {
			if p.reason == "" {
				t.Errorf("%s is let through without a reason", p.pattern)
			}
			if _, ok := roomOf(strings.TrimSuffix(p.pattern, "/"+filepath.Base(p.pattern))); !ok && !seen[p.pattern] {
				t.Errorf("%s lies in no room", p.pattern)
			}
		}
	}
	for _, d := range append(doors, slow...) {
		if d.reason == "" {
			t.Errorf("door %s has no reason", d.prefix)
		}
	}
}
