package protect

// Kind says what sort of program runs or trusts a protected entry.
type Kind string

const (
	VersionControl Kind = "version control"
	Agent          Kind = "agent"
	Editor         Kind = "editor"
	Shell          Kind = "shell or environment manager"
	// User is the kind of names and paths that settings add.
	User Kind = "named in the settings"
)

// Row is one protected name.
type Row struct {
	// Name is relative, with slashes, and already folded. Everything below it is protected too.
	Name string
	Kind Kind
	// Reason is a sentence without its end: which program runs what, and when.
	Reason string
}

// rows is what programs run, or take programs from, when a person merely opens, enters or lists a
// folder. What a person starts knowingly (a build, tests, a debugger) is not in it. Names below
// .git are those of every git directory, whatever it is called.
var rows = []Row{
	{".git/config", VersionControl, "git runs the programs that it names, and on Linux a yes lets no new one in"},
	{".git/config.worktree", VersionControl, "git runs the programs that it names, and on Linux a yes lets no new one in"},
	{".git/hooks", VersionControl, "git runs the programs in it"},
	{".git/commondir", VersionControl, "git takes hooks and settings from where it leads"},
	{".git/gitdir", VersionControl, "git takes a work tree to be where it says"},
	{".git/remotes", VersionControl, "git takes addresses from it, and runs the hooks of a repository there"},
	{".git/branches", VersionControl, "git takes addresses from it, and runs the hooks of a repository there"},
	{".hg/hgrc", VersionControl, "Mercurial runs the hooks and extensions that it names"},
	{".hg/hgrc-not-shared", VersionControl, "Mercurial runs the hooks and extensions that it names"},
	{".hg/sharedpath", VersionControl, "Mercurial takes settings from where it leads"},
	{".sl/config", VersionControl, "Sapling runs the hooks and extensions that it names"},
	{".sl/sharedpath", VersionControl, "Sapling takes settings from where it leads"},
	{".jj/repo/config.toml", VersionControl, "Jujutsu runs the programs that it names"},
	{".jj/repo/config-id", VersionControl, "Jujutsu takes the settings that it chooses"},
	{".jj/workspace-config.toml", VersionControl, "Jujutsu runs the programs that it names"},
	{".jj/workspace-config-id", VersionControl, "Jujutsu takes the settings that it chooses"},

	{".codeagent", Agent, "codeagent takes settings, skills and commands from it"},
	{".claude", Agent, "Claude Code runs the hooks and servers that it names"},
	{".mcp.json", Agent, "agents start the servers that it names"},
	{".cursor", Agent, "Cursor runs the hooks and servers that it names"},
	{".codex", Agent, "Codex runs the servers and programs that it names"},
	{".gemini", Agent, "Gemini CLI runs the servers and programs that it names"},
	{".qwen", Agent, "Qwen Code runs the servers and programs that it names"},
	{".agents", Agent, "agents take skills, with their scripts, from it"},
	{"opencode.json", Agent, "opencode starts the servers that it names"},
	{"opencode.jsonc", Agent, "opencode starts the servers that it names"},
	{".opencode", Agent, "opencode runs the plugins and tools in it"},
	{"crush.json", Agent, "Crush starts the servers that it names"},
	{".crush.json", Agent, "Crush starts the servers that it names"},
	{".kiro", Agent, "Kiro runs the hooks and servers that it names"},
	{".amazonq", Agent, "Amazon Q runs the hooks and servers that it names"},
	{".github/hooks", Agent, "Copilot runs the hooks that it names"},
	{".github/mcp.json", Agent, "Copilot starts the servers that it names"},
	{".roo", Agent, "Roo Code starts the servers that it names"},
	{".kilocode", Agent, "Kilo Code starts the servers that it names"},
	{".clinerules", Agent, "Cline runs the hooks in it"},
	{".windsurf", Agent, "Windsurf runs the hooks that it names"},
	{".continue", Agent, "Continue starts the servers that it names"},
	{".aider.conf.yml", Agent, "Aider runs the programs that it names"},
	{".amp", Agent, "Amp starts the servers that it names"},
	{".factory", Agent, "Droid runs the hooks and servers that it names"},
	{".augment", Agent, "Augment runs the hooks that it names"},
	{".junie", Agent, "Junie starts the servers that it names"},
	{".pi", Agent, "Pi runs the extensions in it"},

	{".vscode/tasks.json", Editor, "VS Code can run its tasks when the folder is opened"},
	{".vscode/settings.json", Editor, "VS Code and its extensions run the programs that it names"},
	{".vscode/mcp.json", Editor, "VS Code starts the servers that it names"},
	{".idea", Editor, "JetBrains editors run the tools that it names"},
	{".zed/settings.json", Editor, "Zed starts the servers that it names"},
	{".devcontainer", Editor, "editors run its commands when they open the folder"},
	{".devcontainer.json", Editor, "editors run its commands when they open the folder"},
	{".helix/languages.toml", Editor, "Helix starts the servers that it names"},
	{".vim/coc-settings.json", Editor, "coc.nvim starts the servers that it names"},
	{".nvim.lua", Editor, "Neovim can run it when it starts in the folder"},
	{".nvimrc", Editor, "Neovim can run it when it starts in the folder"},
	{".exrc", Editor, "Vim can run it when it starts in the folder"},
	{".vimrc", Editor, "Vim can run it when it starts in the folder"},
	{".dir-locals.el", Editor, "Emacs can evaluate it when it opens a file of the folder"},
	{".dir-locals-2.el", Editor, "Emacs can evaluate it when it opens a file of the folder"},
	{"rust-analyzer.toml", Editor, "rust-analyzer runs the commands that it names"},
	{".renviron", Editor, "R and RStudio take variables, and with them programs, from it"},
	{".rprofile", Editor, "R and RStudio run it when they start in the folder"},

	{".envrc", Shell, "direnv runs it when a person enters the folder"},
	{".direnv", Shell, "direnv takes programs and variables from it"},
	{".autoenv", Shell, "autoenv runs it when a person enters the folder"},
	{".autoenv.zsh", Shell, "autoenv runs it when a person enters the folder"},
	{".shadowenv.d", Shell, "shadowenv runs it when a person enters the folder"},
	{"mise.toml", Shell, "mise takes programs and variables from where it says"},
	{".mise.toml", Shell, "mise takes programs and variables from where it says"},
	{"mise.local.toml", Shell, "mise takes programs and variables from where it says"},
	{".mise.local.toml", Shell, "mise takes programs and variables from where it says"},
	{"mise/config.toml", Shell, "mise takes programs and variables from where it says"},
	{".mise", Shell, "mise takes programs and variables from where it says"},
	{".config/mise", Shell, "mise takes programs and variables from where it says"},
	{".config/mise.toml", Shell, "mise takes programs and variables from where it says"},
	{"rust-toolchain.toml", Shell, "rustup runs the compiler that it names, also for a prompt or an editor"},
	{"rust-toolchain", Shell, "rustup runs the compiler that it names, also for a prompt or an editor"},
	{".cargo/config", Shell, "cargo runs the programs that it names, also for an editor"},
	{".cargo/config.toml", Shell, "cargo runs the programs that it names, also for an editor"},
	{".tool-versions", Shell, "asdf and mise take programs from where it says"},
}
