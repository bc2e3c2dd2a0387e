// Package configtest is test support: it takes suggestions as a person and a model would, and says which
// codeagent refuses or do not get the command further. Start at Trial.Faults.
package configtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/config"
	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// Trial is a command that the sandbox refused something.
type Trial struct {
	// Base is the policy under which it ran, and Settings say the same as overrides of settings.
	Base     sandbox.Policy
	Settings []string
	// Own is a folder for codeagent's own files, elsewhere.
	Own, Workspace, Home string
	Files                sandbox.FileSystem
	Command              string
	// Reset makes the start of the command again; Run does it too.
	Reset func()
	// Run runs it from the same start under another policy.
	Run func(sandbox.Policy) (sandbox.Verdict, error)
}

// Faults says what is wrong with the suggestions of first, which count.
func (t Trial) Faults(first sandbox.Verdict) (count int, faults []string) {
	g := first.Suggest
	if g.Unsandboxed || g.Empty() {
		return 0, nil
	}
	c, at, err := t.settings("")
	if err != nil {
		return 1, append(faults, err.Error())
	}
	flags, left := at.Flags(c, t.Command, g, first.Needs())
	typed, refused := t.with("", flags) // as long as there is what the command left, as for a person
	wider, err := t.asked(g)
	if err == nil {
		err = t.further(first, wider)
	}
	if err != nil {
		faults = append(faults, fmt.Sprintf("the grant %q: %v", g.Lines(nil), err))
	}
	if len(first.Needs()) == 0 {
		return 1, faults // nothing was lost, so no flag is suggested
	}
	if len(flags) == 0 {
		if len(left) == 0 {
			faults = append(faults, fmt.Sprintf("the grant %q has no flag, and no reason is given", g.Lines(nil)))
		}
		return 1, faults
	}
	if refused == nil {
		refused = t.further(first, typed)
	}
	if refused != nil {
		faults = append(faults, fmt.Sprintf("the flags %v: %v", flags, refused))
	}
	return 1 + len(flags), faults
}

// asked is the policy after a yes to a model that asks for g.
func (t Trial) asked(g sandbox.Grant) (sandbox.Policy, error) {
	gate := approvals.NewGate(approvals.Options{
		Base: t.Base, Files: t.Files, Home: t.Home, Workspace: t.Workspace, GrantsHosts: true, GrantsSockets: true, NewID: func() string { return "q" },
	})
	a := approvals.Action{
		CallID: "c", Tool: "shell", Kind: word.KindCommand, Command: t.Command, Folder: t.Workspace, Argv: []string{"bash", "-c", t.Command},
		Wish: approvals.Wish{Write: g.Write, Read: g.Read, Sockets: g.Sockets},
	}
	for _, h := range g.Hosts {
		a.Wish.Hosts = append(a.Wish.Hosts, named.WithPort(t.Command, h.String()))
	}
	_, r, err := gate.Decide(a)
	if err != nil {
		return t.Base, err
	}
	if r == nil {
		return t.Base, errors.New("it is allowed already")
	}
	return t.Base.With(r.Grant), nil
}

// Learned says what is wrong with the settings that --learn prints where denials were allowed.
func (t Trial) Learned(denials []sandbox.Denial) (faults []string) {
	g, left := sandbox.Suggest(t.Base, t.Files, t.Home, []string{"bash", "-c", t.Command}, denials)
	c, at, err := t.settings("")
	if err != nil {
		return []string{err.Error()}
	}
	s, err := config.Write(c, at, g, denials)
	if err != nil {
		return []string{err.Error()}
	}
	t.Reset() // a folder that was made is gone by then
	wider, err := t.with(s.TOML, nil)
	if err != nil {
		return []string{fmt.Sprintf("the settings %q: %v", s.TOML, err)}
	}
	v, err := t.Run(wider)
	if err != nil {
		return []string{err.Error()}
	}
	for key, d := range keys(v) {
		if allows(wider, d) || len(left)+len(s.Left) == 0 {
			faults = append(faults, fmt.Sprintf("%s is refused with the settings %q", key, s.TOML))
		}
	}
	return faults
}

// settings are those that t stands for, with those of a file and flags.
func (t Trial) settings(file string, flags ...config.Flag) (c config.Config, at config.Place, err error) {
	if err := errors.Join(os.MkdirAll(t.Own, 0o700), os.WriteFile(t.Own+"/config.toml", []byte(file), 0o600)); err != nil {
		return c, at, err
	}
	getenv := func(string) string { return "" }
	c, err = config.Load(context.Background(), config.Sources{File: t.Own + "/config.toml", Getenv: getenv, Overrides: t.Settings, Flags: flags})
	if err != nil {
		return c, at, err
	}
	paths, err := config.FindPaths(func(name string) string { return map[string]string{"CODEAGENT_HOME": t.Own}[name] }, t.Home)
	return c, config.Place{Workspace: t.Workspace, Home: t.Home, Paths: paths, Files: t.Files}, err
}

// with is the policy of codeagent with flags or a settings file more.
func (t Trial) with(file string, flags []config.Flag) (p sandbox.Policy, err error) {
	var policies [2]sandbox.Policy
	for i, more := range []func() (config.Config, config.Place, error){
		func() (config.Config, config.Place, error) { return t.settings("") },
		func() (config.Config, config.Place, error) { return t.settings(file, flags...) },
	} {
		c, at, err := more()
		if err == nil {
			policies[i], err = config.Policy(c, at)
		}
		if err != nil {
			return p, fmt.Errorf("refused: %w", err)
		}
	}
	p = t.Base.Clone()
	for _, root := range policies[1].Write {
		if !slices.Contains(policies[0].Write, root) {
			p.Write = append(p.Write, root)
		}
	}
	p.Sockets = append(p.Sockets, policies[1].Sockets...)
	if len(policies[1].Network.Hosts) > 0 {
		p.Network = policies[1].Network
	}
	return p, nil
}

// further runs the command under wider: nothing that wider allows may be refused again, and something
// else than before, or nothing, must be.
func (t Trial) further(first sandbox.Verdict, wider sandbox.Policy) error {
	second, err := t.Run(wider)
	if err != nil {
		return err
	}
	before, after := keys(first), keys(second)
	for key, d := range after {
		if _, again := before[key]; again && allows(wider, d) {
			return fmt.Errorf("%s is refused again, though it is allowed", key)
		}
	}
	if len(before) > 0 && len(after) >= len(before) && !slices.ContainsFunc(second.Denials, func(d sandbox.Denial) bool { _, was := before[keyOf(d)]; return !was }) {
		return fmt.Errorf("it gets no further: %v", after)
	}
	return nil
}

func keys(v sandbox.Verdict) map[string]sandbox.Denial {
	out := map[string]sandbox.Denial{}
	for _, d := range v.Denials {
		if !d.Moot && d.Evidence != sandbox.EvidenceOutput {
			out[keyOf(d)] = d
		}
	}
	return out
}

// keyOf is the same for the generated names of two runs.
func keyOf(d sandbox.Denial) string {
	target := d.Target
	if dir, base := path.Split(target); sandbox.MadeUp(base) {
		target = dir + "*"
	}
	return strings.Join([]string{string(d.Kind), target}, " ")
}

func allows(p sandbox.Policy, d sandbox.Denial) bool {
	switch d.Kind {
	case sandbox.KindWrite, sandbox.KindMetadata, sandbox.KindProtected:
		return p.JudgeWrite(d.Target).Allowed
	case sandbox.KindRead:
		return p.JudgeRead(d.Target).Allowed
	case sandbox.KindNetwork:
		h, err := sandbox.ParseHostPort(d.Target)
		return err == nil && d.Why == "" && p.JudgeHost(h).Allowed
	case sandbox.KindSocket:
		return slices.Contains(p.Sockets, d.Target)
	}
	return false
}
