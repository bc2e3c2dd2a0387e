package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/sandbox"
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
		return nil, nil, cli.Usage(err, "codeagent help rules has the form of rules")
	}
	return list, data, nil
}

// ChangeRules applies edit to rules.toml and returns the new rules. The file must be valid before
// and after the edit; otherwise it stays unchanged.
func ChangeRules(ctx context.Context, s cli.Stdio, paths config.Paths, edit func(text []byte, list []*rules.Rule) ([]byte, error)) (list []*rules.Rule, err error) {
	err = changeFile(ctx, paths, paths.Rules, maxRulesFile, 0o600, func([]byte) ([]byte, error) {
		all, before, err := ReadRules(ctx, s, paths)
		if err != nil {
			return nil, err
		}
		text, err := edit(slices.Clone(before), all)
		if err != nil {
			return nil, err
		}
		if list, err = rules.Parse(paths.Rules, text, s.Env("HOME")); err != nil {
			return nil, cli.Usage(err, "nothing was changed")
		}
		return text, nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// RemoveRule removes the rule with the given ledger.RuleID from the user's rules.toml.
func RemoveRule(ctx context.Context, s cli.Stdio, paths config.Paths, id string) ([]*rules.Rule, error) {
	return ChangeRules(ctx, s, paths, func(text []byte, all []*rules.Rule) ([]byte, error) {
		// The last rule goes first, so that the line numbers of the others stay correct.
		all = slices.DeleteFunc(slices.Clone(all), func(r *rules.Rule) bool { return ledger.RuleID(r) != id })
		slices.SortFunc(all, func(a, b *rules.Rule) int { return b.Line - a.Line })
		for _, r := range all {
			text = rules.Without(text, r)
		}
		if len(all) == 0 {
			return nil, cli.Usage(fmt.Errorf("no rule %s in %s", short.Head(id, 40), paths.Rules), "codeagent rules list shows the rules with their IDs")
		}
		return text, nil
	})
}

// RulesIn returns the rules that apply in a session whose workspace is folder.
func RulesIn(folder string, own []*rules.Rule, project ProjectRules) *rules.Set {
	return rules.Join(own, project.Narrower).In(folder, func(p string) string {
		if made, err := sandbox.Canonical(hostfile.OS{}, "/", p); err == nil {
			return made
		}
		return p
	})
}
