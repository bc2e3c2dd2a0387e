package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codeagent/event/word"
)

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestReadFile(t *testing.T) {
	p := newPlace(t, map[string]string{
		"f": "one\ntwo\nthree\n", "noend": "one\ntwo", "empty": "", "crlf": "a\r\nb\r\n", "bin": "\x7fELF\x00\x01", "latin": "caf\xe9\n",
		"long": strings.Repeat("x", 5000) + "\ny\n", "wide": strings.Repeat(strings.Repeat("w", 1500)+"\n", 100), "many": numbered(1, 5000),
		"blank": "\n\n", "utf8": strings.Repeat("\u00e9", 1500) + "\n",
	})
	p.link("f", "link")
	p.link(p.out+"/secret", "outlink")
	if err := syscall.Mkfifo(filepath.Join(p.ws, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args args
		want string
	}{
		{"whole", args{"path": "f"}, "1\tone\n2\ttwo\n3\tthree"},
		{"absolute", args{"path": p.ws + "/f"}, "1\tone\n2\ttwo\n3\tthree"},
		{"through a link", args{"path": "link"}, "1\tone\n2\ttwo\n3\tthree"},
		{"outside is readable", args{"path": "outlink"}, "1\tsecret"},
		{"from a line", args{"path": "f", "offset": 2}, "2\ttwo\n3\tthree"},
		{"a range", args{"path": "f", "offset": 2, "limit": 1}, "2\ttwo\n(lines 2 to 2 of 3; continue with offset 3)"},
		{"the start", args{"path": "f", "limit": 1}, "1\tone\n(lines 1 to 1 of 3; continue with offset 2)"},
		{"beyond the end", args{"path": "f", "offset": 9}, "(the file has 3 lines; there is no line 9)"},
		{"no final newline", args{"path": "noend"}, "1\tone\n2\ttwo\n(no newline at the end of the file)"},
		{"no final newline, not in view", args{"path": "noend", "limit": 1}, "1\tone\n(lines 1 to 1 of 2; continue with offset 2)"},
		{"empty", args{"path": "empty"}, "(the file is empty)"},
		{"blank lines", args{"path": "blank"}, "1\t\n2\t"},
		{"crlf", args{"path": "crlf"}, "1\ta\n2\tb\n(lines end in CR LF)"},
		{"binary", args{"path": "bin"}, "This is a binary file of 6 bytes; it begins with 7f 45 4c 46 00 01. It is not shown as text."},
		{"not UTF-8", args{"path": "latin"}, "1\tcaf\uFFFD\n(bytes that are not UTF-8 are shown as \uFFFD)"},
		{"long line", args{"path": "long"}, "1\t" + strings.Repeat("x", 2000) + " […3000 more bytes]\n2\ty"},
		{"long line of wide characters", args{"path": "utf8"}, "1\t" + strings.Repeat("\u00e9", 1000) + " […1000 more bytes]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r := p.ok("read_file", tt.args); r.Text != tt.want {
				t.Errorf("got  %q\nwant %q", r.Text, tt.want)
			}
		})
	}
	many := p.ok("read_file", args{"path": "many"})
	contains(t, "text", many.Text, "1\tline 1\n", "2000\tline 2000\n(lines 1 to 2000 of 5000; continue with offset 2001)")
	if r := p.ok("read_file", args{"path": "many", "offset": 2001, "limit": 9999}); !strings.HasPrefix(r.Text, "2001\tline 2001\n") || len(lines(r.Text)) != 2001 {
		t.Errorf("%d lines", len(lines(r.Text)))
	}
	if r := p.ok("read_file", args{"path": "wide"}); len(r.Text) > readBytes+100 || !strings.Contains(r.Text, "(lines 1 to 43 of 100; continue with offset 44)") {
		t.Errorf("%d bytes, %s", len(r.Text), tail(r.Text))
	}
	for name, want := range map[string]string{
		"nope": "there is no file or folder nope", ".": ". is a folder; list_files", "fifo": "fifo is not a regular file", "/dev/zero": "not a regular file",
	} {
		r, err := p.do("read_file", args{"path": name})
		if err != nil || !r.Failed {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		contains(t, name, r.Text, want)
	}
	for _, tt := range []struct {
		args any
		want string
	}{
		{args{"path": ""}, "the path is empty"},
		{args{"path": "f", "offset": -1}, "must be positive"},
		{args{"path": "f\x00"}, "NUL"},
		{args{"path": "f/x"}, "not a directory"},
		{args{"path": strings.Repeat("x", 5000)}, "at most 4096"},
	} {
		if _, err := p.plan("read_file", tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.args, err)
		}
	}
}

// A line deep in a file of many chunks is found, and chunk borders do not affect the result.
func TestReadFileDeep(t *testing.T) {
	const n = 400_000 // 4.7 MB
	p := newPlace(t, map[string]string{"big": numbered(1, n)})
	r := p.ok("read_file", args{"path": "big", "offset": n - 1, "limit": 5})
	if want := fmt.Sprintf("%d\tline %d\n%d\tline %d", n-1, n-1, n, n); r.Text != want {
		t.Errorf("%q", r.Text)
	}
	for _, at := range []int{80_000, 81_000, 161_000, 162_000} {
		r := p.ok("read_file", args{"path": "big", "offset": at})
		for i, l := range lines(r.Text)[:2000] {
			if want := fmt.Sprintf("%d\tline %d", at+i, at+i); l != want {
				t.Fatalf("%q, want %q", l, want)
			}
		}
	}
}

// Files hidden by the policy are hidden from every file tool, also under another name.
func TestHiddenFiles(t *testing.T) {
	p := newPlace(t, map[string]string{"sub/.env": "KEY=needle\n", "sub/other": "needle\n", "hidden/f": "needle\n"})
	p.link("sub/.env", "innocent")
	p.link("hidden", "innocent-folder")
	p.policy.DenyRead, p.policy.DenyGlobs = []string{filepath.Join(p.ws, "hidden")}, []string{"**/.env"}
	for _, name := range []string{"sub/.env", "innocent", "hidden/f", "innocent-folder/f", "/proc/self/root" + p.ws + "/sub/.env"} {
		r, err := p.do("read_file", args{"path": name})
		if err == nil && (!r.Failed || strings.Contains(r.Text, "needle")) {
			t.Errorf("%s was read: %+v", name, r)
		}
		if name == "innocent" {
			contains(t, "text", r.Text, "the sandbox does not allow to read sub/.env (**/.env)", "additional_permissions")
			if r.Outcome != word.Refused {
				t.Errorf("%+v", r)
			}
		}
	}
	own := p.ws + "/records" // codeagent's own files are hidden too, and nothing can open them
	p.write("records/f", "needle\n")
	p.policy.Protected.Own, p.policy.Protected.Hidden = []string{own}, []string{own}
	r, err := p.do("read_file", args{"path": "records/f"})
	if err != nil || !r.Failed || strings.Contains(r.Text, "needle") || strings.Contains(r.Text, "additional_permissions") {
		t.Errorf("%+v %v", r, err)
	}
	contains(t, "text", r.Text, "codeagent's own records, which no command may read")
	if r := p.ok("list_files", args{"glob": "**"}); strings.Contains(r.Text, ".env") || strings.Contains(r.Text, "hidden/") {
		t.Errorf("listed: %s", r.Text)
	}
	if r := p.ok("search", args{"pattern": "needle"}); r.Text != "sub/other:1:needle" {
		t.Errorf("found: %s", r.Text)
	}
	for _, tool := range []string{"list_files", "search"} {
		r, err := p.do(tool, args{"path": "innocent-folder", "pattern": "x"})
		if tool == "list_files" {
			r, err = p.do(tool, args{"path": "innocent-folder"})
		}
		if err != nil || r.Outcome != word.Refused {
			t.Errorf("%s: %+v, %v", tool, r, err)
		}
	}
}
