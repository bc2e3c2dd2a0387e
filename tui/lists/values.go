package lists

import (
	"context"

	"codeagent/tui/keys"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Write writes a setting to the person's own file, and says where.
type Write func(ctx context.Context, key, value string) (words string, err error)

// Models are the models to choose from. Use is called between turns only.
type Models interface {
	// List returns the known models, the likeliest first: the row's Id is what --model takes,
	// About describes it in a few words. It may return models and an error: one provider did
	// not answer.
	List(ctx context.Context) ([]picker.Row, error)
	// Use switches to the named model and has a SessionStarted emitted; after an
	// error the previous model stays.
	Use(ctx context.Context, name string) error
}

// Keep writes a value to the person's settings, and says where; nil: the value is for this run.
type Keep func(context.Context) (words string, err error)

// Kept keeps a value, and says so.
func (k Keep) Kept() part.Intent {
	return part.Try(func(ctx context.Context) (part.Intent, error) {
		words, err := k(ctx)
		return part.Note(words), err
	})
}

// OfValues is the list of a setting's values. Enter uses the selected one until codeagent ends, and
// another key keeps it by write in the settings too.
func OfValues(s part.Setting, title, setting string, write Write, use func(value string, keep Keep) part.Intent) *picker.Picker {
	p := picker.New(s.Keys, title)
	p.Enter = "uses it"
	chosen := func(value string, keep Keep) part.Intent { return part.All{part.Show{}, use(value, keep)} }
	p.Choose = func(r picker.Row) part.Intent { return chosen(r.Id, nil) }
	if write != nil {
		p.Deeds = []picker.Action{{Do: keys.Keep, Help: "uses and keeps it", Run: func(r picker.Row, _ string) part.Intent {
			return chosen(r.Id, func(ctx context.Context) (string, error) { return write(ctx, setting, r.Id) })
		}}}
	}
	return p
}
