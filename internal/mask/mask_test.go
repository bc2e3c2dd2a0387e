package mask

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	m := New([]string{"API_KEY=abcdef", "LONG_KEY=abcdefghij", "X_KEY=ab", "H_KEY=a=firstvalue, b=second=value", "PATH=/usr/bin:/bin"}, func(name string) bool { return strings.HasSuffix(name, "_KEY") })
	for _, tt := range []struct{ in, want string }{
		{"echo abcdefghij", "echo [secret]"}, // the longer of two with the same beginning
		{"xabcdefx", "x[secret]x"},
		{"cab ab /usr/bin:/bin", "cab ab /usr/bin:/bin"},
		{`curl -H "Authorization: Bearer dGhpcyBpcw==" http://x/`, `curl -H "Authorization: Bearer [secret]" http://x/`},
		{"GITHUB_TOKEN=ghp_123456 gh pr list", "GITHUB_TOKEN=[secret] gh pr list"},
		{`{"api_key": "sk-12345", "n": 1}`, `{"api_key": "[secret]", "n": 1}`},
		{"mysql --password hunter22 -u root", "mysql --password [secret] -u root"},
		{"mysql --password --user root", "mysql --password --user root"},
		{"git clone https://ada:hunter22@example.com/x", "git clone https://ada:[secret]@example.com/x"},
		{"http://example.com:80/a@b", "http://example.com:80/a@b"},
		{"the bearer of this", "the bearer of this"},
		{"$ npm test", "$ npm test"},
		{"firstvalue and second=value", "[secret] and [secret]"},
	} {
		if got := m.Text(tt.in); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := (*Mask)(nil).Text("A_TOKEN=12345 abcdef"); got != "A_TOKEN=[secret] abcdef" {
		t.Errorf("without values: %q", got)
	}
}
