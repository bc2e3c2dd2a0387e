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
		{"ls && rm -rf x", "ls (and 1 more)"},
		{"ls\nrm -rf x\nrm -rf y", "ls (and 2 more)"},
		{"echo $(rm x)", "echo (and 1 more)"},
		{"cd web && npm test", "npm test"},
		{"cd web; npm test | tail -3", "npm test (and 1 more)"},
		{"if true; then rm x; fi", "true (and 1 more)"},
		{"git commit -m 'a; b && c'", "git commit"},
		{"git commit -m 'é; x'", "git commit (and more)"}, // not parsed
		{"git commit -m é", "git commit"},
		{"ls \r\nrm x", "ls (and more)"},
		{"$X y", "$X"},
	}
	for _, tt := range tests {
		if got := who(decide.Action{Kind: word.KindCommand, Command: tt.line}); got != tt.want {
			t.Errorf("who(%q) = %q, want %q", tt.line, got, tt.want)
		}
	}
}
