package clipboard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"codeagent/event/word"
	"codeagent/tui/message"
	"codeagent/tui/part"
)

func TestImagePath(t *testing.T) {
	for pasted, want := range map[string]string{
		"/tmp/shot.png":                      "/tmp/shot.png",
		" /tmp/shot.PNG\n":                   "/tmp/shot.PNG",
		"'/tmp/a b.jpg'":                     "/tmp/a b.jpg",
		`"/tmp/a b.jpeg"`:                    "/tmp/a b.jpeg",
		`/tmp/a\ b\(1\).webp`:                "/tmp/a b(1).webp",
		"file:///tmp/a%20b.gif":              "/tmp/a b.gif",
		"file://localhost/tmp/x.png":         "/tmp/x.png",
		"~/x.png":                            "/home/ada/x.png",
		"shot.png":                           "",
		"/tmp/notes.txt":                     "",
		"look at /tmp/shot.png":              "",
		"/tmp/a.png\n/tmp/b.png":             "",
		"file:///tmp/%zz.png":                "",
		"https://example.org/picture.png":    "",
		"":                                   "",
		"'":                                  "",
		"/tmp/a.png and what is in it\nmore": "",
	} {
		if got := imagePath(pasted, "/home/ada"); got != want {
			t.Errorf("%q: %q, want %q", pasted, got, want)
		}
	}
}

// desktop holds clip, and a picture at one path.
type desktop struct {
	clip    Clip
	err     error
	written string
}

func (d *desktop) Read(context.Context) (Clip, error) { return d.clip, d.err }
func (d *desktop) Write(_ context.Context, text string) error {
	d.written = text
	return d.err
}
func (d *desktop) Load(_ context.Context, path string) (message.Image, error) {
	switch path {
	case "/tmp/a.png":
		return message.Image{Name: path}, nil
	case "/tmp/big.png":
		return message.Image{}, errors.New("too large")
	}
	return message.Image{}, fmt.Errorf("%w: a text", ErrNoImage)
}

// done are the intents that come of one, without those that want nothing.
func done(t *testing.T, intent part.Intent) (out []part.Intent) {
	switch w := intent.(type) {
	case nil:
	case part.All:
		for _, one := range w {
			out = append(out, done(t, one)...)
		}
	case part.Beside:
		return done(t, w(t.Context())())
	default:
		return []part.Intent{w}
	}
	return out
}

func TestRead(t *testing.T) {
	d, picture := &desktop{}, message.Image{Name: "shot"}
	c := Clipboard{Desktop: d, Images: d}
	typed, closed := "", false
	field := part.Insert(func(text string) bool { typed += text; return !closed })
	for _, one := range []struct {
		name   string
		clip   Clip
		field  part.Insert
		closed bool
		err    error
		want   []part.Intent
	}{
		{"a text", Clip{Text: "a"}, nil, false, nil, []part.Intent{part.Disarm{}, part.Disarm{}, Text("a"), Ended{}}},
		{"a picture", Clip{Image: &picture}, nil, false, nil, []part.Intent{part.Disarm{}, part.Disarm{}, picture, Ended{}}},
		{"a text for a note", Clip{Text: "a"}, field, false, nil, []part.Intent{Ended{}}},
		{"a picture for a note", Clip{Image: &picture}, field, false, nil, []part.Intent{part.Say("a note takes text only"), Ended{}}},
		{"a note that was closed", Clip{Text: "b"}, field, true, nil, []part.Intent{part.Say("the note is closed"), Ended{}}},
		{"an error", Clip{}, field, false, errors.New("no program"), []part.Intent{part.Line{Level: word.LevelWarning, Text: "no program"}, part.End{}, Ended{}}},
	} {
		d.clip, d.err, closed = one.clip, one.err, one.closed
		if got := done(t, c.Read(one.field)); !reflect.DeepEqual(got, one.want) || c.Reading() {
			t.Errorf("%s: %#v", one.name, got)
		}
	}
	if typed != "ab" {
		t.Errorf("the note got %q", typed)
	}
	left := c.Read(nil)
	if c.Read(nil) != nil {
		t.Error("it is read twice")
	}
	if c.Leave(); len(done(t, left)) != 1 || c.Reading() {
		t.Error("a read that was cancelled pastes")
	}
}

func TestPasteAndCopy(t *testing.T) {
	d := &desktop{}
	c := Clipboard{Desktop: d, Images: d}
	for pasted, want := range map[string][]part.Intent{
		"words": {Text("words")}, "/tmp/a.png": {message.Image{Name: "/tmp/a.png"}}, "/tmp/b.png": {Text("/tmp/b.png")},
		"/tmp/big.png": {Text("/tmp/big.png"), part.Line{Level: word.LevelWarning, Text: "too large"}, part.End{}},
	} {
		if got := done(t, c.Paste(pasted)); !reflect.DeepEqual(got[1:], want) {
			t.Errorf("%s: %#v", pasted, got)
		}
	}
	got := done(t, c.Copy("a\x1bb"))
	if want := []part.Intent{Terminal("a\ufffdb"), part.Say("copied 3 characters")}; !reflect.DeepEqual(got, want) || d.written != "a\ufffdb" {
		t.Errorf("%#v, written %q", got, d.written)
	}
	d.err = errors.New("no display")
	if got := done(t, c.Copy("a")); len(got) != 3 || !strings.Contains(fmt.Sprint(got[2]), "by the terminal only: no display") {
		t.Errorf("an error: %#v", got)
	}
}
