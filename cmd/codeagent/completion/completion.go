// Package completion offers a shell the values of arguments and flags: sessions, models,
// profiles, modes. It reads codeagent's settings and sessions, starts no sandbox and reaches
// no network. Start with Add.
package completion

import (
	"context"
	"maps"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/eventlog"
	"codeagent/internal/visible"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fromSessions are the commands whose arguments name sessions.
var fromSessions = []string{"resume", "fork", "exec resume", "exec fork", "sessions show", "sessions rename", "sessions delete", "sessions export", "undo"}

// ofServers are the commands whose argument names an MCP server of the settings.
var ofServers = []string{"mcp remove", "mcp test", "mcp learn", "mcp login", "mcp logout"}

const noFile = cobra.ShellCompDirectiveNoFileComp

// Add makes root and the commands below it offer values.
func Add(root *cobra.Command, s cli.Stdio, f *cli.Flags) {
	sessions := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		known, err := sessionscmd.Known(s, *f)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return known, noFile
	}
	flags := map[string]cobra.CompletionFunc{
		"session": sessions,
		"model": func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			c, err := settings(cmd.Context(), s, *f)
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return lines(c.KnownModels(s.Env)), noFile | cobra.ShellCompDirectiveNoSpace
		},
		"profile": func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			c, err := settings(cmd.Context(), s, *f)
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return lines(c.Profiles()), noFile
		},
		"config":           setting,
		"sandbox":          one(values("sandbox.mode")...),
		"ask-for-approval": one(values("ask_for_approval")...),
		"log-level":        one(eventlog.Levels()...),
		"color":            one("auto", "always", "never"),
		"on-refused":       one("continue", "stop"),
		"decision":         one("allow", "ask", "forbid"),
		"workspace":        one("read", "write", "none"),
		"cd":               folders, "add-dir": folders,
	}
	servers := func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := settings(cmd.Context(), s, *f)
		if err != nil || len(args) > 0 {
			return nil, noFile
		}
		return slices.Sorted(maps.Keys(c.MCP.Servers)), noFile
	}
	walk(root, func(cmd *cobra.Command) {
		if slices.Contains(ofServers, strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")) {
			cmd.ValidArgsFunction = servers
		}
		if path := strings.TrimPrefix(cmd.CommandPath(), root.Name()+" "); slices.Contains(fromSessions, path) {
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 && path != "sessions delete" {
					return nil, noFile
				}
				return sessions(cmd, args, part)
			}
		}
		local := func(flag *pflag.Flag) {
			if offer, ok := flags[flag.Name]; ok && flag.Value.Type() != "bool" {
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, offer) // fails only for a flag that has one
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(local)
		cmd.PersistentFlags().VisitAll(local)
	})
}

func walk(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, do)
	}
}

// settings returns the settings without a profile: a wrong one must not hide the others.
func settings(ctx context.Context, s cli.Stdio, f cli.Flags) (config.Config, error) {
	f.Profile = ""
	return workspace.Settings(ctx, s, f)
}

// one offers a few fixed values.
func one(values ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return values, noFile }
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// setting offers the keys of settings, and after the "=" the values.
func setting(_ *cobra.Command, _ []string, part string) ([]string, cobra.ShellCompDirective) {
	return config.Completions(part), noFile | cobra.ShellCompDirectiveNoSpace
}

// values returns the values of a setting that has a few.
func values(key string) []string {
	var out []string
	for _, c := range config.Completions(key + "=") {
		out = append(out, strings.TrimPrefix(c, key+"="))
	}
	return out
}

// lines makes names from a file safe to show.
func lines(names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, visible.Line(n))
	}
	return out
}
