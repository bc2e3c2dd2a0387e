//go:build linux

package linuxsandbox

import (
	"encoding/base64"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// readSpec reads what encodeSpec wrote, field by field. A field that is missing
// here fails TestSpecGolden.
func readSpec(data []byte) (*Spec, error) {
	r := &jsonReader{data: data}
	s := &Spec{}
	r.object(func(name string) bool {
		switch name {
		case "version":
			s.Version = int(r.int(64))
		case "rules":
			r.array(func() { s.Rules = append(s.Rules, r.rule()) })
		case "unreadable":
			r.array(func() { s.Unreadable = append(s.Unreadable, r.text()) })
		case "network":
			s.Network = r.bool()
		case "host_net":
			s.HostNet = r.uint(64)
		case "ask":
			s.Ask = r.bool()
		case "path_sockets":
			s.PathSockets = r.bool()
		case "locks":
			s.Locks = r.bool()
		case "keep_file_caps":
			s.KeepFileCaps = r.bool()
		case "limits":
			s.Limits = r.limits()
		case "group":
			s.Group = int(r.int(64))
		case "own":
			r.array(func() { s.Own = append(s.Own, r.ownFile()) })
		case "mounts":
			s.Mounts = r.mounts()
		case "probe":
			s.Probe = r.bool()
		case "command":
			s.Command = r.command()
		default:
			return false
		}
		return true
	})
	return s, r.end()
}

func (r *jsonReader) mounts() *mountPlan {
	m := &mountPlan{}
	r.object(func(name string) bool {
		list, ok := map[string]*[]string{
			"writable": &m.Writable, "private": &m.Private, "readable": &m.Readable, "pins": &m.Pins,
			"protected": &m.Protected, "granted": &m.Granted, "hidden": &m.Hidden, "console": &m.Console,
		}[name]
		switch {
		case ok:
			r.array(func() { *list = append(*list, r.text()) })
		case name == "temp":
			m.Temp = r.text()
		case name == "memory":
			m.Memory = r.bool()
		case name == "host_proc":
			m.HostProc = r.bool()
		case name == "devices":
			m.Devices = r.bool()
		case name == "terminals":
			m.Terminals = r.bool()
		default:
			return false
		}
		return true
	})
	return m
}

func (r *jsonReader) rule() (rule Rule) {
	r.object(func(name string) bool {
		switch name {
		case "path":
			rule.Path = r.text()
		case "access":
			rule.Access = Access(r.text())
		case "optional":
			rule.Optional = r.bool()
		default:
			return false
		}
		return true
	})
	return rule
}

func (r *jsonReader) limits() (l sandbox.Limits) {
	r.object(func(name string) bool {
		field, ok := map[string]*int64{
			"wall_ms": &l.WallMillis, "cpu_s": &l.CPUSeconds, "cpu_percent": &l.CPUPercent, "memory": &l.Memory, "processes": &l.Processes,
			"open_files": &l.OpenFiles, "file_size": &l.FileSize, "output": &l.Output,
		}[name]
		if ok {
			*field = r.int(64)
		}
		return ok
	})
	return l
}

func (r *jsonReader) command() (c specCommand) {
	r.object(func(name string) bool {
		switch name {
		case "path":
			c.Path = r.bytes()
		case "args":
			r.array(func() { c.Args = append(c.Args, r.bytes()) })
		case "env":
			r.array(func() { c.Env = append(c.Env, r.bytes()) })
		case "dir":
			c.Dir = r.bytes()
		case "foreground":
			c.Foreground = r.bool()
		case "terminal":
			c.Terminal = r.bool()
		default:
			return false
		}
		return true
	})
	return c
}

// bytes reads a text, in either form.
func (r *jsonReader) bytes() (t text) {
	if r.peek() == '"' {
		return text(r.text())
	}
	r.object(func(name string) bool {
		if name != "base64" {
			return false
		}
		raw, err := base64.StdEncoding.DecodeString(r.text())
		if err != nil {
			r.fail(err.Error())
		}
		t = text(raw)
		return true
	})
	return t
}

func (r *jsonReader) ownFile() (o ownFile) {
	r.object(func(name string) bool {
		switch name {
		case "path":
			o.Path = r.text()
		case "root":
			o.Root = r.text()
		case "dirs":
			r.array(func() { o.Dirs = append(o.Dirs, uint32(r.uint(32))) })
		case "state":
			o.State = r.fileState()
		case "source":
			o.Source = int(r.int(64))
		case "source_state":
			s := r.fileState()
			o.SourceState = &s
		default:
			return false
		}
		return true
	})
	return o
}

func (r *jsonReader) fileState() (s fileState) {
	r.object(func(name string) bool {
		switch name {
		case "exists":
			s.Exists = r.bool()
		case "dev":
			s.Dev = r.uint(64)
		case "ino":
			s.Ino = r.uint(64)
		case "mode":
			s.Mode = uint32(r.uint(32))
		case "uid":
			s.UID = uint32(r.uint(32))
		case "gid":
			s.GID = uint32(r.uint(32))
		case "size":
			s.Size = r.int(64)
		case "mtime":
			s.Mtime = r.timespec()
		case "ctime":
			s.Ctime = r.timespec()
		default:
			return false
		}
		return true
	})
	return s
}

func (r *jsonReader) timespec() (t unix.Timespec) {
	r.object(func(name string) bool {
		switch name {
		case "Sec":
			t.Sec = r.int(64)
		case "Nsec":
			t.Nsec = r.int(64)
		default:
			return false
		}
		return true
	})
	return t
}
