package tui

import (
	"context"
	"errors"
	"slices"
	"testing"

	"codeagent/approvals"
	"codeagent/tui/picker"
)

// fakePermissions is a list of what is open.
type fakePermissions struct {
	list []picker.Row
	err  error
}

func (f *fakePermissions) List(context.Context) ([]picker.Row, error) { return f.list, nil }

func (f *fakePermissions) Revoke(_ context.Context, id string) (string, error) {
	if f.err != nil {
		return "", f.err
	}
	f.list = slices.DeleteFunc(slices.Clone(f.list), func(p picker.Row) bool { return p.Id == id })
	return "revoked " + id + "\n1 open connection ended", nil
}

// TestPermissions: /permissions lists and filters what is open, and a key revokes it at once and says
// what became of it.
func TestPermissions(t *testing.T) {
	r, _ := offers(t, 80, 24)
	f := &fakePermissions{list: []picker.Row{
		{Id: "s1", Text: "write /srv/data", About: "setting · this session", More: "s1  used 2 times"},
		{Id: "g1", Text: "network docs.example:443", About: "you answered · this session", More: "g1  used 2 times"},
		{Id: "r1", Text: "allow npm test\x1b[2J", About: "rule · everywhere"},
	}}
	r.app.offers.Permissions = f
	r.slash("/permissions")
	r.has("What is open beyond the policy", "write /srv/data", "network docs.example:443", "you answered · this session", "allow npm test")
	r.typeText("docs")
	r.has("1 of 3", "used 2 times")
	r.lacks("/srv/data")
	f.err = errors.New("rules.toml:3:1: unknown key")
	r.do(r.press("ctrl+x"))
	r.has("rules.toml:3:1: unknown key")
	f.err = nil
	r.do(r.press("ctrl+x"))
	if len(f.list) != 2 || f.list[1].Id != "r1" {
		t.Errorf("left: %+v", f.list)
	}
	r.press("esc")
	r.has("revoked g1", "1 open connection ended")
	r.slash("/permissions")
	r.do(r.press("enter"))
	r.has("Permissions")
	r.lacks("What is open")
}

// TestModesInPermissions: the page names the approval policy and changes it; a wider one is asked
// about, for which the page closes.
func TestModesInPermissions(t *testing.T) {
	r, _ := offers(t, 80, 24)
	e := session()
	e.Approval = "untrusted"
	r.emit(e)
	p := &policies{mode: approvals.OnFailure}
	r.app.offers.Permissions, r.app.modes.Gate = &fakePermissions{}, p
	r.slash("/permissions")
	r.has("What is open beyond the policy · ask on denial", "Shift+Tab mode")
	r.press("shift+tab")
	r.has("What is open beyond the policy · plan")
	p.mode, p.plan = approvals.Untrusted, false
	r.press("shift+tab")
	r.lacks("What is open")
	r.has("change the approval policy from untrusted to on-request?")
	if p.mode != approvals.Untrusted {
		t.Errorf("the mode is %s", p.mode)
	}
}
