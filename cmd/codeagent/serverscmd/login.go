package serverscmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/mcp/signin"
	"codeagent/sandbox/named"

	"github.com/spf13/cobra"
)

// login are the flags of login.
type login struct {
	client, secretEnv string
	port              int
	hosts             []string
}

func newLogin(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var l login
	cmd := &cobra.Command{
		Use: "login NAME", Short: "Sign in to an MCP server that is reached by URL", Args: cobra.ExactArgs(1),
		Long: "login prints the page on which to sign in, and waits for the browser's answer on loopback (OAuth 2.1 with\n" +
			"PKCE). It opens no browser. What the sign-in gives is kept in a file that commands cannot read, is sent\n" +
			"to this server's url alone, and is renewed by itself; logout removes it.",
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), s, *f, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&l.client, "client-id", "", "the client that you registered with the provider; without it codeagent registers itself")
	fl.StringVar(&l.secretEnv, "client-secret-env", "", "the variable that holds that client's secret")
	fl.IntVar(&l.port, "port", 0, "the port of the answer, if the client is registered with one: http://127.0.0.1:PORT/callback")
	fl.StringArrayVar(&l.hosts, "allow-host", nil, "a host of the sign-in that is not on the public internet, as name:port")
	return cmd
}

func (l login) run(ctx context.Context, s cli.Stdio, f cli.Flags, name string) error {
	c, err := choose(ctx, s, f, name)
	if err != nil {
		return err
	}
	defer c.ws.Close()
	settings, err := c.ws.Config.Resolved(c.settings, s.Env)
	if err != nil {
		return cli.Usage(err)
	}
	o := signin.Options{Server: settings.URL, Headers: settings.Headers, ClientID: l.client, Port: l.port}
	for header := range settings.Headers {
		if strings.EqualFold(header, "Authorization") {
			return cli.Usage(fmt.Errorf("the settings of the MCP server %s have the header Authorization, which a sign-in would replace", name), "remove it to sign in")
		}
	}
	switch {
	case settings.URL == "":
		return cli.Usage(fmt.Errorf("the MCP server %s is started here: there is nothing to sign in to", name), "--env gives a server a key: codeagent mcp add --help")
	case l.secretEnv != "" && l.client == "":
		return cli.Usage(errors.New("--client-secret-env needs --client-id"))
	case l.secretEnv != "":
		if o.ClientSecret = s.Env(l.secretEnv); o.ClientSecret == "" {
			return cli.Usage(errors.New("--client-secret-env: this variable is not set"))
		}
	}
	for _, text := range l.hosts {
		hosts, err := named.ParseAllowed(text)
		if err != nil {
			return cli.Usage(fmt.Errorf("--allow-host: %w", err))
		}
		o.Hosts = append(o.Hosts, hosts...)
	}
	o.Show = func(page, host string) {
		fmt.Fprintf(s.Text, "sign in to the MCP server %s on the page of %s:\n\n%s\n\nwaiting for the browser; Ctrl+C ends\n", name, host, page)
	}
	g, err := signin.Login(ctx, o)
	if err != nil {
		return cli.Hinted(cli.ExitSignIn, fmt.Errorf("no sign-in to the MCP server %s: %w", name, err))
	}
	if err := (signin.Store{Dir: c.ws.Paths.SignIns}).Write(name, g); err != nil {
		return cli.StorageError(err)
	}
	_, err = fmt.Fprintf(s.Text, "signed in to the MCP server %s\n", name)
	return err
}

func newLogout(s cli.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "Forget the sign-in to an MCP server", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, _, err := workspace.Places(cmd.Context(), s)
			if err != nil {
				return err
			}
			name := args[0]
			if bad := server.BadName(name); bad != "" { // it becomes the name of a file
				return cli.Usage(errors.New(bad))
			}
			gone, err := signin.Store{Dir: paths.SignIns}.Remove(name)
			switch {
			case err != nil:
				return err
			case !gone:
				return cli.Usage(fmt.Errorf("there is no sign-in to an MCP server %s", name))
			}
			_, err = fmt.Fprintf(s.Text, "removed the sign-in to the MCP server %s; the provider's own page ends it there\n", name)
			return err
		},
	}
}
