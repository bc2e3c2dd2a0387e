package sandbox

import (
	"net/netip"
	"slices"
	"time"
)

// Connection is what a command's connections to one host have in common. Connections inside the session, and
// between programs of the command, are not in it.
type Connection struct {
	// Host is the name under which the command looked Address up, or "". Address is what the command
	// connected to; zero for a denied lookup. Port is 0 for a lookup.
	Host    string     `json:"host,omitempty"`
	Address netip.Addr `json:"address,omitzero"`
	Port    uint16     `json:"port,omitempty"`
	// Protocol is "tcp" or "udp"; empty if it was denied.
	Protocol string `json:"protocol,omitempty"`
	// Executable and Program are as in Denial. Program is the name that the process has chosen if no file is known.
	Executable string `json:"executable,omitempty"`
	Program    string `json:"program,omitempty"`
	// Verdict is ConnectionAllowed or ConnectionDenied.
	Verdict ConnectionVerdict `json:"verdict"`
	Traffic
}

// ConnectionVerdict is what became of a connection.
type ConnectionVerdict string

// Verdicts about a connection.
const (
	ConnectionAllowed ConnectionVerdict = "allowed"
	ConnectionDenied  ConnectionVerdict = "denied"
)

// Names reports whether one of hosts allows the connection, by its name or its address.
func (c Connection) Names(hosts []HostPort) bool {
	return c.Host != "" && Allowed(hosts, HostPort{c.Host, c.Port}) || c.Address.IsValid() && Allowed(hosts, HostPort{c.Address.String(), c.Port})
}

// Traffic is how much connections were used.
type Traffic struct {
	// Count is their number.
	Count int `json:"count"`
	// Bytes are those of the connections whose bytes are known; nil if of none. Unmeasured counts the others.
	Bytes      *Bytes `json:"bytes,omitempty"`
	Unmeasured int    `json:"unmeasured,omitempty"`
	// Last is when the latest one began.
	Last time.Time `json:"last,omitzero"`
}

// Bytes are what programs sent and received.
type Bytes struct {
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
}

// Add adds o to t.
func (t *Traffic) Add(o Traffic) {
	t.Count, t.Unmeasured = t.Count+o.Count, t.Unmeasured+o.Unmeasured
	if o.Bytes != nil {
		var sum Bytes
		if t.Bytes != nil {
			sum = *t.Bytes
		}
		t.Bytes = &Bytes{sum.Sent + o.Bytes.Sent, sum.Received + o.Bytes.Received}
	}
	if o.Last.After(t.Last) {
		t.Last = o.Last
	}
}

// MaxConnections bounds the entries of a command's Connections.
const MaxConnections = 256

// Connections are the connections of a command, an entry for each host, program and verdict.
type Connections struct {
	List []Connection `json:"list,omitempty"`
	// More counts connections that have no entry, because there were MaxConnections entries.
	More int `json:"more,omitempty"`
}

// IsZero reports whether there were none.
func (l Connections) IsZero() bool { return len(l.List) == 0 && l.More == 0 }

// Add adds c to the entry of its kind.
func (l *Connections) Add(c Connection) {
	i := slices.IndexFunc(l.List, func(o Connection) bool {
		o.Traffic = c.Traffic
		return o == c
	})
	switch {
	case i >= 0:
		l.List[i].Traffic.Add(c.Traffic)
	case len(l.List) < MaxConnections:
		l.List = append(l.List, c)
	default:
		l.More += c.Count
	}
}

// Join adds all of o.
func (l *Connections) Join(o Connections) {
	for _, c := range o.List {
		l.Add(c)
	}
	l.More += o.More
}

// Clone returns a copy.
func (l Connections) Clone() Connections {
	l.List = slices.Clone(l.List)
	return l
}
