package sandbox

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// TestConnections: equal connections share an entry, their bytes are added as far as they are known, and the
// entries are bounded.
func TestConnections(t *testing.T) {
	one := Connection{Host: "a.example", Address: netip.MustParseAddr("1.2.3.4"), Port: 443, Program: "curl", Verdict: ConnectionAllowed}
	early, late := time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()
	with := func(tr Traffic) Connection { c := one; c.Traffic = tr; return c }
	var l Connections
	l.Add(with(Traffic{Count: 1, Bytes: &Bytes{1, 10}, Last: late}))
	before := l.Clone()
	l.Add(with(Traffic{Count: 1, Bytes: &Bytes{2, 20}, Last: early}))
	l.Add(with(Traffic{Count: 1, Unmeasured: 1, Last: early}))
	denied := one
	denied.Verdict, denied.Traffic = ConnectionDenied, Traffic{Count: 1}
	l.Add(denied)
	for _, c := range []struct {
		of   Connections
		want string
	}{
		{Connections{}, `{}`},
		{before, `{"list":[{"host":"a.example","address":"1.2.3.4","port":443,"program":"curl","verdict":"allowed","count":1,"bytes":{"sent":1,"received":10},"last":"1970-01-01T00:00:02Z"}]}`},
		{l, `{"list":[{"host":"a.example","address":"1.2.3.4","port":443,"program":"curl","verdict":"allowed","count":3,"bytes":{"sent":3,"received":30},"unmeasured":1,"last":"1970-01-01T00:00:02Z"},` +
			`{"host":"a.example","address":"1.2.3.4","port":443,"program":"curl","verdict":"denied","count":1}]}`},
	} {
		if got, err := json.Marshal(c.of); err != nil || string(got) != c.want {
			t.Errorf("%s (%v), want %s", got, err, c.want)
		}
	}
	for i := range 100_000 {
		c := with(Traffic{Count: 1})
		c.Port = uint16(i)
		c.Host = fmt.Sprint(i)
		l.Add(c)
	}
	if want := 100_000 - (MaxConnections - 2); len(l.List) != MaxConnections || l.More != want {
		t.Errorf("%d entries and %d more, want %d and %d", len(l.List), l.More, MaxConnections, want)
	}
	var sum Connections
	sum.Join(l)
	sum.Join(l)
	if len(sum.List) != MaxConnections || sum.More != 2*l.More || sum.List[0].Count != 6 || l.List[0].Count != 3 {
		t.Errorf("joined: %d entries, %d more, %+v, of %+v", len(sum.List), sum.More, sum.List[0], l.List[0])
	}
	if text, err := json.Marshal(Verdict{}); err != nil || string(text) != `{"denied":false,"confidence":"","evidence":"","denials":[],"suggest":{"write":[],"read":[],"hosts":[],"sockets":[],"unsandboxed":false}}` {
		t.Errorf("a verdict without connections: %s (%v)", text, err)
	}
}
