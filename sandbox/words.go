package sandbox

import (
	"cmp"
	"fmt"
	"strings"
)

// tried are what was tried and why it was denied, by the kind of a denial. Without a verb the
// operation is named.
var tried = map[DenialKind]struct{ verb, why string }{
	KindWrite:      {"write", ""},
	KindRead:       {"read", "protected from reading"},
	KindNetwork:    {"connect", "host not allowed"},
	KindSocket:     {"connect", "socket not granted"},
	KindProtected:  {"write", "protected"},
	KindCapability: {"", "needs a privilege"},
	KindSignal:     {"signal", "not a process of this command"},
	KindLoss:       {"delete or replace", "undo could not bring it back"},
	KindSyscall:    {"call", "system call not allowed"},
}

// changed are the verbs for what changes a file and not its content, by a part of the call's name.
var changed = []struct{ call, verb string }{
	{"chmod", "change the mode of"}, {"chown", "change the owner of"}, {"utime", "change the times of"}, {"xattr", "change attributes of"}, {"flock", "lock"},
}

// Verb says what was tried with Target.
func (d Denial) Verb() string {
	switch {
	case strings.HasPrefix(d.Operation, "socket"):
		return "open socket"
	case d.Kind == KindNetwork && !strings.Contains(d.Target, ":"):
		return "look up"
	case d.Kind == KindRead && strings.HasPrefix(d.Operation, "execve"):
		return "start"
	case d.Kind == KindMetadata:
		for _, c := range changed {
			if strings.Contains(d.Operation, c.call) {
				return c.verb
			}
		}
	}
	return cmp.Or(tried[d.Kind].verb, d.Operation)
}

// Because says why it was denied, or why that made no difference; "" if the verb and the target say it.
func (d Denial) Because() string {
	why := tried[d.Kind].why
	if strings.HasPrefix(d.Operation, "socket") {
		why = "sockets of this kind are closed"
	}
	switch {
	case d.Moot:
		return cmp.Or(d.MootReason, "would have failed anyway")
	case d.Why != "" && d.Note != "":
		return d.Why + ": " + d.Note
	}
	return cmp.Or(d.Why, d.Note, why)
}

// Line says in a line what was denied, to whom, why and how often: "write /etc/hosts, by /usr/bin/touch".
// name makes text harmless that a command chose.
func (d Denial) Line(name func(string) string) string {
	line := d.Verb() + " " + name(d.Target)
	if who := d.Who(); who != "" {
		line += ", by " + name(who)
	}
	if why := d.Because(); why != "" {
		line += ": " + name(why)
	}
	if d.Count > 1 {
		line += fmt.Sprintf(", %d times", d.Count)
	}
	return line
}
