//go:build linux

package spec

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/sandbox"
)

// exampleSpec has a value in every field (TestExampleIsWhole).
func exampleSpec() Spec {
	return Spec{
		Rules:      []Rule{{Path: "/w", Access: AccessWrite}, {Path: "/usr", Access: AccessRead, Optional: true}, {Path: "/", Access: AccessList}, {Path: "/dev/null", Access: AccessDevice}},
		Unreadable: []string{"/home/u/.ssh"}, Network: true, HostNet: 1<<64 - 1, AskNetwork: true, Ask: true, PathSockets: true, Locks: true, Reads: true, Looks: true, Programs: true, Signals: true, KeepFileCaps: true,
		Limits: sandbox.Limits{WallMillis: 7, CPUSeconds: 1, CPUPercent: 6, Memory: 2, Processes: 3, OpenFiles: 4, FileSize: 5, Output: 8}, OpenFiles: 9,
		Group: 5,
		Walls: &Walls{Follows: true, Shown: []Place{{Path: "/ws", Dev: 1, Ino: 2}}, Writable: []string{"/ws"}, ReadOnly: []string{"/ws/.git/config"}, Shared: true},
		Mounts: &Mounts{
			Writable: []string{"/w"}, Overlays: []Overlay{{Path: "/w", Upper: "/u", Work: "/k"}}, Base: true, Temp: "/t", Private: []string{"/tmp"}, Readable: []string{"/tmp/r"}, Named: []string{"/tmp/n"}, Pins: []string{"/w/.git"},
			Protected: []string{"/w/.git/hooks"}, Granted: []string{"/w/.git/hooks/g"}, Hidden: []string{"/w/h"}, Memory: true, HostProc: true, Devices: true, Terminals: true, Console: []string{"/dev/pts/7"},
		},
		LandlockABI: 7,
		First:       true,
		Probe:       true,
		Command:     Command{Path: "sh", Args: []string{"sh", "-c", "echo \xff"}, Env: []string{"A=\xfe", "B=\u00e9"}, Dir: "/w", Foreground: true, Terminal: true, Idle: true},
	}
}

// TestExampleIsWhole: the tests would not notice a lost field that has no value in exampleSpec.
func TestExampleIsWhole(t *testing.T) {
	var look func(name string, v reflect.Value)
	look = func(name string, v reflect.Value) {
		switch {
		case v.IsZero():
			t.Errorf("%s has no value", name)
		case v.Kind() == reflect.Pointer:
			look(name, v.Elem())
		case v.Kind() == reflect.Slice && v.Index(0).Kind() == reflect.Struct && v.Len() == 1:
			look(name, v.Index(0))
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				look(name+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	look("Spec", reflect.ValueOf(exampleSpec()))
}

// TestSpecGolden: a changed Spec needs a new Version.
func TestSpecGolden(t *testing.T) {
	s := exampleSpec()
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeSpec(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*back, s) {
		t.Errorf("after the socket: %+v\nwant %+v", *back, s)
	}
	text, err := json.MarshalIndent(struct {
		Version int
		Spec
	}{Version, s}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "spec.json", string(text)+"\n")
}

func TestSpecIsRefused(t *testing.T) {
	encoded := func(change func(*Spec)) string {
		s := exampleSpec()
		s.Probe = false
		change(&s)
		data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	good := encoded(func(*Spec) {})
	if _, err := DecodeSpec([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"empty":             "",
		"a field in front":  good[:8] + string(Encode(struct{ Surprise bool }{true})) + good[8:],
		"another field":     strings.Replace(good, "Network", "Netwerk", 1),
		"another case":      strings.Replace(good, "Network", "network", 1),
		"unknown version":   good[:7] + "\xff" + good[8:],
		"unknown access":    encoded(func(s *Spec) { s.Rules[1].Access = "everything" }),
		"something after":   good + "\x00",
		"cut short":         good[:len(good)-1],
		"no command":        encoded(func(s *Spec) { s.Command = Command{} }),
		"NUL in argument":   encoded(func(s *Spec) { s.Command.Args[1] = "\x00" }),
		"write rule /proc":  encoded(func(s *Spec) { s.Rules[0].Path = "/proc" }),
		"writable mount":    encoded(func(s *Spec) { s.Mounts.Writable[0] = "/" }),
		"neither yes or no": strings.Replace(good, "Network\x01", "Network\x02", 1),
		"too large":         good + strings.Repeat(" ", maxSpec),
	} {
		if s, err := DecodeSpec([]byte(data)); err == nil {
			t.Errorf("%s: accepted: %+v", name, s)
		}
	}
	big := exampleSpec()
	big.Command.Env = []string{strings.Repeat("x", maxSpec)}
	if _, err := big.Encode(); err == nil {
		t.Error("a Spec above the limit is encoded")
	}
}

// FuzzSpec: what decodes also encodes to the same bytes, and no invalid write rule passes Validate.
func FuzzSpec(f *testing.F) {
	s := exampleSpec()
	good, err := s.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(bytes.Replace(good, []byte("/usr"), []byte("/sys"), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeSpec(data)
		if err != nil {
			return
		}
		for _, r := range s.Rules {
			if r.Access == AccessWrite && NeverWritable(r.Path) != "" {
				t.Errorf("a write rule for %q came through", r.Path)
			}
		}
		if again, err := s.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("read as %+v, which is written otherwise (%v)", s, err)
		}
	})
}

// TestSpecText: every byte of a string survives encoding.
func TestSpecText(t *testing.T) {
	var all []byte
	for b := range 255 {
		all = append(all, byte(b+1))
	}
	for _, want := range []string{"", string(all), "\u00e9", "\xed\xa0\x80"} {
		s := exampleSpec()
		s.Command.Args = []string{want}
		data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeSpec(data)
		if err != nil {
			t.Errorf("%q: %v", want, err)
		} else if got := back.Command.Args[0]; got != want {
			t.Errorf("%q became %q", want, got)
		}
	}
}

func TestReports(t *testing.T) {
	for _, f := range []Facts{{}, {LandlockABI: 7, SignalProof: true, Root: true, Broker: true, NoBroker: "why", Thread: 3, CoreHandler: true}} {
		var got Facts
		if err := Decode(Encode(f), &got); err != nil || got != f {
			t.Errorf("facts %+v: %+v, %v", f, got, err)
		}
	}
	bad, got := Failure{Code: 126, Stage: "exec", Errno: 13, Text: "with \x00 and \n in it"}, Failure{}
	if err := Decode(Encode(bad), &got); err != nil || got != bad {
		t.Errorf("failure %+v: %+v, %v", bad, got, err)
	}
	for _, e := range []Exit{{Exit: 7}, {Exit: -1, Signal: 9, Limit: "cpu"}} {
		var got Exit
		if err := Decode(Encode(e), &got); err != nil || got != e {
			t.Errorf("ended %+v: %+v, %v", e, got, err)
		}
	}
	for _, body := range []string{"", "x", "1", "\x00", string(Encode(Failure{}))} {
		var got Exit
		if err := Decode([]byte(body), &got); err == nil {
			t.Errorf("ended %q: %+v", body, got)
		}
	}
}
