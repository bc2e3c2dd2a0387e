package screen

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codeagent/agent"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/tui/clipboard"
)

// TestImageLoader: a pasted path becomes an image or an error; other text stays as it was
// pasted.
func TestImageLoader(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 4, 3))); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.WriteFile(at("a.png"), small.Bytes(), 0o600), os.WriteFile(at("text.png"), []byte("hello"), 0o600), os.WriteFile(at("cut.png"), []byte("\x89PNG\r\n\x1a\n\x00"), 0o600),
		os.Mkdir(at("folder.png"), 0o700), syscall.Mkfifo(at("fifo.png"), 0o600), os.Truncate(at("text.png"), 5),
		os.WriteFile(at("huge.png"), []byte("\x89PNG\r\n\x1a\n\x00"), 0o600), os.Truncate(at("huge.png"), 40<<30),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, blind := range []bool{false, true} {
		load := imageLoader{&conversation.Session{Base: &conversation.Base{Workspace: &workspace.Workspace{}}, Agent: agent.New(agent.Config{ModelName: "mole", Blind: blind})}}
		img, err := load.Load(t.Context(), at("a.png"))
		switch {
		case blind && (err == nil || errors.Is(err, clipboard.ErrNoImage) || !strings.Contains(err.Error(), "mole cannot see images")):
			t.Errorf("a model that sees nothing: %v", err)
		case !blind && (err != nil || img.Name != at("a.png") || img.Width != 4 || img.Height != 3 || img.MediaType != "image/png" || img.Sum == "" || len(img.Data) == 0):
			t.Errorf("%+v, %v", img, err)
		}
		for name, want := range map[string]string{"absent.png": "", "text.png": "", "folder.png": "", "fifo.png": "", "cut.png": "damaged", "huge.png": "MiB"} {
			_, err := load.Load(t.Context(), at(name))
			if err == nil || errors.Is(err, clipboard.ErrNoImage) != (want == "") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
