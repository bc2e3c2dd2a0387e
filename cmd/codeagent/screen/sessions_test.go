package screen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
	sessions "codeagent/session"
)

// TestScreenListsDamaged: /sessions shows a session that cannot be used, with the reason,
// does not open it, and can delete it.
func TestScreenListsDamaged(t *testing.T) {
	home := t.TempDir()
	state := filepath.Join(home, ".local/state/codeagent")
	dir := filepath.Join(state, "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const id = "00000000000000aa"
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &sessionList{s: cli.Stdio{Environ: []string{"HOME=" + home}}, store: sessions.New(dir), here: "/work"}
	list, err := k.List(t.Context(), false)
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Name, "cannot be used: it is damaged") {
		t.Fatalf("listed %+v, %v", list, err)
	}
	if err := k.Open(t.Context(), id); err == nil {
		t.Error("it was opened")
	}
	if err := k.Delete(t.Context(), id); err != nil {
		t.Error(err)
	}
	if list, err := k.List(t.Context(), true); err != nil || len(list) != 0 {
		t.Errorf("after the deletion %+v, %v", list, err)
	}
}
