//go:build linux

package linuxsandbox

import "slices"

// wantRows is how many rows each setting has, so that none goes missing.
var wantRows = map[string]int{
	"root":                282,
	"user":                280,
	"root, no namespaces": 280,
	"user, no namespaces": 280,
	"root in a container": 282,
	"user in a container": 280,
}

// notHeld names the rows that are not held yet in each setting. Each of them is
// covered by the Weakness that its row names, and Enforcement must state it. A
// row that is held fails until it is taken out here, and that is all it takes:
// where a setting holds what others do not, write its own list.
var notHeld = map[string][]string{
	"root":                slices.Concat(absentRows, globRows),
	"user":                slices.Concat(absentRows, globRows),
	"root, no namespaces": slices.Concat(mountRows, absentRows, globRows),
	"user, no namespaces": slices.Concat(mountRows, absentRows, globRows),
	"root in a container": slices.Concat(mountRows, absentRows, globRows),
	"user in a container": slices.Concat(mountRows, absentRows, globRows),
}

// mountRows are the rows of the Weakness "protected" that mounts hold.
var mountRows = []string{
	"git: write config",
	"git: append to config",
	"git: empty config",
	"git: unlink config",
	"git: replace config",
	"git: exchange config",
	"git: config through a symlink",
	"git: config through a symlinked folder",
	"git: config through /proc/self/cwd",
	"git: config through a new hard link",
	"git: a symlink in place of config",
	"git: a hook",
	"git: a hook moved into place",
	"git: another folder of hooks",
	"git: hooks exchanged",
	"git: its folder moved, another made",
	"git: its folder exchanged",
	"git: a hook of a nested repository",
	"git: config of a nested repository",
	"git: the ancestor of a nested repository moved",
	"git: config of a module",
	"git: a hook of a module",
	"git: commondir of a worktree",
	"git: gitdir of a worktree",
	"git: a .git file pointed elsewhere",
	"git: a .git file replaced by a folder",
	"git config itself",
	"absent at the start: .codeagent/hooks.toml",
	".envrc",
	".envrc replaced",
	".codeagent: a setting",
	".codeagent: its folder moved, another made",
	".codeagent: a symlink in its place",
	"a folder moved to a protected name",
	"race: an ancestor of hooks renamed during a write",
	"after the host's atomic save of a hook",
}

// absentRows are what mounts leave of that Weakness: a mount holds what is there
// when the command starts, by its own name.
var absentRows = []string{
	// The kernel takes a mount away when the host renames over what is under it.
	"after the host's git config",
	"after the host's atomic save",
	"after the host's new folder of hooks",
	"git: config.worktree that was absent",
	"git: commondir that was absent",
	"git: commondir as a symlink",
	"git: gitdir that was absent",
	"absent at the start: .claude/settings.json",
	"absent at the start: .cursor/mcp.json",
	"absent at the start: .codex/config.toml",
	"absent at the start: .gemini/settings.json",
	"absent at the start: .agents/hooks",
	"absent at the start: .mcp.json",
	"absent at the start: .vscode/tasks.json",
	"absent at the start: .vscode/settings.json",
	"absent at the start: .idea/workspace.xml",
	"absent at the start: deep/below/.envrc",
	"absent at the start: sub/.mcp.json",
	".vscode as a symlink to a folder with tasks",
}

// globRows are the rows of the Weakness "deny-read-glob".
var globRows = []string{
	"deny-read: glob, by its name",
	"deny-read: glob, through a symlink",
	"deny-read: glob, through a new hard link",
	"deny-read: glob, renamed",
	"deny-read: glob, its folder renamed",
}
