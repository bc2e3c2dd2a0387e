// Package linuxsandbox confines commands on Linux with Landlock, seccomp and a keeper process. codeagent
// decides what a command may do and sends that as a spec.Spec; the keeper, a process of the helper
// program, applies it and starts the command:
//
//	codeagent: Backend.Start            linux-sandbox-helper: keeper.Main
//	   plan.New(policy, kernel)            main thread: unrestricted, reaps
//	   rules, roots                        command thread, locked:
//	   socketpair ── Spec ──────────────▶    ruleset, capabilities, no_new_privs,
//	              ◀── ready, listener ───    Landlock, seccomp, self-test
//	              ─── go ──────────────▶     fork; in the child: limits, one more
//	              ◀── started / failed ──    Landlock layer for signals, execve
//	   broker     ◀── asked, answered ──▶    chmod, connect, … of the command (broker.go)
//	              ─── signal, end ─────▶     passes signals on, kills everything
//	              ◀── exited, gone ──────  main thread: the last child is reaped
//
// If the sandbox cannot be set up, the command does not run, and the error is a *sandbox.StartError
// with exit code 125. A sandbox.Weakness describes what this machine cannot enforce. To read the code,
// start with Backend.Start (start.go), then package plan.
package linuxsandbox

import (
	"context"
	"net/netip"
	"net/url"

	"codeagent/linuxsandbox/control"
	"codeagent/sandbox"
)

// HelperName is the file name of the helper program. If that file is missing, codeagent starts its own
// executable with this name as argv[0]: a program that finds this name there must call HelperMain and
// nothing else.
const HelperName = control.HelperName

// Options configure a Backend.
type Options struct {
	// Helper is the path of linux-sandbox-helper. If it is empty, the Backend uses the file of that
	// name beside the running executable, else the running executable itself under the helper's
	// name.
	Helper string
	// HelperSum is the SHA-256 of the helper in hex; the build links it into codeagent. If it is
	// set, a helper file with another sum is never started. It does not apply if codeagent is its own helper.
	HelperSum string
	// Ahead starts the first keeper of the session as soon as the helper is checked. The keeper makes
	// the namespaces while the caller still reads settings. Then it waits for the first Enforcement or
	// Start.
	Ahead bool
	// Bound puts all commands of the session in one control group with common limits, if possible: see cgroup.Groups. The
	// group is made in the background; Settled waits for that.
	Bound bool
	// OpenFiles is the soft limit of open files for commands; 0: that of this process.
	OpenFiles uint64
	// Lookup finds the addresses of host names that a policy allows; nil finds none. The caller
	// supplies it because only a few rooms may import package net.
	Lookup LookupFunc
	// Proxy returns the proxy that the environment sets for a host; nil: no proxy for any host.
	Proxy ProxyFunc
}

// ProxyFunc finds the proxy for a host; nil: none.
type ProxyFunc func(sandbox.HostPort) (*url.URL, error)

// LookupFunc has the signature of net.Resolver.LookupNetIP; network is "ip4" or "ip6".
type LookupFunc func(ctx context.Context, network, host string) ([]netip.Addr, error)
