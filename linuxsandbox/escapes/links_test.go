//go:build linux

package escapes

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/config"
	runner "codeagent/exec"
	"codeagent/internal/machine"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"

	"golang.org/x/sys/unix"
)

// answerRow is data: a way to a protected entry other than by its name. Both scripts run in bash, in
// the row's folder of the workspace: first by the owner, before, who makes what is there, then by
// the command. Words of protecttest stand for names.
type answerRow struct{ name, escape, watch, before, script string }

const (
	evil = "echo evil "
	// These stand for what sandbox.protected names: by name, and by path in a row's folder.
	ownedName, ownedPath = "named.conf", "pathed.conf"
)

var answerRows = []answerRow{
	// The owner's git holds the lock: what is written into it is in force after the rename.
	{"lock: written", "E26", ".git/config.lock", "cp .git/config .git/config.lock", evil + ">> .git/config.lock"},
	{"lock: written through a descriptor after the rename", "E26", ".git/config", "cp .git/config .git/config.lock", "exec 9>>.git/config.lock; mv .git/config.lock .git/config; " + evil + ">&9"},
	{"lock: made", "E26", ".git/config.lock", "", evil + "> .git/config.lock"},
	{"lock: linked", "E26", ".git/config.lock", "cp .git/config .git/config.lock", "ln .git/config.lock l; " + evil + ">> l"},
	{"lock: renamed from", "E26", ".git/config.lock", "cp .git/config .git/config.lock", "mv .git/config.lock .git/x"},
	{"lock: renamed onto", "E26", ".git/config.lock", "cp .git/config .git/config.lock", "mv mine .git/config.lock"},
	{"lock: a link", "E26", ".git/config.lock", "", "ln -s ../mine .git/config.lock"},
	{"lock: removed", "E26", ".git/config.lock", "cp .git/config .git/config.lock", "rm .git/config.lock"},
	{"lock: of a module", "E26", ".git/modules/m/config.lock", "", evil + "> .git/modules/m/config.lock"},
	{"lock: of an agent's", "E29", "{agent2}.lock", "echo {} > {agent2}", evil + "> {agent2}.lock"},

	{"link: its target written", "E29", "cfg/mcp.json", mcpLink, evil + "> cfg/mcp.json"},
	{"link: its target replaced", "E29", "cfg/mcp.json", mcpLink, evil + "> e; mv e cfg/mcp.json"},
	{"link: its target moved away", "E29", "cfg/mcp.json", mcpLink, "mv cfg/mcp.json cfg/x; mv mine cfg/mcp.json"},
	{"link: its target linked", "E29", "cfg/mcp.json", mcpLink, "ln cfg/mcp.json l; " + evil + ">> l"},
	{"link: its target emptied", "E29", "cfg/mcp.json", mcpLink, "truncate -s 0 cfg/mcp.json"},
	{"link: its target's lock made", "E29", "cfg/mcp.json.lock", mcpLink, evil + "> cfg/mcp.json.lock"},
	{"link: the folder of its target moved", "E29", "cfg", mcpLink, "mv cfg x; mkdir cfg; " + evil + "> cfg/mcp.json"},
	{"link: another spelling of its target", "E29", "cfg/MCP.json", mcpLink, evil + "> cfg/MCP.json"},
	{"link: replaced", "E29", "{agent2}", mcpLink, "ln -s mine e; mv e {agent2}"},
	{"link: a link on its way replaced", "E29", "b", "mkdir cfg; echo {} > cfg/mcp.json; ln -s cfg b; ln -s b/mcp.json {agent2}", "mkdir e; " + evil + "> e/mcp.json; ln -sfn e b"},
	{"link: its target that was absent", "E29", "cfg/mcp.json", "mkdir cfg; ln -s cfg/mcp.json {agent2}", evil + "> cfg/mcp.json"},
	{"link: a file in the folder of an agent", "E29", "tooling/claude", claudeLink, evil + "> tooling/claude/settings.json"},
	{"link: what a link in the folder of an agent leads to", "E29", "scripts", claudeLink + "; mkdir scripts; echo x > scripts/h.sh; ln -s ../../scripts/h.sh tooling/claude/h.sh", evil + "> scripts/h.sh"},
	{"link: the folder above that of an agent moved", "E29", "tooling", claudeLink, "mv tooling x; mkdir -p tooling/claude; " + evil + "> tooling/claude/settings.json"},
	{"link: a folder on the way to a name", "E28", "conf/vscode/{/editor}", "mkdir -p conf/vscode; ln -s conf/vscode {editor/}", evil + "> conf/vscode/{/editor}"},
	{"link: a hook", "E25", "tools/hook.sh", "mkdir tools; echo true > tools/hook.sh; ln -s ../../tools/hook.sh .git/hooks/post-commit", evil + "> tools/hook.sh"},
	{"link: the folder of hooks of a module", "E25", "tools", "mkdir tools; rm -r .git/modules/m/hooks; ln -s ../../../tools .git/modules/m/hooks", evil + "> tools/post-checkout"},
	{"link: of a path in the settings, its target", "E28", "cfg/own", ownLink + ownedPath, evil + "> cfg/own"},
	{"link: of a path in the settings, the link", "E28", ownedPath, ownLink + ownedPath, "ln -sfn mine " + ownedPath},
	{"link: of a name in the settings, its target", "E28", "cfg/own", ownLink + ownedName, evil + "> cfg/own"},
	{"link: of a name in the settings, the link", "E28", ownedName, ownLink + ownedName, "ln -sfn mine " + ownedName},

	{"name: of a repository", "E28", "{repository/}", "mkdir -p {repository/}/store", evil + "> {repository}"},
	{"name: a repository moved into place", "E28", "{repository/}", "", "mkdir e; " + evil + "> e/{/repository}; mv e {repository/}"},

	{"spelling: capitals, of a folder", "E29", "{AGENT2}", "", "mkdir {AGENT2}; " + evil + "> {AGENT2}/settings.json"},
	{"spelling: capitals, of a file", "E29", "{AGENT2}", "", evil + "> {AGENT2}"},
	{"spelling: .g and an invisible character and it", "E25", ".g\u200cit/hooks", "cp -r .git .g\u200cit", evil + "> .g\u200cit/hooks/pre-commit"},
	{"spelling: .git/hooKs with the Kelvin sign", "E25", ".git/hoo\u212as", "", "mkdir .git/hoo\u212as; " + evil + "> .git/hoo\u212as/pre-commit"},
	{"spelling: .git/conﬁg with a ligature", "E26", ".git/con\ufb01g", "", evil + "> .git/con\ufb01g"},
	{"spelling: a dot at its end", "E28", "{shell}.", "", evil + "> {shell}."},
	{"spelling: another lock", "E26", ".git/CONFIG.Lock", "", evil + "> .git/CONFIG.Lock"},
}

const (
	mcpLink    = "mkdir cfg; echo {} > cfg/mcp.json; ln -s cfg/mcp.json {agent2}"
	claudeLink = "mkdir -p tooling/claude; ln -s tooling/claude {agent2}"
	ownLink    = "mkdir cfg; echo 1 > cfg/own; ln -s cfg/own "
)

// answerEscapes are the rows of answerRows, and those on a file system that takes several names for
// one entry.
func answerEscapes() (rows []attempt) {
	of := slices.Clone(answerRows)
	for word, escape := range map[string]string{"{agent}": "E29", "{editor}": "E28", "{shell}": "E28"} {
		name := protecttest.In("names/" + word) // not what repository makes
		dir := "mkdir -p " + filepath.Dir(name) + "; "
		of = append(of,
			answerRow{"name: " + name, escape, name, dir, evil + "> " + name},
			answerRow{"name: " + name + " by a hard link", escape, name, dir, evil + "> e; ln e " + name},
			answerRow{"name: " + name + " as a folder moved", escape, name, dir, "mkdir e; " + evil + "> e/x; mv -T e " + name})
	}
	for _, r := range of {
		a := protected("protected: "+r.name, r.escape, r.watch, scripted(r.script))
		a.before = func(h *host, p place) {
			repository(h, p)
			h.script(p.in, r.before)
			h.leads(p.in)
		}
		rows = append(rows, a)
	}
	agent := protecttest.In("{agent}")
	for name, r := range map[string]answerRow{
		"a hook":     {"", "E25", "folds/.git/hooks", "mkdir -p folds/.git/hooks folds/.git/objects; echo x > folds/.git/HEAD", evil + "> folds/.GIT/hoo\u212as/pre-commit"},
		"an agent's": {"", "E29", "folds/" + agent, "mkdir folds/" + agent, evil + "> folds/" + agent[:2] + "\u200c" + strings.ToUpper(agent[2:]) + "/settings.json"},
		"a link's":   {"", "E29", "folds/mcp.json", "echo {} > folds/mcp.json; ln -s folds/mcp.json {agent2}", evil + "> folds/MCP.json"},
		"a lock":     {"", "E26", "folds/.git/config.lock", "mkdir -p folds/.git/objects; echo x > folds/.git/HEAD; echo > folds/.git/config.lock", evil + ">> folds/.git/Con\ufb01g.LOCK"},
	} {
		a := protected("protected: on a file system that folds names: "+name, r.escape, r.watch, scripted(r.script))
		a.trial = folding
		a.before = func(h *host, p place) {
			repository(h, p)
			if err := mountFolding(h.t, p.in); err != nil {
				h.t.Fatal(err)
			}
			h.script(p.in, r.before)
			h.leads(p.in)
		}
		rows = append(rows, a)
	}
	slices.SortFunc(rows, func(a, b attempt) int { return strings.Compare(a.name, b.name) })
	return rows
}

// scripted runs a script in the folder of the row.
func scripted(script string) func(p place) error {
	return func(p place) error {
		cmd := exec.Command("/bin/bash", "-euc", protecttest.In(script))
		cmd.Dir = p.in
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
}

func (h *host) script(dir, script string) {
	h.t.Helper()
	if err := scripted(script)(place{in: dir}); err != nil {
		h.t.Fatal(err)
	}
}

// leads finds what the protected names in the repository dir lead to, as at the start of a session,
// and adds it to the policy.
func (h *host) leads(dir string) {
	h.t.Helper()
	_, links := config.GitTrees(h.t.Context(), runner.OS{}, []string{dir}, append(protect.Names(), ownedName))
	way, err := sandbox.Way(runner.OS{}, dir, ownedPath)
	if err != nil {
		h.t.Fatal(err)
	}
	h.trusted[dir] = append(slices.Sorted(maps.Keys(links)), way...)
}

// folding tries to mount a file system that folds names. It takes root, and a kernel with the tables
// of Unicode.
var folding = machine.Trial{What: "a file system that folds names", Do: func(t testing.TB) error {
	dir := t.TempDir()
	if err := mountFolding(t, dir); err != nil {
		return err
	}
	return unix.Unmount(filepath.Join(dir, "folds"), unix.MNT_DETACH)
}}

// mountFolding mounts one at dir/folds until the test ends.
func mountFolding(t testing.TB, dir string) error {
	at, image := filepath.Join(dir, "folds"), filepath.Join(t.TempDir(), "image")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{
		{"truncate", "-s", "16M", image}, {"mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8", image},
		{"mount", "-o", "loop", image, at}, {"rmdir", at + "/lost+found"}, {"chattr", "+F", at},
	} {
		out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
		if err != nil {
			_ = unix.Unmount(at, unix.MNT_DETACH)
			return fmt.Errorf("%s: %w: %.200s", line[0], err, out)
		}
		if line[0] == "mount" {
			t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
		}
	}
	return nil
}
