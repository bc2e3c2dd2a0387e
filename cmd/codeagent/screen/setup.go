package screen

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/providers"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/config/server"
	"codeagent/internal/visible"
	"codeagent/tui/paint"
	"codeagent/tui/picker"
	"codeagent/tui/setup"
)

// modelSetup implements setup.Work. It reads the settings each time: what was kept a moment ago counts.
type modelSetup struct {
	s     cli.Stdio
	f     cli.Flags
	paths config.Paths
	// readable: commands can read codeagent's own records here.
	readable bool
}

// of returns the provider that was chosen, among those of the settings as they are now.
func (m modelSetup) of(ctx context.Context, c setup.Choice) (ws *workspace.Workspace, p config.Provider, err error) {
	if ws, err = workspace.Unopened(ctx, m.s, m.f); err == nil {
		p, err = providers.Of(ws).At(c.Provider, c.Address, string(c.Key))
	}
	return ws, p, inWords(err)
}

func (m modelSetup) Place() string {
	file := m.tilde(m.paths.KeysFile())
	if m.readable {
		return fmt.Sprintf("It is kept in %s, mode 600. Commands of the model can read that file here: prefer key_command, which prints a key (codeagent help config).", file)
	}
	return fmt.Sprintf("It is kept in %s, mode 600: only your user can read that file, and commands in the sandbox cannot.", file)
}

func (m modelSetup) tilde(path string) string { return paint.Tilde(path, m.s.Env("HOME")) }

func (m modelSetup) Providers(ctx context.Context) (out []setup.Provider, unread error) {
	ws, err := workspace.Unopened(ctx, m.s, m.f)
	if err != nil {
		return nil, inWords(err)
	}
	if err := ws.Config.Unread(); err != nil {
		unread = fmt.Errorf("the kept keys are not used: %w", err)
	}
	for _, c := range providers.Of(ws).Candidates(ctx) {
		p := describe(c.Provider)
		p.Models, p.Kept = c.Models, c.Kept()
		p.Fixed = c.KeyFrom != "" && !c.Kept() || strings.HasPrefix(c.KeyFrom, "$")
		p.Asks = c.Lacks(m.s.Env) != ""
		switch {
		case len(c.Models) > 0:
			p.About = "on this machine"
		case strings.HasPrefix(c.KeyFrom, "$"):
			p.About = c.KeyFrom + " is used"
		case c.KeyFrom != "":
			p.About = c.KeyFrom
		case p.Asks:
			p.About = "needs a key"
		}
		out = append(out, p)
	}
	return out, unread
}

// describe is what a person is shown of a provider whose key is asked for.
func describe(of config.Provider) setup.Provider {
	p := setup.Provider{Name: of.Name, Host: of.Host()}
	if p.Host == "" {
		p.Host = of.Name
	}
	if providers.Exposed(of.BaseURL) {
		p.Warning = "this address is not encrypted: others on the network can read the key"
	}
	return p
}

func (m modelSetup) At(address string) (setup.Provider, error) {
	name, err := providers.NameFor(address)
	if err != nil {
		return setup.Provider{}, err
	}
	p := describe(config.Provider{Name: name, BaseURL: address})
	p.Asks = true
	return p, nil
}

func (m modelSetup) CheckKey(key setup.Key) error { return config.CheckKey(string(key)) }

func (m modelSetup) Models(ctx context.Context, c setup.Choice) (rows []picker.Row, err error) {
	ws, p, err := m.of(ctx, c)
	if err != nil {
		return nil, err
	}
	list, err := providers.Of(ws).ModelsOf(ctx, p)
	for _, l := range list {
		name := strings.TrimPrefix(l.Title, p.Name+"/")
		rows = append(rows, picker.Row{Id: name, Text: name, About: l.About})
	}
	return rows, inWords(err)
}

func (m modelSetup) Try(ctx context.Context, c setup.Choice) error {
	ws, p, err := m.of(ctx, c)
	if err == nil {
		err = providers.Of(ws).Try(ctx, p, c.Model)
	}
	return inWords(err)
}

// inWords is the first part of an error: what to do next is on the screen.
func inWords(err error) error {
	if err == nil {
		return nil
	}
	_, message, _ := cli.ExitOf(err)
	return errors.New(message)
}

func (m modelSetup) Keep(ctx context.Context, c setup.Choice) (string, error) {
	ws, p, err := m.of(ctx, c)
	if err != nil {
		return "", err
	}
	if c.Key != "" {
		if err := m.paths.KeepKey(ctx, p, m.s.Env, string(c.Key)); err != nil {
			return "", fmt.Errorf("cannot keep the key: %w", err)
		}
	}
	set := []entry{{"model_provider", c.Provider}, {"model", c.Model}}
	if c.Address != "" {
		set = append(set, entry{"providers." + c.Provider + ".base_url", c.Address})
	}
	if err := keepSettings(ctx, ws.Paths, set); err != nil {
		return "", fmt.Errorf("cannot keep the model: %w", inWords(err))
	}
	words := fmt.Sprintf("kept in %s for later starts: %s", m.tilde(ws.Paths.File), visible.Line(c.Title()))
	if c.Key != "" {
		words += fmt.Sprintf("\nits key is kept in %s (mode 600)", m.tilde(m.paths.KeysFile()))
	}
	for _, key := range []string{"model_provider", "model"} {
		words += before(ws.Config, key)
	}
	return words, nil
}

// before says what comes before a setting of the file at the next start.
func before(c config.Config, key string) string {
	if from := c.Origin(key); !from.InFile() {
		return "\nat the next start " + from.String() + " comes before it, if it is set then"
	}
	return ""
}

// entry is a setting and its value.
type entry struct {
	key   string
	value any
}

// keepSettings writes settings to the person's own file, all or none.
func keepSettings(ctx context.Context, paths config.Paths, set []entry) error {
	return workspace.ChangeSettings(ctx, paths, func(text []byte) (out []byte, err error) {
		for _, one := range set {
			if text, err = server.WithValue(text, one.key, one.value); err != nil {
				return nil, err
			}
		}
		return text, nil
	})
}

func (m modelSetup) Forget(ctx context.Context, provider string) error {
	return m.paths.ForgetKey(ctx, provider)
}
