//go:build linux

package escapes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"

	runner "codeagent/exec"
	"codeagent/gitrun"
	"codeagent/internal/attack"
	"codeagent/internal/git"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// These rows misuse what codeagent trusts: programs and files that git's settings name, host names,
// and the name that a process gives itself.

// trustEscapes are all of these rows.
func trustEscapes() []attempt {
	rows := settingEscapes()
	rows = append(rows, nameEscapes()...)
	return append(rows, askerEscapes()...)
}

// settingEscapes change what a repository's settings make git run or read. gitrun finds these
// names, as at every start of codeagent.
func settingEscapes() []attempt {
	row := func(name, watch string, do func(p place) error) attempt {
		a := protected("git settings: "+name, "E25", watch, do)
		a.before = func(h *host, p place) { settingsOf(h, p); h.trusts(p.in) }
		return a
	}
	// A command of an earlier session damaged the repository, so that git does not recognise it.
	damaged := func(name string, how func(dir string) error) attempt {
		a := row("a hook, "+name, ".husky", made(".husky/pre-commit"))
		a.before = func(h *host, p place) {
			settingsOf(h, p)
			if err := how(p.in + "/.git"); err != nil {
				h.t.Fatal(err)
			}
			h.trusts(p.in)
		}
		return a
	}
	return []attempt{
		damaged("without refs", func(dir string) error { return os.RemoveAll(dir + "/refs") }),
		damaged("HEAD is garbage", func(dir string) error { return os.WriteFile(dir+"/HEAD", []byte("garbage"), 0o644) }),
		damaged("HEAD is a pipe", func(dir string) error { return errors.Join(os.Remove(dir+"/HEAD"), unix.Mkfifo(dir+"/HEAD", 0o600)) }),
		row("a program of an alias's option", "tools/x.sh", made("tools/x.sh")),
		row("a folder of hooks of an alias's option", "myhooks", made("myhooks/pre-commit")),
		row("an alias named like an address", "url.sh", made("url.sh")),
		row("a pager of a command named like one", "pager.sh", made("pager.sh")),
		row("a program below HOME", "ssh.sh", made("ssh.sh")),
		row("a hook of a manager", ".husky", made(".husky/pre-commit")),
		row("another folder of hooks", ".husky", func(p place) error {
			return do(planted(p, "sub/pre-commit"), renamed(p, "sub", ".husky"))
		}),
		row("a program that was absent", "watch", made("watch")),
		row("a program replaced", "tools/clean.sh", func(p place) error { return renamed(p, "mine", "tools/clean.sh")() }),
		row("the folder of a program moved", "tools", func(p place) error {
			return do(renamed(p, "tools", "x"), planted(p, "tools/clean.sh"))
		}),
		row("a script of an alias", "ship.sh", made("ship.sh")),
		row("an included file", "team.config", func(p place) error { return writeTo(p.in+"/team.config", unix.O_WRONLY|unix.O_APPEND) }),
		row("a program of an included file", "sign", made("sign")),
		row("a file that is included on another branch", "other.config", made("other.config")),
		row("a program of such a file", "later/diff", made("later/diff")),
	}
}

// settingsOf creates a repository whose settings name programs and files in the workspace.
func settingsOf(h *host, p place) {
	repository(h, p)
	h.put(p.in+"/.git/config", `[core]
	hooksPath = .husky/_
	fsmonitor = ./watch
	sshCommand = $HOME/..`+strings.TrimPrefix(p.in, h.base)+`/ssh.sh -x
[pager]
	remote = ./pager.sh
[filter "x"]
	clean = tools/clean.sh %f
[alias]
	ship = !bash ship.sh
	rt = rebase --exec ./tools/x.sh
	ci = -c core.hooksPath=myhooks commit
	url = !./url.sh
[include]
	path = ../team.config
[includeIf "onbranch:other"]
	path = ../other.config
`, 0o644)
	h.put(p.in+"/team.config", "[gpg]\n\tprogram = ./sign\n", 0o644)
	h.put(p.in+"/other.config", "[diff]\n\texternal = later/diff\n", 0o644)
	h.put(p.in+"/tools/clean.sh", "#!/bin/sh\ncat\n", 0o755)
	h.put(p.in+"/ship.sh", "echo ship\n", 0o755)
}

// trusts finds what the settings of the repository dir name, and adds it to the policy.
func (h *host) trusts(dir string) {
	h.t.Helper()
	at := gitrun.Home{Dir: h.base + "/home", System: "/dev/null"}
	paths, err := gitrun.Trusted(h.t.Context(), git.Tree{Top: dir, Dirs: []string{dir + "/.git"}}, sandbox.WorkspaceWrite(h.base), at, runner.OS{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.trusted[dir] = paths
}

// These are the hosts that the policy "names" allows. The owner of the names makes them lead to
// servers on this machine.
const (
	closeName  = "close.example"
	close6Name = "close6.example"
	mappedName = "mapped.example"
	turnedName = "turned.example"
)

// lookup acts as the name servers. turnedName leads alternately to a distant server and to one on
// this machine.
func (h *host) lookup(_ context.Context, network, name string) ([]netip.Addr, error) {
	text := map[string]string{"ip4 " + closeName: "127.0.0.1", "ip6 " + close6Name: "::1", "ip6 " + mappedName: "::ffff:127.0.0.1"}[network+" "+name]
	if network == "ip4" && name == turnedName {
		h.mu.Lock()
		defer h.mu.Unlock()
		if text = "1.1.1.1"; h.turned {
			text = "127.0.0.1"
		}
		h.turned = !h.turned
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return nil, &net.DNSError{Name: name, IsNotFound: true}
	}
	return []netip.Addr{a}, nil
}

// nameEscapes reach servers on this machine by allowed names.
func nameEscapes() []attempt {
	row := func(name, host string, turns int, to func(p place) unix.Sockaddr) attempt {
		family := unix.AF_INET
		if host == close6Name || host == mappedName {
			family = unix.AF_INET6
		}
		a := reaches("host name: "+name, "E51", localServices, func(p place, token []byte) error {
			// Without a sandbox nobody knows the name, so the address is given.
			for range turns {
				_, _ = (&net.Resolver{PreferGo: true}).LookupHost(context.Background(), host)
			}
			return sends(family, unix.SOCK_STREAM, 0, to(p), token)
		})
		a.policy = "names"
		return a
	}
	return []attempt{
		row("leads to the loopback device", closeName, 1, func(p place) unix.Sockaddr { return loopback(p.TCP) }),
		overVersion6(row("leads to it over version 6", close6Name, 1, func(p place) unix.Sockaddr { return loopback6(p.TCP6) })),
		row("leads to a mapped address", mappedName, 1, func(p place) unix.Sockaddr {
			return &unix.SockaddrInet6{Port: p.TCP, Addr: [16]byte{10: 255, 11: 255, 12: 127, 15: 1}}
		}),
		row("was judged, and leads elsewhere then", turnedName, 2, func(p place) unix.Sockaddr { return loopback(p.TCP) }),
	}
}

// allowedNames adds the hosts of nameEscapes to p, where single hosts can be allowed.
func (h *host) allowedNames(p sandbox.Policy, s scene) sandbox.Policy {
	wide := p.Clone()
	wide.Network.Mode = sandbox.NetworkAllow
	for name, port := range map[string]int{closeName: s.TCP, mappedName: s.TCP, turnedName: s.TCP, close6Name: max(s.TCP6, 1)} {
		wide.Network.Hosts = append(wide.Network.Hosts, sandbox.HostPort{Host: name, Port: uint16(port)})
	}
	if _, err := sandboxtest.Enforcement(h.backend, wide); err != nil {
		return p // no name reaches anything
	}
	return wide
}

// askerEscapes make a refusal look like another program's. The escape succeeded if the file outside
// exists, or if the record of the refusal names another executable.
func askerEscapes() []attempt {
	row := func(name, calls string, do func(p place, new string) error, want func(h *host, p place) string) attempt {
		a := outside("who asks: "+name, "-", func(p place) error { return do(p, p.out+"/new") })
		a.protects, a.alone = "what a person decides by: which program asks", true
		a.cannot = func(attack.Setting) string {
			if attack.InBwrap() {
				return "nothing records a refusal, as the weakness \"evidence\" states"
			}
			if attack.InContainers() {
				return "the folder outside is not shown, so that nothing is refused there"
			}
			return ""
		}
		a.landed = func(h *host, p place) bool {
			if there(p.out + "/new") {
				return true
			}
			about := slices.DeleteFunc(slices.Clone(h.denials), func(d sandbox.Denial) bool { return d.Target != p.out+"/new" })
			if len(about) == 0 {
				h.t.Errorf("who asks: %s: the refusal was not recorded: %+v", name, h.denials)
			}
			return slices.ContainsFunc(about, func(d sandbox.Denial) bool { return d.Executable != want(h, p) || d.Program == "git" && calls != "git" })
		}
		return a
	}
	shell := func(path string, args ...string) error {
		return (&exec.Cmd{Path: path, Args: args, Dir: "/"}).Run()
	}
	return []attempt{
		row("a name by prctl", "", func(_ place, new string) error {
			return errors.Join(unix.Prctl(unix.PR_SET_NAME, cpath("git"), 0, 0, 0), openOnly(new, unix.O_WRONLY|unix.O_CREAT))
		}, func(h *host, _ place) string { return h.binary }),
		row("a copy with the name", "git", func(p place, new string) error {
			return errors.Join(copyTo(p.in+"/git"), shell(p.in+"/git", "git", "-c", ": > "+new))
		}, func(_ *host, p place) string { return p.in + "/git" }),
		row("a copy that is removed", "", func(p place, new string) error {
			return errors.Join(copyTo(p.in+"/gone"), shell(p.in+"/gone", "git", "-c", "/bin/rm "+p.in+"/gone; : > "+new))
		}, func(_ *host, p place) string { return p.in + "/gone (deleted)" }),
		row("a file in memory", "git", func(_ place, new string) error {
			fd, err := unix.MemfdCreate("git", 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)
			return errors.Join(copyTo(path), shell(path, "git", "-c", ": > "+new))
		}, func(*host, place) string { return "memfd:git" }),
	}
}

// copyTo copies a shell to path.
func copyTo(path string) error {
	text, err := os.ReadFile("/bin/bash")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o755)
}
