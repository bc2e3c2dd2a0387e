package serverscmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/config/server"
	"codeagent/internal/mask"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"

	"github.com/spf13/cobra"
)

// addFlags are the flags of add.
type addFlags struct {
	settings     server.Settings
	env, headers []string
}

func newAdd(s cli.Stdio) *cobra.Command {
	var a addFlags
	cmd := &cobra.Command{
		Use:   "add NAME [flags] -- COMMAND [ARG]... | add NAME --url URL [flags]",
		Short: "Add an MCP server to the settings",
		Long: "add writes a table [mcp.servers.NAME] to config.toml. codeagent starts COMMAND in the sandbox, where it\n" +
			"may read the workspace and write a folder of its own; the flags open more, and the file has settings for\n" +
			"tools and time limits. With --url the server runs\n" +
			"elsewhere, and what it does is not in the sandbox.\n\n" +
			"Keys do not stand in the file: put one in an environment variable and name that, in single quotes:\n" +
			"--env 'API_TOKEN=$API_TOKEN', --header 'Authorization: Bearer $API_TOKEN'. $$ is a dollar.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				a.settings.Command, a.settings.Args = args[1], args[2:]
			}
			return add(cmd.Context(), s, args[0], a)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usage(err, "put -- in front of the server's own command: codeagent mcp add NAME -- COMMAND --its-flag", "see codeagent mcp add --help")
	})
	fl, box := cmd.Flags(), &a.settings.Sandbox
	fl.StringArrayVar(&a.env, "env", nil, "a variable for the server, as NAME=VALUE; '$OTHER' in VALUE stands for a variable of yours")
	fl.StringArrayVar(&box.Env, "pass-env", nil, "a variable of yours that the server gets as it is")
	fl.StringVar(&a.settings.URL, "url", "", "the address of a server that runs elsewhere, in place of COMMAND")
	fl.StringArrayVar(&a.headers, "header", nil, "with --url: a header for each request, as 'NAME: VALUE', with '$OTHER' as in --env")
	fl.StringArrayVar(&box.Read, "read", nil, "a file or folder that the server may read")
	fl.StringArrayVar(&box.Write, "write", nil, "a file or folder that the server may write")
	fl.StringArrayVar(&box.AllowHosts, "allow-host", nil, "a host that the server may reach, as name:port")
	fl.StringArrayVar(&box.AllowSockets, "allow-socket", nil, "a socket with a path that the server may connect to")
	fl.StringVar(&box.Workspace, "workspace", "", "what the server may do in the workspace: read, write or none (default read)")
	return cmd
}

func add(ctx context.Context, s cli.Stdio, name string, a addFlags) error {
	settings, err := a.complete(s)
	if bad := server.BadName(name); bad != "" {
		err = errors.Join(errors.New(bad), err)
	} else if err == nil {
		if err = (config.Sources{}).Check(ctx, settings.TOML(name)); err != nil {
			_, said, _ := strings.Cut(err.Error(), ": ") // without its place in a text that has no file
			err = errors.New(said)
		}
	}
	if err != nil {
		return cli.Usage(err, "nothing was changed")
	}
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return err
	}
	err = workspace.ChangeSettings(ctx, paths, func(text []byte) ([]byte, error) {
		if known, err := server.Names(text); err == nil && slices.Contains(known, name) {
			return nil, cli.Usage(fmt.Errorf("there is an MCP server %s already", name), "codeagent mcp remove "+name+" removes it")
		}
		return server.With(text, name, settings)
	})
	if err != nil {
		return err
	}
	var shown strings.Builder
	fmt.Fprintf(&shown, "added the MCP server %s to %s\n", name, visible.Line(paths.File))
	if settings.URL == "" {
		fmt.Fprintf(&shown, "  sandbox: %s\n", visible.Line(settings.Sandbox.Words()))
		fmt.Fprintf(&shown, "  next:    codeagent mcp test %s starts it; codeagent mcp learn %s finds out what its sandbox has to open\n", name, name)
	}
	if line := strings.Join(settings.Args, " "); (*mask.Mask)(nil).Text(line) != line {
		fmt.Fprintf(s.Err, "codeagent: warning: the arguments look as if they hold a key, which now stands in %s; --env 'NAME=$NAME' gives the server a variable\n", visible.Line(paths.File))
	}
	_, err = s.Text.Write([]byte(shown.String()))
	return err
}

// complete returns the settings that the flags give, or what is wrong with their values.
func (a addFlags) complete(s cli.Stdio) (server.Settings, error) {
	out := a.settings
	var errs []error
	switch {
	case out.Command == "" && out.URL == "":
		errs = append(errs, errors.New("a server has a COMMAND that starts it, after --, or a --url"))
	case out.Command != "" && out.URL != "":
		errs = append(errs, errors.New("a server has a COMMAND or a --url, not both: it is started here or runs elsewhere"))
	}
	out.Env = pairs(a.env, "=", func(one string) {
		errs = append(errs, fmt.Errorf("--env %s: want NAME=VALUE", short.Quote(one, 20)))
	})
	out.Headers = pairs(a.headers, ":", func(one string) {
		errs = append(errs, fmt.Errorf("--header %s: want 'NAME: VALUE'", short.Quote(one, 20)))
	})
	for _, name := range names(out.Env) {
		errs = append(errs, secret(s, "--env "+name, out.Env[name], sandbox.SecretName(name), fmt.Sprintf("--env '%s=$%s'", name, name)))
	}
	for _, name := range names(out.Headers) {
		errs = append(errs, secret(s, "--header "+name, out.Headers[name], false, fmt.Sprintf("--header '%s: $API_TOKEN'", name)))
	}
	errs = append(errs, secret(s, "--url", out.URL, false, "--url 'https://…?key=$API_TOKEN'"))
	for _, list := range []*[]string{&out.Sandbox.Read, &out.Sandbox.Write, &out.Sandbox.AllowSockets} {
		for i, p := range *list {
			if made, err := filepath.Abs(p); err == nil && p != "" && !strings.HasPrefix(p, "~") {
				(*list)[i] = made
			}
		}
	}
	return out, errors.Join(errs...)
}

// pairs makes a table of texts that hold a name and a value. wrong is called for one that does not.
func pairs(list []string, between string, wrong func(one string)) map[string]string {
	var out map[string]string
	for _, one := range list {
		name, value, ok := strings.Cut(one, between)
		if name = strings.TrimSpace(name); !ok || name == "" {
			wrong(name)
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		if between == ":" {
			value = strings.TrimSpace(value)
		}
		out[name] = value
	}
	return out
}

// secret refuses a value that looks like a key, and says how to name a variable in its place. named:
// its name says that it is one. The value is never shown.
func secret(s cli.Stdio, what, value string, named bool, instead string) error {
	literal := server.WithoutVariables(value)
	for _, kv := range s.Environ {
		// The shell replaces a variable that does not stand in single quotes.
		if name, held, _ := strings.Cut(kv, "="); sandbox.SecretName(name) && len(held) >= leastSecret && strings.Contains(literal, held) {
			return fmt.Errorf("%s: this is the value of your variable %s, and keys do not stand in a file: write $%s in single quotes, so that the shell leaves it", what, name, name)
		}
	}
	if named && looksLikeKey(literal) || (*mask.Mask)(nil).Text(literal) != literal {
		return fmt.Errorf("%s: this looks like a key, and keys do not stand in a file. Put it in an environment variable and write %s", what, instead)
	}
	return nil
}

// leastSecret is the length of the shortest value that counts as a key.
const leastSecret = 6

// looksLikeKey reports whether the value of something called a key can be one: it is not short, no
// number and no path.
func looksLikeKey(value string) bool {
	return len(value) >= leastSecret && strings.Trim(value, "0123456789.") != "" && !strings.ContainsAny(value[:1], "/~.")
}
