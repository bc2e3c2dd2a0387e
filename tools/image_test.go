package tools

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"strings"
	"syscall"
	"testing"

	"codeagent/event/word"
	"codeagent/internal/picture"
	"codeagent/model"
)

// pngOf is a PNG file of w times h pixels.
func pngOf(t *testing.T, w, h int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestViewImage: both tools show an image, whatever its name, to a model that sees images and
// to no other.
func TestViewImage(t *testing.T) {
	file := pngOf(t, 40, 30)
	p := newPlace(t, map[string]string{"docs/a.png": file, "a.txt": file, "large.png": pngOf(t, 4000, 10), "gif.txt": "GIF87a is a format\n"})
	p.link("docs/a.png", "link")
	for _, tool := range []string{"view_image", "read_file"} {
		for path, want := range map[string]string{
			"docs/a.png": "docs/a.png (PNG, 40×30)", "a.txt": "a.txt (PNG, 40×30)", "link": "docs/a.png (PNG, 40×30)", "large.png": "large.png (PNG, 2000×5)",
		} {
			r := p.ok(tool, args{"path": path})
			if r.Text != want+" follows." || len(r.Images) != 1 || r.Images[0].String() != want || !strings.HasPrefix(r.Message, "(PNG, ") {
				t.Errorf("%s of %s: %q, %q, %v", tool, path, r.Text, r.Message, r.Images)
			}
		}
		p.stage.Blind = true
		r, err := p.do(tool, args{"path": "docs/a.png"})
		if err != nil || !r.Failed || r.Images != nil {
			t.Errorf("%s for a model that sees nothing: %+v, %v", tool, r, err)
		}
		contains(t, tool, r.Text, "docs/a.png (PNG, 40×30) is an image", "cannot see images")
		p.stage.Blind = false
	}
	if r := p.ok("read_file", args{"path": "gif.txt"}); r.Text != "1\tGIF87a is a format" || r.Images != nil {
		t.Errorf("a text that begins like an image: %q", r.Text)
	}
}

// TestViewImageRefused: a file that is not an image is refused with a reason, and only its
// beginning is read.
func TestViewImageRefused(t *testing.T) {
	file := pngOf(t, 300, 300)
	p := newPlace(t, map[string]string{"text": "hello\n", "svg": "<svg xmlns='http://www.w3.org/2000/svg'/>", "cut.png": file[:len(file)-20], "empty.png": ""})
	huge := p.ws + "/huge.png"
	p.write("huge.png", file)
	if err := os.Truncate(huge, 40<<30); err != nil { // a sparse file: it takes no space
		t.Fatal(err)
	}
	p.write("zeros", "\x00")
	if err := os.Truncate(p.ws+"/zeros", 40<<30); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(p.ws+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"text": "must be a PNG", "svg": "must be a PNG", "cut.png": "damaged", "empty.png": "empty", "huge.png": "MiB", "zeros": "MiB",
		"fifo": "not a regular file", "absent": "there is no file or folder absent", ".": "is a folder", "/dev/zero": "not a regular file",
	} {
		r, err := p.do("view_image", args{"path": path})
		if err != nil || !r.Failed || r.Images != nil || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %q does not say %q; %v", path, r.Text, want, err)
		}
	}
	r, err := p.do("read_file", args{"path": "huge.png"})
	if err != nil || !r.Failed || !strings.Contains(r.Text, "MiB") {
		t.Errorf("read_file of a huge image: %+v, %v", r, err)
	}
}

// TestWholeImage: a file of exactly the bound is whole.
func TestWholeImage(t *testing.T) {
	p := newPlace(t, map[string]string{"a.png": pngOf(t, 9, 9)})
	for _, size := range []int64{picture.MaxFile, readChunk, readChunk + 1} {
		if err := os.Truncate(p.ws+"/a.png", size); err != nil {
			t.Fatal(err)
		}
		files, err := p.runner().Files(t.Context(), p.policy, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, got, err := wholeImage(files, p.ws+"/a.png")
		files.Close()
		if err != nil || got != size || int64(len(data)) != size {
			t.Errorf("of %d bytes %d came, %d were said, %v", size, len(data), got, err)
		}
	}
}

// TestViewImageDenied: a file that may not be read is not shown.
func TestViewImageDenied(t *testing.T) {
	p := newPlace(t, map[string]string{"secret/a.png": pngOf(t, 4, 3), "b.png": pngOf(t, 4, 3)})
	p.link("secret/a.png", "a.png")
	p.policy.DenyRead = []string{p.ws + "/secret"}
	for _, path := range []string{"secret/a.png", "a.png"} {
		for _, tool := range []string{"view_image", "read_file"} {
			if r, err := p.do(tool, args{"path": path}); err != nil || r.Outcome != word.Refused || r.Images != nil {
				t.Errorf("%s of %s: %+v, %v", tool, path, r, err)
			}
		}
	}
	if r := p.ok("view_image", args{"path": "b.png"}); len(r.Images) != 1 || r.Images[0].Sum == "" || len(r.Images[0].Data) > model.MaxImages.File {
		t.Errorf("%+v", r)
	}
}
