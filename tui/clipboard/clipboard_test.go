package clipboard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"codeagent/event/word"
	"codeagent/model"
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

// clip is a picture, else text.
type clip struct {
	Text  string
	Image *model.Image
}

// desktop holds clip, and a picture at one path.
type desktop struct {
	clip    clip
	err     error
	written string
}

func (d *desktop) Read(context.Context) (string, *model.Image, error) {
	return d.clip.Text, d.clip.Image, d.err
}
func (d *desktop) Write(_ context.Context, text string) error {
	d.written = text
	return d.err
}
func (d *desktop) Load(_ context.Context, path string) (model.Image, error) {
	switch path {
	case "/tmp/a.png":
		return model.Image{Name: path}, nil
	case "/tmp/big.png":
		return model.Image{}, errors.New("too large")
	}
	return model.Image{}, fmt.Errorf("%w: a text", ErrNoImage)
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
	d, picture := &desktop{}, model.Image{Name: "shot"}
	c := Clipboard{Desktop: d, Images: d}
	typed, closed := "", false
	field := part.Insert(func(text string) bool { typed += text; return !closed })
	for _, one := range []struct {
		name   string
		clip   clip
		field  part.Insert
		closed bool
		err    error
		want   []part.Intent
	}{
		{"a text", clip{Text: "a"}, nil, false, nil, []part.Intent{part.Disarm{}, part.Disarm{}, Text("a"), Ended{}}},
		{"a picture", clip{Image: &picture}, nil, false, nil, []part.Intent{part.Disarm{}, part.Disarm{}, message.Image{Image: picture}, Ended{}}},
		{"a text for a note", clip{Text: "a"}, field, false, nil, []part.Intent{Ended{}}},
		{"a picture for a note", clip{Image: &picture}, field, false, nil, []part.Intent{part.Say("a note takes text only"), Ended{}}},
		{"a note that was closed", clip{Text: "b"}, field, true, nil, []part.Intent{part.Say("the note is closed"), Ended{}}},
		{"an error", clip{}, field, false, errors.New("no program"), []part.Intent{part.Line{Level: word.LevelWarning, Text: "no program"}, part.End{}, Ended{}}},
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
		"words": {Text("words")}, "/tmp/a.png": {message.Image{Image: model.Image{Name: "/tmp/a.png"}}}, "/tmp/b.png": {Text("/tmp/b.png")},
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
