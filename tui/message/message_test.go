package message

import (
	"testing"

	"codeagent/model"

	"github.com/google/go-cmp/cmp"
)

func picture(name string, number int) Image {
	return Image{Image: model.Image{Name: name, Width: 2, Height: 3}, Number: number}
}

// TestLabel: a label names the image by the last element of its path.
func TestLabel(t *testing.T) {
	if got, want := picture("/tmp/shots/a.png", 7).Label(), "[image 7: a.png 2×3]"; got != want {
		t.Errorf("label %q, want %q", got, want)
	}
}

// TestJoin: the texts are paragraphs, and the images keep their order.
func TestJoin(t *testing.T) {
	got := Join([]Message{{Text: "one", Images: []Image{picture("a", 1)}}, {Text: "two"}, {Text: "three", Images: []Image{picture("b", 2)}}})
	want := Message{Text: "one\n\ntwo\n\nthree", Images: []Image{picture("a", 1), picture("b", 2)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestNumbered: an image gets the number of the label that names it, else a number that no
// text has used.
func TestNumbered(t *testing.T) {
	var count Count
	count.Counted("an earlier message with [image 4: old.png 1×1]")
	got := count.Numbered(Message{
		Text:   "see [image 2: b.png 2×3] and [image 9: gone.png 2×3]",
		Images: []Image{picture("a.png", 0), picture("dir/b.png", 5)},
	})
	want := []Image{picture("a.png", 10), picture("dir/b.png", 2)}
	if d := cmp.Diff(want, got.Images); d != "" {
		t.Error(d)
	}
	if next := count.Numbered(Message{Images: []Image{picture("c.png", 0)}}); next.Images[0].Number != 11 {
		t.Errorf("the next image has number %d, want 11", next.Images[0].Number)
	}
}

// TestSameImageTwice: two images of one name take the labels in order.
func TestSameImageTwice(t *testing.T) {
	var count Count
	got := count.Numbered(Message{Text: "[image 1: a.png 2×3] [image 2: a.png 2×3]", Images: []Image{picture("a.png", 0), picture("a.png", 0)}})
	if got.Images[0].Number != 1 || got.Images[1].Number != 2 {
		t.Errorf("numbers %d and %d, want 1 and 2", got.Images[0].Number, got.Images[1].Number)
	}
}
