package hostfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// grounds returns a folder of the user's own and one that commands write.
func grounds(t *testing.T) (own, work string, g Ground) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	own, work = dir+"/own", dir+"/work"
	must(t, os.MkdirAll(own+"/bin", 0o755))
	must(t, os.MkdirAll(work+"/bin", 0o755))
	return own, work, Ground{}.WithPolicy(sandbox.Policy{Write: []sandbox.Root{{Path: work}}})
}

// TestResolve: a link of the user is followed, one that a command may have made is not,
// wherever either leads.
func TestResolve(t *testing.T) {
	own, work, g := grounds(t)
	write(t, own+"/target", "", 0o600)
	write(t, work+"/target", "", 0o600)
	must(t, os.Symlink(own+"/target", own+"/good"))
	must(t, os.Symlink(work+"/target", own+"/into"))
	must(t, os.Symlink(own+"/target", work+"/answer.md"))
	must(t, os.Symlink(own, work+"/out"))
	must(t, os.Symlink(work+"/answer.md", own+"/twice"))
	open := own + "/open"
	must(t, os.Mkdir(open, 0o700))
	must(t, os.Chmod(open, 0o777))
	must(t, os.Symlink(own+"/target", open+"/link"))
	for name, want := range map[string]string{
		own + "/good": own + "/target", own + "/into": work + "/target", work + "/target": work + "/target", work + "/new": work + "/new",
		work + "/answer.md": "", work + "/out/target": "", own + "/twice": "", open + "/link": "",
	} {
		got, err := g.Resolve("/", name)
		if got != want || (want == "") != (err != nil) {
			t.Errorf("%s leads to %q, %v; want %q", name, got, err, want)
		}
	}
	var ground *GroundError
	if _, err := g.Resolve(work, "answer.md"); !errors.As(err, &ground) || !ground.Link {
		t.Errorf("a planted link: %v", err)
	}
}

// TestProgram: no component of the path to a program, or to its interpreter, is on ground.
func TestProgram(t *testing.T) {
	own, work, g := grounds(t)
	write(t, own+"/bin/tool", "#!/bin/sh\n", 0o755)
	write(t, work+"/bin/evil", "#!/bin/sh\n", 0o755)
	write(t, work+"/bin/tool", "#!/bin/sh\n", 0o755)
	write(t, own+"/bin/ascript", "#!"+work+"/bin/evil -x\n", 0o755)
	write(t, own+"/bin/anenv", "#!/usr/bin/env -S "+work+"/bin/evil\n", 0o755)
	write(t, own+"/bin/relative", "#!bin/sh\n", 0o755)
	write(t, own+"/bin/plain", "#!/bin/sh\n", 0o644)
	must(t, os.Symlink("/bin/sh", work+"/bin/sh"))
	must(t, os.Symlink("tool", own+"/bin/link"))
	must(t, os.Symlink(work+"/bin/evil", own+"/bin/away"))
	path := strings.Join([]string{work + "/bin", "bin", "", own + "/bin", "/bin"}, ":")
	for name, want := range map[string]string{
		"tool": own + "/bin/tool", "link": own + "/bin/link", "sh": "/bin/sh", "evil": "", "ascript": "", "anenv": "", "relative": "", "plain": "", "away": "",
		"bin/tool": "", "": "", "none": "", own + "/bin/tool": own + "/bin/tool", work + "/bin/tool": "", work + "/bin/sh": "",
	} {
		got, err := g.Program(path, name)
		if want == "" && err == nil || want != "" && (err != nil || got != want) {
			t.Errorf("%q is %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestCommand: neither the program, nor its arguments, nor its environment lead to ground.
func TestCommand(t *testing.T) {
	own, work, g := grounds(t)
	write(t, own+"/bin/tool", "#!/usr/bin/env sh\nhelper\n", 0o755)
	write(t, own+"/bin/helper", "#!/bin/sh\necho mine\n", 0o755)
	write(t, work+"/bin/helper", "#!/bin/sh\necho planted\n", 0o755)
	must(t, os.Symlink(work+"/bin", own+"/venv"))
	env := []string{"PATH=" + work + "/bin:" + own + "/venv:rel:" + own + "/bin:/usr/bin:/bin", "PYTHONPATH=" + work + "/lib", "NODE_OPTIONS=--require " + work + "/x.js", "KEPT=" + work + "side"}
	cmd, err := g.Command(context.Background(), env, "tool")
	must(t, err)
	if want := []string{"PATH=" + own + "/bin:/usr/bin:/bin", "KEPT=" + work + "side"}; !slices.Equal(cmd.Env, want) {
		t.Errorf("environment %q, want %q", cmd.Env, want)
	}
	if out, err := cmd.Output(); string(out) != "mine\n" || err != nil {
		t.Errorf("printed %q, %v", out, err)
	}
	for _, arg := range []string{work + "/bin/helper", "--file=" + work + "/bin/helper", own + "/venv/helper"} {
		if _, err := g.Command(context.Background(), env, "tool", arg); err == nil {
			t.Errorf("the argument %s was taken", arg)
		}
	}
}

// TestRecord: the ground of one session is ground in the next.
func TestRecord(t *testing.T) {
	own, work, _ := grounds(t)
	record, ctx := own+"/record", context.Background()
	for _, roots := range [][]string{{work}, {work + "/below", own + "/with \"quotes\"\n"}, {"/"}} {
		known, err := ReadRoots(ctx, record)
		must(t, err)
		_, err = RecordRoots(record, known, roots)
		must(t, err)
	}
	known, err := ReadRoots(ctx, record)
	must(t, err)
	if want := []string{work, own + "/with \"quotes\"\n"}; !slices.Equal(known.roots, want) {
		t.Errorf("kept %q, want %q", known.roots, want)
	}
	size := func() int64 { info, err := os.Stat(record); must(t, err); return info.Size() }
	before := size()
	for range 3 {
		_, err = RecordRoots(record, known, []string{"/", work, work + "/below"})
		must(t, err)
	}
	if size() != before {
		t.Error("the record grew by what it held")
	}
	must(t, os.WriteFile(record, []byte("\"/a\"\n\"/ha"), 0o600)) // a full disk
	_, err = RecordRoots(record, Ground{}, []string{"/b"})
	must(t, err)
	if known, err = ReadRoots(ctx, record); err != nil || !slices.Equal(known.roots, []string{"/a", "/b"}) {
		t.Errorf("after half a line: %q, %v", known.roots, err)
	}
	long := strings.Repeat("x", 1000)
	for i := range 700 {
		if known, err = RecordRoots(record, known, []string{filepath.Join("/r", long, string(rune('a'+i%26))+strings.Repeat("y", i))}); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(record); err != nil || info.Size() > recordMost {
		t.Errorf("the record has %d bytes, %v", info.Size(), err)
	}
	must(t, os.Remove(record))
	must(t, os.Symlink(own+"/bin", record))
	if _, err := ReadRoots(ctx, record); err == nil {
		t.Error("read the record through a link")
	}
}
