package screen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/model"
	"codeagent/tui/message"
)

// TestTypedHistory: what was typed comes back whole, in a file for the user only that stays
// bounded; a damaged line and a link in its place lose nothing else.
func TestTypedHistory(t *testing.T) {
	h := history{filepath.Join(t.TempDir(), "h.jsonl")}
	if said, err := h.Load(t.Context()); err != nil || len(said) != 0 {
		t.Fatalf("%v, %v", said, err)
	}
	add := func(said message.Message) {
		t.Helper()
		if err := h.Add(t.Context(), said); err != nil {
			t.Fatal(err)
		}
	}
	add(message.Message{Text: "one\ntwo \x1b[2J"})
	add(message.Message{Text: "a paste", Pastes: []string{"paste"}, Images: []message.Image{{Image: model.Image{Data: []byte("secret")}}}})
	add(message.Message{Text: strings.Repeat("x", historyText)}) // too long to be kept
	if f, err := os.OpenFile(h.file, os.O_APPEND|os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	} else {
		fmt.Fprint(f, "{\"text\": \nnull\n")
		f.Close()
	}
	add(message.Message{Text: "last"})
	said, err := h.Load(t.Context())
	if err != nil || len(said) != 3 || said[0].Text != "one\ntwo \x1b[2J" || said[1].Text != "a paste" || len(said[1].Pastes) != 1 || said[2].Text != "last" {
		t.Errorf("%+v, %v", said, err)
	}
	if info, err := os.Stat(h.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if data, _ := os.ReadFile(h.file); strings.Contains(string(data), "c2VjcmV0") || strings.Contains(string(data), "secret") {
		t.Error("an image was kept")
	}
	for i := range 60 {
		add(message.Message{Text: fmt.Sprint(i, strings.Repeat("y", 60<<10))})
	}
	if info, err := os.Stat(h.file); err != nil || info.Size() > historyBytes || info.Mode().Perm() != 0o600 {
		t.Errorf("%d bytes, %v, %v", info.Size(), info.Mode(), err)
	}
	if said, err = h.Load(t.Context()); err != nil || len(said) == 0 || !strings.HasPrefix(said[len(said)-1].Text, "59") {
		t.Errorf("%d messages, %v", len(said), err)
	}
	other := filepath.Join(filepath.Dir(h.file), "other")
	if err := os.Symlink(other, h.file+"2"); err != nil {
		t.Fatal(err)
	}
	if err := (history{h.file + "2"}).Add(t.Context(), message.Message{Text: "x"}); err == nil {
		t.Error("a link was followed")
	}
}

// TestEdit: the editor changes the text, its file is gone afterwards, and an editor that
// fails or is not set changes nothing.
func TestEdit(t *testing.T) {
	state := t.TempDir()
	script := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nstat -c %a \"$2\" >>\"$2\"\n[ \"$1\" = fail ] && exit 3\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ visual, editor, want, err string }{
		{"", "", "", "no editor is set: set VISUAL or EDITOR"},
		{script + " ok", "absent", "text\n600\n", ""},
		{"", script + " ok", "text\n600\n", ""},
		{script + " fail", "", "", "exit status 3; the message is as it was"},
		{"absent-editor", "", "", "not installed"},
	} {
		ws := &workspace.Workspace{Stdio: cli.Stdio{In: os.Stdin, Out: os.Stdout, Environ: []string{"VISUAL=" + c.visual, "EDITOR=" + c.editor, "PATH=/usr/bin:/bin"}}, Paths: config.Paths{State: state}}
		got, err := edit(t.Context(), ws, "text\n")
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q, %q: %q, %v", c.visual, c.editor, got, err)
		}
		if left, _ := os.ReadDir(state); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
}
