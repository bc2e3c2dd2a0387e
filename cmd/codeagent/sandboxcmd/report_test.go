package sandboxcmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/config"
	"codeagent/sandbox"
)

// TestHintsArePasted: a command chooses the names of its denied files, so the text to paste
// must be the flag and exactly that name.
func TestHintsArePasted(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "a folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x;touch PWN;y", "it's", "$x", "two words", "`id`", "a\\b", "*", "ä"} {
		file := filepath.Join(dir, name)
		r := Report{Denied: true, Suggest: sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "::1", Port: 80}, {Host: "example.com"}}}}
		words := []string{"--add-file " + file, "--add-dir " + folder, "--allow-host [::1]:80", "--allow-host example.com:443", "--allow-socket " + file}
		var flags []config.Flag
		for _, word := range words {
			flag, value, _ := strings.Cut(word, " ")
			flags = append(flags, config.Flag{Name: flag, Values: []string{value}})
		}
		var told bytes.Buffer
		r.summarize(&told, flags, nil)
		lines := strings.Split(strings.TrimSuffix(told.String(), "\n"), "\n")
		if len(lines) != len(words) {
			t.Fatalf("%q: %s", name, told.String())
		}
		for i, line := range lines {
			pasted, found := strings.CutPrefix(line, "  to allow it: ")
			pasted, _, _ = strings.Cut(pasted, " (only the name was looked up")
			sh := exec.Command("/bin/sh", "-c", `printf '%s|' `+pasted)
			sh.Dir = dir
			out, err := sh.CombinedOutput()
			if want := strings.Replace(words[i], " ", "|", 1) + "|"; !found || err != nil || string(out) != want {
				t.Errorf("%q means %q to a shell, %v; want %q", line, out, err, want)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "PWN")); err == nil {
		t.Error("a name was run")
	}
}

// TestNoHintForWhatIsNotShown: the shown name would allow another file.
func TestNoHintForWhatIsNotShown(t *testing.T) {
	for _, name := range []string{"/w/a\nb", "/w/a\xffb", "/w/a\tb", "/w/a\x1b[2Jb", "/w/a\u202eb"} {
		var told bytes.Buffer
		Report{Denied: true}.summarize(&told, []config.Flag{{Name: "--allow-socket", Values: []string{name}}}, []string{name + ": x"})
		if s := told.String(); strings.Contains(s, "to allow it") || strings.Count(s, "\n") != 2 || strings.Count(s, "characters that cannot be shown: /w/a") != 1 {
			t.Errorf("%q: %q", name, s)
		}
	}
}
