//go:build linux

package plan

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

func write(paths ...string) sandbox.Policy {
	var p sandbox.Policy
	for _, path := range paths {
		p.Write = append(p.Write, sandbox.Root{Path: path})
	}
	return p
}

// hides returns a policy that reads the given roots, or everything, and has records to hide.
func hides(deny []string, read ...string) sandbox.Policy {
	p := sandbox.Policy{DenyRead: deny, Protected: sandbox.ProtectedNames{Own: []string{"/state"}, Hidden: []string{"/state/undo"}}}
	for _, path := range read {
		p.Read = append(p.Read, sandbox.Root{Path: path})
	}
	return p
}

func TestPlan(t *testing.T) {
	hosts := write("/w")
	hosts.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "example.com", Port: 443}}}
	limits := sandbox.Policy{Limits: sandbox.Limits{Memory: 1, CPUSeconds: 1, CPUPercent: 1, Processes: 1}}
	hidesGlobs := hides(nil)
	hidesGlobs.DenyGlobs = []string{"/state/*"}
	always := []string{"metadata", "locks", "process-death"}
	for _, row := range []struct {
		name       string
		policy     sandbox.Policy
		facts      Facts
		weaknesses []string // in addition to those that are always stated
		err        string
	}{
		{"read-only", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, ""},
		{"no Landlock", sandbox.ReadOnly(), Facts{}, nil, "cannot confine writes"},
		{"no Landlock and no broker", sandbox.ReadOnly(), Facts{Facts: spec.Facts{NoBroker: "function not implemented"}, Namespaces: true}, nil, "nothing answers for it (function not implemented)"},
		{"no Landlock, and the host's processes", sandbox.ReadOnly(), Facts{Facts: spec.Facts{Broker: true}, Namespaces: true, NoPIDs: "covered /proc"}, nil, "(covered /proc)"},
		{"no Landlock, and reads limited", sandbox.Policy{Read: []sandbox.Root{{Path: "/usr"}}}, Facts{Facts: spec.Facts{Broker: true}, Namespaces: true, HostNet: 1}, nil, "they cannot be limited to /usr"},
		{"no truncation", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 2}}, []string{"device-ioctl", "signals"}, ""},
		{"ABI 3", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 3}}, []string{"device-ioctl", "signals"}, ""},
		{"a handler of crashes", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 7, CoreHandler: true}}, []string{"core-handler"}, ""},
		{"ABI 5", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 5}}, []string{"signals"}, ""},
		{"a kernel of the future", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 99}}, nil, ""},
		{"unconfined", sandbox.FullAccess(), Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, "unconfined"},
		{"workspace", sandbox.WorkspaceWrite("/w"), Facts{Facts: spec.Facts{LandlockABI: 7}}, []string{"protected"}, ""},
		{"records", hides(nil), Facts{Facts: spec.Facts{LandlockABI: 7}}, []string{"own-records"}, ""},
		{"records and a read root around them", hides(nil, "/usr", "/state"), Facts{Facts: spec.Facts{LandlockABI: 7}}, []string{"own-records"}, ""},
		{"records and a read root in them", hides(nil, "/state/undo/s1"), Facts{Facts: spec.Facts{LandlockABI: 7}}, []string{"own-records"}, ""},
		{"records out of all read roots", hides(nil, "/usr", "/state/undone"), Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, ""},
		{"records that deny_read names", hides([]string{"/state"}), Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, ""},
		{"records that a glob names", hidesGlobs, Facts{Facts: spec.Facts{LandlockABI: 7}}, []string{"own-records", "deny-read-glob"}, ""},
		{"hosts", hosts, Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, "example.com:443"},
		{"sockets", sandbox.Policy{Sockets: []string{"/run/x.sock"}}, Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, "/run/x.sock"},
		{"glob", sandbox.Policy{DenyGlobs: []string{"**/.env"}}, Facts{Facts: spec.Facts{LandlockABI: 7}}, []string{"deny-read-glob"}, ""},
		{"shared temp", sandbox.Policy{SharedTemp: true}, Facts{Facts: spec.Facts{LandlockABI: 7}}, []string{"shared-temp"}, ""},
		{"limits", limits, Facts{Facts: spec.Facts{LandlockABI: 7}}, []string{"memory-limit", "cpu-limit", "cpu-share", "process-limit"}, ""},
		{"write root /", write("/"), Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, "write root /"},
		{"write root /proc/sys", write("/proc/sys"), Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, "/proc/sys"},
		{"write root /sys", write("/sys"), Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, "/sys"},
		{"write root /dev", write("/dev"), Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, "/dev"},
		{"hosts, and sockets that cannot be taken", hosts, Facts{Facts: spec.Facts{LandlockABI: 7, Broker: true}, Namespaces: true, HostNet: 1, NoSockets: "no reason"}, nil, "(no reason)"},
		{"a neighbour in name only", write("/process"), Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, ""},
		{"deny inside", sandbox.Policy{Write: write("/w").Write, DenyRead: []string{"/w/secret"}}, Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, "/w/secret"},
		{"deny inside temp", sandbox.Policy{Temp: "/t", DenyRead: []string{"/t/secret"}}, Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, "/t/secret"},
		{"deny beside", sandbox.Policy{Write: write("/w").Write, DenyRead: []string{"/wide"}}, Facts{Facts: spec.Facts{LandlockABI: 7}}, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			layers, weak, err := enforcement(sandboxtest.Resolved(row.policy), row.facts)
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Fatalf("error %v, want one about %q", err, row.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, w := range weak {
				ids = append(ids, w.ID)
			}
			slices.Sort(ids)
			want := slices.Sorted(slices.Values(append(slices.Clone(row.weaknesses), always...)))
			if !slices.Equal(ids, want) {
				t.Errorf("weaknesses %v, want %v", ids, want)
			}
			active := sandbox.Enforcement{Layers: layers}.Active()
			if full := row.facts.LandlockABI >= 6; full != slices.Contains(active, "landlock") || !slices.Contains(active, "seccomp") {
				t.Errorf("active layers %v", active)
			}
		})
	}
}

// TestNetworkLayer: when commands get their own network, and the reason if they do not.
func TestNetworkLayer(t *testing.T) {
	full := sandbox.ReadOnly()
	full.Network.Mode = sandbox.NetworkFull
	nobody := sandbox.ReadOnly()
	nobody.Network.Mode = sandbox.NetworkAllow
	hosts := nobody
	hosts.Network.Hosts = []sandbox.HostPort{{Host: "example.com", Port: 443}}
	with := Facts{Facts: spec.Facts{LandlockABI: 7}, Namespaces: true, HostNet: 1}
	could := Facts{Facts: spec.Facts{LandlockABI: 7, Broker: true}, Namespaces: true, HostNet: 1, Sockets: sockets.TakesCopies}
	if _, _, err := enforcement(sandboxtest.Resolved(hosts), could); err != nil {
		t.Error(err)
	}
	without := Facts{Facts: spec.Facts{LandlockABI: 7}, NamespacesWhy: "forbidden here"}
	for _, row := range []struct {
		name    string
		policy  sandbox.Policy
		facts   Facts
		active  bool
		reason  string
		hostNet uint64
	}{
		{"denied", sandbox.ReadOnly(), with, true, "no way out", 1},
		{"an empty list of hosts", nobody, with, true, "no way out", 1},
		{"hosts", hosts, with, true, "no way out", 1},
		{"full", full, with, false, "grants", 0},
		{"no namespaces", sandbox.ReadOnly(), without, false, "forbidden here", 0},
	} {
		l := networkLayer(sandboxtest.Resolved(row.policy), row.facts)
		if l.Name != "netns" || (l.State == sandbox.LayerActive) != row.active || !strings.Contains(l.Reason, row.reason) {
			t.Errorf("%s: %+v", row.name, l)
		}
		if got := notHostNet(sandboxtest.Resolved(row.policy), row.facts); got != row.hostNet {
			t.Errorf("%s: not in the network %d, want %d", row.name, got, row.hostNet)
		}
	}
}

// TestPlanWithNamespaces: what mounts enforce, with and without a PID namespace.
func TestPlanWithNamespaces(t *testing.T) {
	globs := sandbox.Policy{DenyGlobs: []string{"**/.env"}}
	for _, row := range []struct {
		name       string
		policy     sandbox.Policy
		facts      Facts
		weaknesses []string // ID, and words of its text
		pids       sandbox.LayerState
	}{
		{"all", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 7, Broker: true}, Namespaces: true}, nil, sandbox.LayerActive},
		{"no broker", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 7}, Namespaces: true}, nil, sandbox.LayerActive},
		{"records that are not there", hides(nil), Facts{Facts: spec.Facts{LandlockABI: 7}, Namespaces: true}, []string{"own-records", "they are not there"}, sandbox.LayerActive},
		{"no PID namespace", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 7}, Namespaces: true, NoPIDs: "covered /proc"},
			[]string{"process-death", "covered /proc"}, sandbox.LayerAbsent},
		{"no PID namespace, old Landlock", sandbox.ReadOnly(), Facts{Facts: spec.Facts{LandlockABI: 5}, Namespaces: true, NoPIDs: "covered /proc"},
			[]string{"signals", "ABI 5", "process-death", "covered /proc"}, sandbox.LayerAbsent},
		{"globs", globs, Facts{Facts: spec.Facts{LandlockABI: 7}, Namespaces: true},
			[]string{"deny-read-glob", "appear after its start"}, sandbox.LayerActive},
		{"globs that are Searched for", globs, Facts{Facts: spec.Facts{LandlockABI: 7}, Namespaces: true, Globs: Matches{Why: "not ended"}},
			[]string{"deny-read-glob", "not ended"}, sandbox.LayerActive},
	} {
		t.Run(row.name, func(t *testing.T) {
			layers, weak, err := enforcement(sandboxtest.Resolved(row.policy), row.facts)
			if err != nil {
				t.Fatal(err)
			}
			stated := len(weak)
			weak = slices.DeleteFunc(weak, func(w sandbox.Weakness) bool { return w.ID == "locks" })
			if (stated > len(weak)) == row.facts.locks() {
				t.Errorf("locks: %v, of %d weaknesses %d are others", row.facts.locks(), stated, len(weak))
			}
			for i, w := range weak {
				if 2*i >= len(row.weaknesses) || w.ID != row.weaknesses[2*i] || !strings.Contains(w.What+w.Why, row.weaknesses[2*i+1]) {
					t.Errorf("weakness %+v", w)
				}
			}
			if 2*len(weak) != len(row.weaknesses) {
				t.Errorf("%d weaknesses, want %q", len(weak), row.weaknesses)
			}
			i := slices.IndexFunc(layers, func(l sandbox.Layer) bool { return l.Name == "pidns" })
			if layers[i].State != row.pids {
				t.Errorf("%+v", layers[i])
			}
		})
	}
}

// TestRules: what Landlock opens on a small file system.
func TestRules(t *testing.T) {
	system := mapDir{fstest.MapFS{
		"bin": {Mode: fs.ModeSymlink}, "usr/x": {}, "etc/passwd": {}, "dev/null": {}, "dev/shm/x": {}, "vmlinuz": {},
		"home/u/.ssh/id": {}, "home/u/work/f": {}, "home/u/.bashrc": {}, "home/v/f": {},
	}}
	const base = "list / read /dev/shm read /etc read /home read /usr read /vmlinuz "
	for _, row := range []struct {
		name   string
		policy sandbox.Policy
		denied []string
		want   string
	}{
		{"everything but the devices", sandbox.Policy{}, nil, base},
		{"a write root", write("/home/u/work"), nil, base + "write /home/u/work"},
		{"temp", sandbox.Policy{Temp: "/t", SharedTemp: true}, nil, base + "write /t write /tmp write /var/tmp"},
		{"a denied folder", sandbox.Policy{}, []string{"/home/u/.ssh"},
			"read /dev/shm read /etc read /home/u/.bashrc read /home/u/work read /home/v read /usr read /vmlinuz "},
		{"a denied name that is missing", sandbox.Policy{}, []string{"/home/v/later"},
			"read /dev/shm read /etc read /home/u read /home/v/f read /usr read /vmlinuz "},
		{"denied twice", sandbox.Policy{}, []string{"/home/u", "/home/v"}, "read /dev/shm read /etc read /usr read /vmlinuz "},
		{"a denied write root", write("/home/u"), []string{"/home"}, "read /dev/shm read /etc read /usr read /vmlinuz "},
		{"everything denied", sandbox.Policy{}, []string{"/"}, ""},
		{"read roots", sandbox.Policy{Read: []sandbox.Root{{Path: "/usr"}, {Path: "/home/u"}}}, []string{"/home/u/.ssh", "/etc/passwd"},
			"read /home/u/.bashrc read /home/u/work read /usr"},
		{"/dev as a read root", sandbox.Policy{Read: []sandbox.Root{{Path: "/dev"}}}, nil, "list /dev read /dev/shm"},
		{"a device by name", sandbox.Policy{Read: []sandbox.Root{{Path: "/dev/kvm"}}}, nil, "read /dev/kvm"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.policy.DenyRead = row.denied
			rules, err := rulesFor(sandboxtest.Resolved(row.policy), system.entries)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range rules {
				if r.Access != spec.AccessDevice {
					got = append(got, string(r.Access)+" "+r.Path)
				}
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != strings.TrimSpace(row.want) {
				t.Errorf("rules:\n%s, want\n%s", text, row.want)
			}
			for _, r := range rules {
				for _, deny := range row.denied {
					if sandbox.Covers(r.Path, deny) || sandbox.Covers(deny, r.Path) {
						t.Errorf("%s %s reaches the denied %s", r.Access, r.Path, deny)
					}
				}
			}
		})
	}
	many := fstest.MapFS{}
	for i := range maxRules + 1 {
		many["home/f"+strings.Repeat("x", i%50)+string(rune('0'+i%10))+strconv.Itoa(i)] = &fstest.MapFile{}
	}
	if _, err := rulesFor(sandboxtest.Resolved(sandbox.Policy{DenyRead: []string{"/home/secret"}}), mapDir{many}.entries); err == nil || !strings.Contains(err.Error(), "/home/secret") {
		t.Errorf("too many siblings: %v, want an error that names the denied path", err)
	}
}

type mapDir struct{ fs fstest.MapFS }

func (m mapDir) entries(path string) ([]fs.DirEntry, error) {
	name := strings.TrimPrefix(path, "/")
	if name == "" {
		name = "."
	}
	return m.fs.ReadDir(name)
}
