//go:build linux

package alike

import (
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestOwnProcesses: a command sets priority, CPU affinity and limits of its own processes by pid;
// in a PID namespace also of its children.
func TestOwnProcesses(t *testing.T) { tests.InSettings(t, "^TestOwnProcessesInSetting$") }

func TestOwnProcessesInSetting(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestOwnProcesses")
	const script = `
import os, resource as r, subprocess, threading
n = min(os.getpriority(os.PRIO_PROCESS, 0) + 7, 19)
def said(what, f):
    try: f(); print(what, "ok")
    except OSError as e: print(what, e.strerror)
def limit(pid, which=r.RLIMIT_NOFILE):
    soft, hard = r.prlimit(pid, which)
    r.prlimit(pid, which, (soft, hard))
def everything(who, pid):
    said(who + " nice", lambda: os.setpriority(os.PRIO_PROCESS, pid, n))
    said(who + " policy", lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)))
    said(who + " affinity", lambda: os.sched_setaffinity(pid, os.sched_getaffinity(0)))
    said(who + " limits", lambda: limit(pid))
everything("own", os.getpid())
t = threading.Thread(target=lambda: said("thread nice", lambda: os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(n + 1, 19))))
t.start(); t.join()
said("own core", lambda: limit(os.getpid(), r.RLIMIT_CORE))
said("group nice", lambda: os.setpriority(os.PRIO_PGRP, 0, 19))
said("user nice", lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19))
p = subprocess.Popen(["sleep", "1000"])
everything("child", p.pid)
p.kill(); p.wait()
everything("keeper", os.getppid())
print(os.getpriority(os.PRIO_PROCESS, 0) == n)
`
	child := "Operation not permitted"
	if f.Namespaces && f.NoPIDs == "" {
		child = "ok"
	}
	want := "own nice ok\nown policy ok\nown affinity ok\nown limits ok\nthread nice ok\nown core Operation not permitted\n" +
		"group nice Operation not permitted\nuser nice Operation not permitted\n" +
		strings.ReplaceAll("child nice X\nchild policy X\nchild affinity X\nchild limits X\n", "X", child) +
		strings.ReplaceAll("keeper nice X\nkeeper policy X\nkeeper affinity X\nkeeper limits X\n", "X", "Operation not permitted") + "True\n"
	_, out := sandboxtest.Output(t, b, sandbox.WorkspaceWrite(t.TempDir()), sandbox.Command{
		Path: "python3", Args: []string{"python3", "-c", script}, Dir: "/", Env: []string{"PATH=" + attack.Path},
	})
	if out != want {
		t.Errorf("%s\nwant\n%s", out, want)
	}
}

// TestDatagramProtocols: UDP and UDP-Lite work in the session's own network.
func TestDatagramProtocols(t *testing.T) { tests.InSettings(t, "^TestDatagramProtocolsInSetting$") }

func TestDatagramProtocolsInSetting(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestDatagramProtocols")
	if f.HostNet == 0 {
		t.Skip("no network namespaces here")
	}
	const script = `
import socket as s
for protocol in (s.IPPROTO_UDP, s.IPPROTO_UDPLITE):
    for family, host in ((s.AF_INET, "127.0.0.1"), (s.AF_INET6, "::1")):
        a, b = s.socket(family, s.SOCK_DGRAM, protocol), s.socket(family, s.SOCK_DGRAM, protocol)
        a.bind((host, 0)); b.bind((host, 0))
        b.sendto(b"one", a.getsockname()); data, at = a.recvfrom(9)
        a.connect(at); a.sendmsg([data, b" two"]); print(b.recv(9).decode())
`
	_, out := sandboxtest.Output(t, b, sandbox.WorkspaceWrite(t.TempDir()), sandbox.Command{
		Path: "python3", Args: []string{"python3", "-c", script}, Dir: "/", Env: []string{"PATH=" + attack.Path},
	})
	if out != strings.Repeat("one two\n", 4) {
		t.Errorf("%q", out)
	}
}
