package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/model"
)

// drawing returns an image identified by its data.
func drawing(name, data string) model.Image {
	sum := sha256.Sum256([]byte(data))
	return model.Image{Name: name, MediaType: "image/png", Width: 4, Height: 3, Sum: hex.EncodeToString(sum[:]), Data: []byte(data)}
}

func showing(text string, images ...model.Image) model.Item {
	return model.Item{Kind: model.User, Text: text, Images: images}
}

// seen returns the data of all images of a history, in order; "-" for a missing one.
func seen(h History) string {
	var all []string
	for _, item := range h.Items {
		for _, i := range item.Images {
			if len(i.Data) == 0 {
				i.Data = []byte("-")
			}
			all = append(all, string(i.Data))
		}
	}
	return strings.Join(all, " ")
}

// files lists the files in the store.
func files(t *testing.T, s *Store) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != s.dir {
			info, ierr := d.Info()
			if ierr != nil {
				return ierr
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is open to others: %v", path, info.Mode())
			}
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestImages: images are there when the session is resumed, and the records stay small.
func TestImages(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	s, ses := begun(t, showing("look", drawing("a.png", "A"), drawing("b.png", big)), answer("seen"),
		model.Item{Kind: model.Result, CallID: "c", Text: "r", Images: []model.Image{drawing("c.png", "C")}}, showing("again", drawing("a.png", "A")))
	if got := seen(history(t, ses)); got != "A "+big+" C A" {
		t.Errorf("the images are %.40q", got)
	}
	closed(t, ses)
	if data := bytesOf(t, s, ses.ID()); len(data) > 4<<10 || bytes.Contains(data, []byte("xxxx")) {
		t.Errorf("the records of images have %d bytes", len(data))
	}
	if n := len(files(t, s)); n != 1+1+3 { // the session, its folder, and each image once
		t.Errorf("the store holds %q", files(t, s))
	}
	again := opened(t, s, ses.ID())
	h := history(t, again)
	if got := seen(h); got != "A "+big+" C A" {
		t.Errorf("after opening it again the images are %.40q", got)
	}
	if i := h.Items[0].Images[0]; i.Name != "a.png" || i.MediaType != "image/png" || i.Width != 4 || i.Height != 3 {
		t.Errorf("an image has become %+v", i)
	}
}

// TestImagesCompacted: items after a summary keep their images, also in a copy.
func TestImagesCompacted(t *testing.T) {
	s, ses := begun(t, showing("one", drawing("a", "A")), showing("two", drawing("b", "B")))
	compacted(t, ses, summary("of one"), showing("two", drawing("b", "B")))
	put(t, ses, showing("three", drawing("c", "C")))
	fork, err := s.Fork(ses.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []*Session{ses, opened(t, s, fork)} {
		if got := seen(history(t, of)); got != "B C" {
			t.Errorf("the images of %s are %q", of.ID(), got)
		}
	}
	if data := bytesOf(t, s, fork); bytes.Contains(data, []byte(`"Data"`)) || len(data) > 4<<10 {
		t.Errorf("the records hold images:\n%s", data)
	}
}

// TestImageFirst: a session that begins with only an image is listed by it.
func TestImageFirst(t *testing.T) {
	s, ses := begun(t, showing("", drawing("a.png", "A")))
	if m, err := s.Messages(ses.ID()); err != nil || len(m) != 1 || m[0].Text != "a.png (PNG, 4×3)" {
		t.Errorf("its messages: %+v, %v", m, err)
	}
	for sum, err := range s.List() {
		if err != nil || sum.Name() != "a.png (PNG, 4×3)" {
			t.Errorf("it is listed as %q, %v", sum.Name(), err)
		}
	}
}

// TestImagesLost: a file that is missing, changed, not a regular file or wrongly named loses
// that image and nothing else.
func TestImagesLost(t *testing.T) {
	secret := drawing("s.png", "secret")
	s, ses := begun(t, showing("look", drawing("a", "A"), drawing("b", "B"), drawing("c", "C"), drawing("d", "D"), drawing("e", "E")))
	outside := filepath.Join(t.TempDir(), secret.Sum)
	if err := os.WriteFile(outside, []byte("E"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(data string) string {
		name, err := s.imageFile(ses.ID(), drawing("", data).Sum)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, err := range []error{
		os.Remove(at("A")),
		os.WriteFile(at("B"), []byte("b"), 0o600),
		os.Remove(at("C")), os.Mkdir(at("C"), 0o700),
		os.Remove(at("E")), os.Symlink(outside, at("E")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := seen(history(t, ses)); got != "- - - D -" {
		t.Errorf("the images are %q", got)
	}
	for _, sum := range []string{"", "..", "../" + ses.ID() + suffix, strings.ToUpper(secret.Sum), outside} {
		if data := s.image(ses.ID(), model.Image{Sum: sum}); data != nil {
			t.Errorf("the name %q was read: %q", sum, data)
		}
		if err := s.keepImages(ses.ID(), []model.Image{{Sum: sum, Data: []byte("x")}}); err == nil {
			t.Errorf("the name %q was written", sum)
		}
	}
}

// TestImagesShown: no more images are read into memory than a request holds.
func TestImagesShown(t *testing.T) {
	_, ses := begun(t, showing("first", drawing("first", "first")))
	for range model.MaxImages.Shown {
		put(t, ses, showing("look", drawing("x", "x")))
	}
	if got := seen(history(t, ses)); got != "-"+strings.Repeat(" x", model.MaxImages.Shown) {
		t.Errorf("the images are %q", got)
	}
}

func TestImagesDeleted(t *testing.T) {
	s, ses := begun(t, showing("look", drawing("a", "A")))
	closed(t, ses)
	if err := s.Delete(ses.ID()); err != nil {
		t.Fatal(err)
	}
	if left := files(t, s); left != nil {
		t.Errorf("deleted, and there are still %q", left)
	}
}

// TestImagesForked: a copy has exactly the images of its items, also after the original session
// was deleted.
func TestImagesForked(t *testing.T) {
	s, ses := begun(t, showing("one", drawing("a", "A"), drawing("lost", "lost")), answer("x"), showing("two", drawing("b", "B")))
	if err := os.Remove(filepath.Join(s.imageDir(ses.ID()), drawing("", "lost").Sum)); err != nil {
		t.Fatal(err)
	}
	all, err := s.Fork(ses.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	part, err := s.Fork(ses.ID(), 2)
	if err != nil {
		t.Fatal(err)
	}
	fileOf := func(id string) os.FileInfo {
		info, err := os.Stat(filepath.Join(s.imageDir(id), drawing("", "A").Sum))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	if !os.SameFile(fileOf(ses.ID()), fileOf(all)) || !os.SameFile(fileOf(all), fileOf(part)) {
		t.Error("a copy has an image of its own")
	}
	closed(t, ses)
	if err := s.Delete(ses.ID()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{all: "A - B", part: "A -"} {
		if got := seen(history(t, opened(t, s, id))); got != want {
			t.Errorf("the images of the copy are %q, want %q", got, want)
		}
	}
	if n := len(files(t, s)); n != 2+2+3 {
		t.Errorf("the store holds %q", files(t, s))
	}
}

// TestImagesUnkept: a store that cannot write an image reports it and keeps the text.
func TestImagesUnkept(t *testing.T) {
	s, ses := begun(t, user("hello"))
	if err := os.WriteFile(s.imageDir(ses.ID()), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ses.Append(showing("look", drawing("a", "A"))); err == nil {
		t.Error("an image was kept where there is no folder for it")
	}
	put(t, ses, answer("I see none"))
	if h := history(t, ses); len(h.Items) != 3 || seen(h) != "-" {
		t.Errorf("the conversation is %+v", h.Items)
	}
}

// TestImagesExported: the page describes them.
func TestImagesExported(t *testing.T) {
	lost := drawing("<lost>", "")
	s, ses := begun(t, showing("look", drawing("a \"b\".png", "A"), lost))
	var md bytes.Buffer
	if err := s.Export(&md, ses.ID()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(md.String(), "look\n[image: a \"b\".png (PNG, 4×3)]\n[image: <lost> (") {
		t.Errorf("the text is\n%s", md.String())
	}
}
