// Package ledger describes what is open beyond the policy: one entry for each answer, rule and
// setting that opens something, with its origin. It is plain data and performs no IO. Start at
// Entry; export.go writes and reads entries as a file.
package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/approvals/content"
	"codeagent/approvals/rules"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Origin is the source of an entry.
type Origin string

// Origins of an entry.
const (
	// Question: a person answered for the session.
	Question Origin = "question"
	// Rule: a rule of rules.toml.
	Rule Origin = "rule"
	// FromSetting: a flag, a variable or a settings file.
	FromSetting Origin = "setting"
	// FromExport: the file of --approvals.
	FromExport Origin = "export"
)

// Scope is where and how long an entry applies.
type Scope string

// Scopes of an entry.
const (
	Session    Scope = "session"
	Project    Scope = "project"
	Everywhere Scope = "everywhere"
)

// Entry is one permission, limited to exactly what was shown. Grant applies to every command.
// Command and Folder: exactly this command in this folder runs without a question. Paths: exactly
// these files are edited without a question. Fetch: codeagent fetches pages of exactly these hosts,
// and commands cannot reach them. Rule is a rule in words.
type Entry struct {
	// ID names the entry for its lifetime. The ID of a rule is the same in every session.
	ID     string `json:"id"`
	Origin Origin `json:"origin"`
	// Source is the ID of the question, the line of rules.toml, or the setting.
	Source string    `json:"source"`
	Made   time.Time `json:"made,omitzero"`
	Scope  Scope     `json:"scope"`
	// Expires is when it ends. Zero: it ends with its scope.
	Expires time.Time `json:"expires,omitzero"`
	// Uses counts the decisions of this session that relied on it.
	Uses int `json:"uses"`
	// Traffic is what commands, or the MCP server, did in this session over connections that it opens.
	Traffic sandbox.Traffic `json:"traffic,omitzero"`
	// Title is the title of the question, and Justification the model's reason.
	Title         string        `json:"title,omitempty"`
	Justification string        `json:"justification,omitempty"`
	Grant         sandbox.Grant `json:"grant,omitzero"`
	Command       string        `json:"command,omitempty"`
	Folder        string        `json:"folder,omitempty"`
	// Outside: the command runs outside the sandbox when the model asks for it.
	Outside bool `json:"outside,omitempty"`
	// Bound is the content that an answer for outside depends on, in addition to the command's text.
	Bound *content.Binding `json:"bound,omitempty"`
	// AllEdits is a folder. All files in it may be edited without a question.
	AllEdits string             `json:"all_edits,omitempty"`
	Paths    []string           `json:"paths,omitempty"`
	Fetch    []sandbox.HostPort `json:"fetch,omitempty"`
	Rule     string             `json:"rule,omitempty"`
	// Publish is a port of jobs that programs of the person's reach.
	Publish uint16 `json:"publish,omitempty"`
	// Tool is a tool of an MCP server ("NAME__tool") that may be called without a question, while the
	// server describes it as Described says.
	Tool      string `json:"tool,omitempty"`
	Described string `json:"described,omitempty"`
	// Server limits Grant to an MCP server; empty: Grant applies to commands.
	Server string `json:"server,omitempty"`
	// CommandID is the command that was answered about. Adopted: the entry comes from a file, which names no
	// program.
	CommandID CommandID `json:"-"`
	Adopted   bool      `json:"-"`
}

// CommandID identifies a command across calls: the hash of what is run and where.
type CommandID [sha256.Size]byte

// Setting is a setting that opens something: the policy with it and without it. Fetch are hosts
// that it opens only to fetches, and Publish ports of jobs that programs of the person's reach.
type Setting struct {
	// Source names the setting, and the place that sets it.
	Source        string
	With, Without sandbox.Policy
	Fetch         []sandbox.HostPort
	Publish       []uint16
}

// Beyond returns the write roots, hosts and sockets that p opens and base does not.
func Beyond(base, p sandbox.Policy) sandbox.Grant {
	return sandbox.Grant{
		Write: Less(sandbox.PathsOf(p.Write), sandbox.PathsOf(base.Write)),
		Hosts: HostsBeyond(p.Network.Hosts, base.Network.Hosts), Sockets: Less(p.Sockets, base.Sockets),
	}
}

// HostsBeyond returns the hosts of list that known does not cover.
func HostsBeyond(list, known []sandbox.HostPort) []sandbox.HostPort {
	return slices.DeleteFunc(slices.Clone(list), func(h sandbox.HostPort) bool { return sandbox.Allowed(known, h) })
}

// Less returns the elements of list that are not in known.
func Less[T comparable](list, known []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return slices.Contains(known, v) })
}

// Entries returns one entry for each path, host or socket that s opens.
func (s Setting) Entries() (out []Entry) {
	opened := Beyond(s.Without, s.With)
	for _, p := range opened.Write {
		out = append(out, Entry{Grant: sandbox.Grant{Write: []string{p}}})
	}
	for _, h := range opened.Hosts {
		out = append(out, Entry{Grant: sandbox.Grant{Hosts: []sandbox.HostPort{h}}})
	}
	for _, p := range opened.Sockets {
		out = append(out, Entry{Grant: sandbox.Grant{Sockets: []string{p}}})
	}
	for _, h := range s.Fetch {
		out = append(out, Entry{Fetch: []sandbox.HostPort{h}})
	}
	for _, port := range s.Publish {
		out = append(out, Entry{Publish: port})
	}
	return out
}

// Lines lists what e opens, one item per line. show formats texts. Nil leaves them unchanged.
func (e Entry) Lines(show func(string) string) []string {
	if show == nil {
		show = func(s string) string { return s }
	}
	out := e.Grant.Lines(show)
	if e.Server != "" {
		for i := range out {
			out[i] += " (the MCP server " + show(e.Server) + ")"
		}
	}
	if e.Tool != "" {
		out = append(out, "call "+show(e.Tool))
	}
	for _, p := range e.Paths {
		out = append(out, "edit "+show(p))
	}
	if e.AllEdits != "" {
		out = append(out, "edit every file in "+show(e.AllEdits))
	}
	for _, h := range e.Fetch {
		out = append(out, "fetch "+h.String())
	}
	if e.Publish != 0 {
		out = append(out, fmt.Sprintf("reach port %d of jobs from your browser", e.Publish))
	}
	if e.Command != "" {
		where := ""
		if e.Outside {
			where = " outside the sandbox"
		}
		out = append(out, fmt.Sprintf("run%s %s in %s", where, show(e.Command), show(e.Folder)))
	}
	if e.Rule != "" {
		out = append(out, show(e.Rule))
	}
	return out
}

// Used says how an entry was used: "used 2 times  3 connections, last 15:04, sent 2 KiB, received 1.3 MiB". It
// is empty if it was not: what a command may open from its start is used without a decision.
func (e Entry) Used() string {
	var out []string
	if e.Uses > 0 {
		out = append(out, "used "+short.Count(e.Uses, "time"))
	}
	if t := e.Traffic; t.Count > 0 {
		words := short.Count(t.Count, "connection") + ", last " + t.Last.Format("15:04")
		if t.Bytes != nil {
			words += ", sent " + short.Size(t.Bytes.Sent) + ", received " + short.Size(t.Bytes.Received)
		}
		switch {
		case t.Unmeasured == 0:
		case t.Bytes == nil:
			words += ", bytes unknown"
		default:
			words += fmt.Sprintf(", bytes of %d unknown", t.Unmeasured)
		}
		out = append(out, words)
	}
	return strings.Join(out, "  ")
}

// Clone returns a deep copy.
func (e Entry) Clone() Entry {
	e.Grant, e.Paths, e.Fetch, e.Bound = e.Grant.Clone(), slices.Clone(e.Paths), slices.Clone(e.Fetch), e.Bound.Clone()
	return e
}

// RuleID names a rule by its content, so inserting lines above it does not change its ID.
func RuleID(r *rules.Rule) string {
	sum := sha256.Sum256([]byte(r.String()))
	return "r" + hex.EncodeToString(sum[:4])
}

// OfRule returns the entry of a rule that opens something. A rule that asks or forbids opens
// nothing.
func OfRule(r *rules.Rule) (Entry, bool) {
	if r.Decision != rules.Allow {
		return Entry{}, false
	}
	scope := Everywhere
	if r.Project != "" {
		scope = Project
	}
	return Entry{
		ID: RuleID(r), Origin: Rule, Source: fmt.Sprintf("%s:%d", r.File, r.Line), Scope: scope, Expires: r.Expires, Rule: r.String(),
	}, true
}
