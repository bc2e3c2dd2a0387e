package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/hostfile"
)

// maxRulesFile bounds rules.toml, in bytes.
const maxRulesFile = 1 << 20

// ReadRules reads the user's rules.toml; no file means no rules.
func ReadRules(ctx context.Context, s cli.Stdio, paths config.Paths) ([]*rules.Rule, []byte, error) {
	data, err := hostfile.Read(ctx, paths.Rules, maxRulesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, cli.Usage(fmt.Errorf("rules: %w", err))
	}
	list, err := rules.Parse(paths.Rules, data, s.Env("HOME"))
	if err != nil {
		return nil, nil, cli.Usage(err, "the form of rules is described in docs/rules.md")
	}
	return list, data, nil
}
