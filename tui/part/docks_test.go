package part

import (
	"testing"

	"codeagent/tui/keys"
)

// paper is a dock of some rank, which is its own ask.
type paper struct {
	Arming
	name string
	rank Rank
}

func (p *paper) Key(keys.Key) (Intent, bool) { return nil, false }
func (p *paper) Paste(string) Intent         { return nil }
func (p *paper) View(c Canvas, _ int) Drawn {
	line := p.name
	if c.Urgent {
		line += " urgent"
	}
	return Drawn{Lines: []string{line}}
}
func (p *paper) Writes() bool        { return p.rank == Writing }
func (p *paper) Rank() Rank          { return p.rank }
func (p *paper) Has(string) bool     { return false }
func (p *paper) Hold(string)         {}
func (p *paper) Join(a Ask) bool     { return p.name == a.(*paper).name }
func (p *paper) Withdraw(a Ask) bool { return p == a }
func (p *paper) Dock(Setting) Dock   { return p }

// TestDocks: who is shown, and who gets the keys.
func TestDocks(t *testing.T) {
	var d Docks
	front := func(want string) {
		t.Helper()
		if lines := d.View(Canvas{}, 1).Lines; len(lines) > 0 && lines[0] != want || len(lines) == 0 && want != "" {
			t.Errorf("shown: %q, want %q", lines, want)
		}
	}
	form, first, second := &paper{name: "form"}, &paper{name: "first", rank: First}, &paper{name: "second", rank: First}
	front("")
	d.Add(form, Setting{})
	front("form")
	form.Arm(true)
	d.Add(first, Setting{})
	d.Add(second, Setting{})
	d.Add(&paper{name: "first"}, Setting{})
	if front("first urgent"); len(d) != 3 {
		t.Errorf("%d docks for three questions", len(d))
	}
	form.rank = Writing
	front("form urgent")
	form.rank = Later
	d.Insert(&paper{name: "own", rank: First}, Setting{})
	if front("own urgent"); form.Armed() {
		t.Error("what is behind another question takes keys")
	}
	d.Remove(d[0])
	d.Withdraw(first)
	front("second")
	if second.Bar(); second.Waits() {
		t.Error("a pause arms what was barred")
	}
}
