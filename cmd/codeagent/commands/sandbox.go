package commands

import (
	"fmt"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Sandbox says what commands may touch now.
func Sandbox(ses *conversation.Session) string {
	return describe(ses.Gate.Base(), ses.Workspace.Stdio.Env("HOME"), ses.ReadableRecords())
}

// describe writes what commands may touch.
func describe(p sandbox.Policy, home string, readable bool) string {
	if p.Unconfined {
		return "There is no sandbox: commands can do what you can."
	}
	return confined(p, home, "Commands", "They", readable) + "\n/permissions lists where each of it comes from, and takes it back; /status says what enforces it."
}

// confined writes a policy in words. who is whom it confines, and it the pronoun for that. readable: this machine
// does not hide codeagent's own records.
func confined(p sandbox.Policy, home, who, it string, readable bool) string {
	short := func(path string) string {
		if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
			return "~/" + rest
		}
		return path
	}
	var b strings.Builder
	list := func(head string, paths []string, none string) {
		fmt.Fprintln(&b, head)
		for _, path := range paths {
			fmt.Fprintln(&b, "  "+short(path))
		}
		if len(paths) == 0 {
			fmt.Fprintln(&b, "  "+none)
		}
		fmt.Fprintln(&b)
	}
	roots := func(list []sandbox.Root) []string {
		var out []string
		for _, r := range list {
			out = append(out, r.Path)
		}
		return out
	}
	list(who+" may write", roots(p.Write), "nothing")
	if p.Temp != "" {
		list("and their folder for temporary files", []string{p.Temp}, "")
	}
	list(it+" may read", roots(p.Read), "everything that you may read, except what follows")
	list(it+" may neither read nor write", slices.Concat(p.DenyRead, p.DenyGlobs), "(nothing is hidden by a setting)")
	if own := it + " may never read, of codeagent's own files"; len(p.Protected.Hidden) > 0 && readable {
		list(own+", but this machine does not enforce it", p.Protected.Hidden, "")
	} else if len(p.Protected.Hidden) > 0 {
		list(own, p.Protected.Hidden, "")
	}
	list(it+" may reach", hostsOf(p), "no host")
	if denied := sandbox.HostsOf(p.Network.Deny); len(denied) > 0 {
		list("and never reaches, whatever allows it", denied, "")
	}
	if len(p.Sockets) > 0 {
		list("and connect to the sockets", p.Sockets, "")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func hostsOf(p sandbox.Policy) []string {
	if p.Network.Mode == sandbox.NetworkFull {
		return []string{"every host"}
	}
	var out []string
	for _, h := range p.Network.Hosts {
		out = append(out, h.String())
	}
	return out
}

// SandboxInShort says in a few words what commands may do; added is how many places the settings add to the folder.
func SandboxInShort(p sandbox.Policy, added int) string {
	words := "writes here"
	switch {
	case p.Unconfined:
		return "none: commands can do what you can"
	case len(p.Write) == 0:
		words = "read-only"
	case added > 0:
		words += " and in " + short.Count(added, "more place")
	}
	switch hosts := len(p.Network.Hosts); {
	case p.Network.Mode == sandbox.NetworkFull:
		return words + ", open network"
	case hosts > 0:
		return words + ", reaches " + short.Count(hosts, "host")
	}
	return words + ", no network"
}
