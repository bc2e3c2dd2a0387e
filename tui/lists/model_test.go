package lists

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

type namedModels struct{ used []string }

func (*namedModels) List(context.Context) ([]picker.Row, error) { return nil, nil }
func (n *namedModels) Use(_ context.Context, name string) error {
	if n.used = append(n.used, name); name == "bad" {
		return errors.New("no key for bad")
	}
	return nil
}

// TestModel: a name and an effort are used like a turn; with a key the choice is kept.
func TestModel(t *testing.T) {
	for _, c := range []struct{ in, name, effort string }{
		{"gpt-5 high", "gpt-5", "high"}, {"low", "", "low"}, {"gpt-5", "gpt-5", ""}, {"", "", ""}, {"a b", "a b", ""},
	} {
		if name, effort := effortOf(c.in); name != c.name || effort != c.effort {
			t.Errorf("%q is %q, %q", c.in, name, effort)
		}
	}
	models, thinks := &namedModels{}, ""
	m := Model{Setting: part.Setting{Keys: keys.Standard()}, Models: models, Thinks: &thinks,
		Think: func(_ context.Context, effort string) error { models.used = append(models.used, effort); return nil },
		Write: func(_ context.Context, key, value string) (string, error) { return "kept " + key + "=" + value, nil }}
	work := func(intent part.Intent) part.Intent {
		t.Helper()
		next, err := intent.(part.Turn).Work(t.Context())
		if err != nil {
			return part.Fail(err.Error())
		}
		return next()
	}
	if got := work(m.Show("gpt-5 high")); got != part.Say("reasoning effort: high") || thinks != "high" || strings.Join(models.used, " ") != "gpt-5 high" {
		t.Errorf("%v, thinks %q, used %q", got, thinks, models.used)
	}
	if got := work(m.Show("bad")); got != part.Fail("no key for bad") {
		t.Errorf("an error: %v", got)
	}
	list := m.ShowEfforts("").(part.Show).Overlay
	list.Paste("low")
	chosen, _ := list.Key(tea.Key{Code: 's', Mod: tea.ModCtrl})
	all := chosen.(part.All)
	if kept := work(all[1]).(part.Beside)(t.Context())(); all[0] != part.Intent(part.Show{}) || kept != part.Note("kept reasoning_effort=low") || thinks != "low" {
		t.Errorf("kept: %v, thinks %q", kept, thinks)
	}
	m.Think = nil
	if turn := m.Show("a high").(part.Turn); !reflect.DeepEqual(turn.Doing, "Switching to a high") {
		t.Errorf("without an effort: %q", turn.Doing)
	}
	if p := m.Show("").(part.Show).Overlay.(*picker.Picker); p.List == nil || !strings.Contains(p.None, "/model NAME") {
		t.Error("the list has no models")
	}
}
