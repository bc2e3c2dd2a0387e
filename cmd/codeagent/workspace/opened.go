package workspace

import (
	"codeagent/approvals/ledger"
	"codeagent/config"
)

// Opened lists the settings that open something in the policy. For each setting it compares the
// policy with the policy without that setting.
func (ws *Workspace) Opened() []ledger.Setting {
	with, err := config.Policy(ws.Config, ws.Place)
	if err != nil || with.Unconfined {
		return nil // no error occurs here, since the workspace opened; without a sandbox no setting opens anything
	}
	var out []ledger.Setting
	for _, one := range []struct {
		key   string
		clear func(*config.Config)
	}{
		{"sandbox.add_dirs", func(c *config.Config) { c.Sandbox.AddDirs = nil }},
		{"sandbox.add_files", func(c *config.Config) { c.Sandbox.AddFiles = nil }},
		{"sandbox.allow_hosts", func(c *config.Config) { c.Sandbox.AllowHosts = nil }},
		{"sandbox.allow_sockets", func(c *config.Config) { c.Sandbox.AllowSockets = nil }},
	} {
		c := ws.Config
		one.clear(&c)
		if without, err := config.Policy(c, ws.Place); err == nil {
			out = append(out, ledger.Setting{Source: one.key + " (" + ws.Config.Origin(one.key).String() + ")", With: with, Without: without})
		}
	}
	key := "sandbox.publish"
	out = append(out, ledger.Setting{Source: key + " (" + ws.Config.Origin(key).String() + ")", Publish: ws.Config.Sandbox.Ports()})
	key = "sandbox.allow_fetch"
	return append(out, ledger.Setting{Source: key + " (" + ws.Config.Origin(key).String() + ")", Fetch: ws.FetchHosts})
}
