package approvals

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/ledger"
	"codeagent/sandbox"
)

// TestPublish: each port is asked about once in a session; a yes is listed and revoked; nothing but the
// offered yes opens a port.
func TestPublish(t *testing.T) {
	const url = "http://127.73.21.4:5173"
	job := command("npm run dev", Wish{})
	listens := func(port uint16) sandbox.Listener { return sandbox.Listener{Port: port, Executable: "/usr/bin/node"} }
	setting := func(o *Options) {
		o.Settings = func() []ledger.Setting { return []ledger.Setting{{Source: "sandbox.publish", Publish: []uint16{8080}}} }
	}
	g := newGate(OnRequest, sandbox.WorkspaceWrite(workspace), setting)
	ask := func(port uint16) *Request {
		t.Helper()
		q, err := g.DecidePublish(job, 1, listens(port), url)
		if err != nil || q == nil {
			t.Fatalf("port %d: %+v, %v", port, q, err)
		}
		return q
	}
	q := ask(5173)
	if !strings.Contains(q.Title, "/usr/bin/node (job 1) serves port 5173") || !strings.Contains(q.Opens[0], url) || len(q.Options) != 3 {
		t.Errorf("the question: %+v", q)
	}
	for _, ans := range []Answer{{Decision: Once}, {Decision: Always}, {Decision: Outside}, {Decision: Session, Grant: &sandbox.Grant{Write: []string{"/etc"}}}, {Decision: Unanswered}, {Decision: Unattended}} {
		if err := g.SettlePublish(ask(5173), ans); err == nil {
			t.Errorf("%+v opened the port", ans)
		}
	}
	if _, err := g.Settle(ask(5173), Answer{Decision: Session}); err == nil || len(g.Ledger().answers()) > 0 {
		t.Error("settled as another question")
	}
	if err := g.SettlePublish(&Request{ID: "made-up"}, Answer{Decision: Session}); err == nil {
		t.Error("a question that nobody asked")
	}
	if err := g.SettlePublish(q, Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	if err := g.SettlePublish(q, Answer{Decision: Session}); err == nil {
		t.Error("settled twice")
	}
	for _, port := range []uint16{5173, 8080} { // the answer, the setting
		if q, err := g.DecidePublish(job, 2, listens(port), url); q != nil || err != nil {
			t.Errorf("port %d is asked about again: %+v, %v", port, q, err)
		}
		list := g.Ledger().List()
		i := slices.IndexFunc(list, func(e ledger.Entry) bool { return e.Publish == port })
		if i < 0 || list[i].Uses != 1 {
			t.Fatalf("not listed as used: %+v", list)
		}
		if _, ok := g.Ledger().Revoke(list[i].ID); !ok {
			t.Error("not revoked")
		}
		ask(port)
	}
	// A no holds for the session.
	if err := g.SettlePublish(ask(3000), Answer{Decision: Deny, Reason: "not now"}); err == nil {
		t.Error("a no opened the port")
	}
	if q, err := g.DecidePublish(job, 2, listens(3000), url); q != nil || err == nil || !strings.Contains(err.Error(), "said no") {
		t.Errorf("asked again after a no: %+v, %v", q, err)
	}
	if _, err := g.DecidePublish(job, 1, listens(40000), url); !errors.Is(err, ErrOwnPort) {
		t.Errorf("a port of the kernel's choice: %v", err)
	}
	open := ask(4000)
	g.SetMode(Never)
	if err := g.SettlePublish(open, Answer{Decision: Session}); err == nil {
		t.Error("the mode became never while the question was open")
	}
	_, err := g.DecidePublish(job, 1, listens(4001), url)
	if r, ok := AsRefusal(err); !ok || !strings.Contains(r.Hint, "sandbox.publish") {
		t.Errorf("never: %v", err)
	}
}
