package seatbelt

import "testing"

// TestOwnTerminal: a command can open its own terminal and no other one.
func TestOwnTerminal(t *testing.T) {
	rules, err := terminalRules("/dev/ttys003")
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range policies() {
		text, params, err := profileOf(p)
		if err != nil {
			t.Fatal(err)
		}
		sb := parseProfile(t, text+rules, params)
		for device, want := range map[string]bool{"/dev/ttys003": true, "/dev/tty": true, "/dev/ttys001": false, "/dev/ttys0033": false, "/dev/console": false} {
			for _, op := range []string{"file-write-data", "file-ioctl"} {
				if got := sb.allows(query{op: op, path: device, device: true}); got != want {
					t.Errorf("%s: %s of %s: %t, want %t", name, op, device, got, want)
				}
			}
		}
		for _, q := range []query{{op: "file-write-data", path: "/dev/ttys003"}, {op: "file-write-unlink", path: "/dev/ttys003", device: true}} {
			if sb.allows(q) {
				t.Errorf("%s: the terminal can be replaced by %+v", name, q)
			}
		}
	}
	for _, name := range []string{"", "/dev/ttys", "/dev/ttys1/../disk0", "/dev/disk0", "/dev/ttys1\")(allow default)", "/dev/ttys1\n"} {
		if rules, err := terminalRules(name); err == nil {
			t.Errorf("%q is taken for a terminal: %s", name, rules)
		}
	}
}
