//go:build linux

package linuxsandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

func exampleSpec() Spec {
	return Spec{
		Version:    SpecVersion,
		Rules:      []Rule{{Path: "/w", Access: AccessWrite}, {Path: "/usr", Access: AccessRead, Optional: true}, {Path: "/", Access: AccessList}, {Path: "/dev/null", Access: AccessDevice}},
		Unreadable: []string{"/home/u/.ssh"}, Network: true, HostNet: 1<<64 - 1, Ask: true, PathSockets: true, Locks: true, KeepFileCaps: true,
		Limits: sandbox.Limits{CPUSeconds: 1, CPUPercent: 6, Memory: 2, Processes: 3, OpenFiles: 4, FileSize: 5},
		Group:  5,
		Own: []ownFile{{
			Path: "/w/bin/codeagent", Root: "/w", Dirs: []uint32{0o755, 0o750}, Source: 4,
			State: fileState{Exists: true, Dev: 1, Ino: 2, Mode: 0o755, Size: 3, Mtime: unix.Timespec{Sec: 4}, Ctime: unix.Timespec{Sec: 5}},
		}},
		Mounts: &mountPlan{
			Writable: []string{"/w"}, Temp: "/t", Private: []string{"/tmp"}, Readable: []string{"/tmp/r"}, Pins: []string{"/w/.git"},
			Protected: []string{"/w/.git/hooks"}, Granted: []string{"/w/.git/hooks/g"}, Hidden: []string{"/w/h"}, Memory: true, HostProc: true, Devices: true, Terminals: true, Console: []string{"/dev/pts/7"},
		},
		Command: specCommand{Path: "sh", Args: []text{"sh", "-c", "echo \xff"}, Env: []text{"A=\xfe", "B=é"}, Dir: "/w", Foreground: true, Terminal: true},
	}
}

func TestSpecGolden(t *testing.T) {
	data, err := encodeSpec(exampleSpec())
	if err != nil {
		t.Fatal(err)
	}
	var pretty any
	if err := json.Unmarshal(data, &pretty); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(pretty, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "spec.json", string(text)+"\n")
	back, err := decodeSpec(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*back, exampleSpec()) {
		t.Errorf("after the socket: %+v\nwant %+v", *back, exampleSpec())
	}
}

func TestSpecIsRefused(t *testing.T) {
	good, err := encodeSpec(exampleSpec())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"empty":            "",
		"unknown field":    strings.Replace(string(good), `"rules"`, `"surprise":1,"rules"`, 1),
		"unknown in rule":  strings.Replace(string(good), `"access"`, `"surprise":1,"access"`, 1),
		"unknown version":  strings.Replace(string(good), `"version":1`, `"version":2`, 1),
		"no version":       strings.Replace(string(good), `"version":1,`, ``, 1),
		"unknown access":   strings.Replace(string(good), `"read"`, `"everything"`, 1),
		"something after":  string(good) + "{}",
		"no command":       `{"version":1,"rules":[]}`,
		"NUL in argument":  strings.Replace(string(good), `"-c"`, `"\u0000"`, 1),
		"write rule /proc": strings.Replace(string(good), `"/w"`, `"/proc"`, 1),
		"too large":        string(good) + strings.Repeat(" ", maxSpec),
		"a field twice":    strings.Replace(string(good), `"network":true`, `"network":true,"network":false`, 1),
		"another case":     strings.Replace(string(good), `"network"`, `"Network"`, 1),
		"base64 and more":  strings.Replace(string(good), `{"base64":`, `{"x":1,"base64":`, 1),
	} {
		if s, err := decodeSpec([]byte(data)); err == nil {
			t.Errorf("%s: accepted: %+v", name, s)
		}
	}
	big := exampleSpec()
	big.Command.Env = []text{text(strings.Repeat("x", maxSpec))}
	if _, err := encodeSpec(big); err == nil {
		t.Error("a Spec above the limit is encoded")
	}
}

func FuzzSpec(f *testing.F) {
	good, err := encodeSpec(exampleSpec())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{"version":1,"rules":null,"command":{"path":"\ud83d\ude00\/\u00e9","args":["\ud800"],"env":[],"dir":"/"}}`))
	f.Add([]byte(`{"version":01,"Rules":[],"probe":true,"probe":false,"limits":{"cpu_s":-0}}`))
	f.Add([]byte(`{"version":1,"rules":[{"path":"/proc/x","access":"write"}],"probe":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeSpec(data)
		if err != nil {
			return
		}
		if theirs, err := decodeByLibrary(data); err != nil || !reflect.DeepEqual(normal(*s), normal(*theirs)) {
			t.Errorf("encoding/json reads %+v, %v\nwhere we read %+v", theirs, err, *s)
		}
		for _, r := range s.Rules {
			if r.Access == AccessWrite && neverWritable(r.Path) != "" {
				t.Errorf("a write rule for %q came through", r.Path)
			}
		}
		again, err := encodeSpec(*s)
		if err != nil {
			return // larger than before, by escapes
		}
		if _, err := decodeSpec(again); err != nil {
			t.Errorf("not read back: %v\n%s", err, again)
		}
	})
}

// decodeByLibrary is decodeSpec by encoding/json.
func decodeByLibrary(data []byte) (*Spec, error) {
	var s Spec
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return &s, s.validate()
}

// UnmarshalJSON is for decodeByLibrary alone.
func (t *text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(t))
	}
	var e encodedText
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(e.Base64)
	*t = text(raw)
	return err
}

// normal makes empty lists equal to missing ones.
func normal(s Spec) string {
	data, err := encodeSpec(s)
	if err != nil {
		return err.Error()
	}
	return strings.NewReplacer("[]", "null").Replace(string(data))
}

// TestSpecText: every byte and every kind of escape comes through.
func TestSpecText(t *testing.T) {
	var all []byte
	for b := range 255 {
		all = append(all, byte(b+1))
	}
	for _, want := range []string{"", string(all), "é", "\u2028<>&\"\\/\b\f\n\r\t\x7f", "😀", "\xed\xa0\x80", "\ufffd"} {
		s := exampleSpec()
		s.Command.Args = []text{text(want)}
		data, err := encodeSpec(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeSpec(data)
		if err != nil {
			t.Errorf("%q: %v", want, err)
		} else if got := string(back.Command.Args[0]); got != want {
			t.Errorf("%q became %q", want, got)
		}
	}
}

func TestReports(t *testing.T) {
	for _, f := range []facts{{}, {LandlockABI: 7, SignalProof: true, Root: true}} {
		if got, err := decodeFacts(f.encode()); err != nil || !reflect.DeepEqual(got, f) {
			t.Errorf("facts %+v: %+v, %v", f, got, err)
		}
	}
	bad := failure{Code: 126, Stage: "exec", Errno: 13, Text: "with \x00 and \n in it"}
	if got, err := decodeFailure(bad.encode()); err != nil || got != bad {
		t.Errorf("failure %+v: %+v, %v", bad, got, err)
	}
	for _, e := range []ended{{Exit: 7}, {Exit: -1, Signal: 9, Limit: "cpu"}} {
		if got, err := decodeEnded(e.encode()); err != nil || got != e {
			t.Errorf("ended %+v: %+v, %v", e, got, err)
		}
	}
	for _, body := range []string{"", "x", "1", "\x00", "1\x00x"} {
		if got, err := decodeEnded([]byte(body)); err == nil {
			t.Errorf("ended %q: %+v", body, got)
		}
	}
}
