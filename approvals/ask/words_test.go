package ask

import (
	"testing"

	"codeagent/approvals/decide"
	"codeagent/event/word"
)

func TestTheQuestionNamesTheProgram(t *testing.T) {
	tests := []struct{ line, want string }{
		{`echo "hello there" > x`, "echo"},
		{"npm install --no-audit leftpad", "npm install"},
		{"git -C x push", "git"},
		{"FOO=1 /usr/bin/make all", "/usr/bin/make"},
		{"./git push", "./git push"}, // may be any program
		{"A=b", "a command"},
		{"ls && rm -rf x", "ls and 1 other program"},
		{"ls\nrm -rf x\nrm -rf y", "ls and 2 other programs"},
		{"echo $(rm x)", "echo and 1 other program"},
		{"cd web && npm test", "npm test"},
		{"cd web; npm test | tail -3", "npm test and 1 other program"},
		{"if true; then rm x; fi", "true and 1 other program"},
		{"git commit -m 'a; b && c'", "git commit"},
		{"git commit -m 'é; x'", "git commit and other programs"}, // not parsed
		{"git commit -m é", "git commit"},
		{"ls \r\nrm x", "ls and other programs"},
		{"$X y", "$X"},
	}
	for _, tt := range tests {
		if got := who(decide.Action{Kind: word.KindCommand, Command: tt.line}); got != tt.want {
			t.Errorf("who(%q) = %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestWants(t *testing.T) {
	for who, want := range map[string]string{"npm install": "npm install wants", "ls and 1 other program": "ls and 1 other program want", "ls and other programs": "ls and other programs want"} {
		if got := wants(who); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
