package learning

import (
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// TestAnswer: an answer ends with its line, and what follows is left to the command.
func TestAnswer(t *testing.T) {
	for text, want := range map[string]bool{"y\n": true, " YES \nrest": true, "yes": true, "n\n": false, "\n": false, "": false, "yes please\n": false} {
		in := strings.NewReader(text)
		if got, _ := readAnswer(in); (got == "y" || got == "yes") != want {
			t.Errorf("%q: %q", text, got)
		}
		if text == " YES \nrest" && in.Len() != len("rest") {
			t.Errorf("%d bytes are left of %q", in.Len(), text)
		}
	}
}

// TestNeeds: what no setting opens is a comment, whatever is in a name.
func TestNeeds(t *testing.T) {
	var out strings.Builder
	n := Needs{Header: "make", Where: "in config.toml:", TOML: "[sandbox]\n", Guessed: []string{"a:443"}, Left: []string{"/x\n[sandbox]"}, Stays: []string{"read /k"}}
	if err := n.Write(&out); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if !strings.HasPrefix(line, "# ") && line != "[sandbox]" || line == "[sandbox]" && i != 3 {
			t.Errorf("line %d: %q", i, line)
		}
	}
	for _, want := range []string{"# a:443: the port is a guess", "# No setting opens /x", "# Stays refused: read /k", "# There is more"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out.String(), want)
		}
	}
	out.Reset()
	if err := (Needs{Header: "true", All: true}).Write(&out); err != nil || out.String() != "# true\n# Nothing.\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestStays: what the output alone tells counts only where the command was kept from reading.
func TestStays(t *testing.T) {
	got := Stays([]sandbox.Denial{
		{Kind: sandbox.KindProtected, Target: "/w/.git/config"}, {Kind: sandbox.KindProtected, Target: "/w/.git/config"}, {Kind: sandbox.KindWrite, Target: "/moot", Moot: true},
		{Kind: sandbox.KindWrite, Target: "/guess", Evidence: sandbox.EvidenceOutput}, {Kind: sandbox.KindRead, Target: "/k", Evidence: sandbox.EvidenceOutput},
	})
	if want := []string{string(sandbox.KindProtected) + " /w/.git/config", string(sandbox.KindRead) + " /k"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
