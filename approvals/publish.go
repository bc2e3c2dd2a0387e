package approvals

import (
	"fmt"
	"slices"
	"strconv"

	"codeagent/approvals/ask"
	"codeagent/approvals/decide"
	"codeagent/approvals/ledger"
	"codeagent/sandbox"
)

// A job listens on a port of the session's network. With a yes the person's browser reaches it. Each
// port is asked about once in a session.

// firstOwnChoice is the first of the ports that the kernel gives to programs which ask for any. Programs
// use them among themselves, so nobody is asked.
const firstOwnChoice = 32768

// ErrOwnPort: nobody is asked about the port, because the kernel chose it.
var ErrOwnPort = fmt.Errorf("nobody is asked about ports from %d on", firstOwnChoice)

// DecidePublish judges whether the port of l, on which job listens, may be served to programs of the
// person's at url. It returns a question, a *Refusal, ErrOwnPort, or
// neither: it may.
func (g *Gate) DecidePublish(a Action, job int, l sandbox.Listener, url string) (*Request, error) {
	if g.ledger.publishes(l.Port) {
		return nil, nil
	}
	if _, shut := g.shutPorts.Load(l.Port); shut {
		return nil, refuse("the user said no to this port")
	}
	if err := g.opts.Decides("sandbox.publish", strconv.Itoa(int(l.Port))); err != nil {
		return nil, refuse("%v", err)
	}
	now := g.consent()
	switch {
	case l.Port >= firstOwnChoice:
		return nil, ErrOwnPort
	case now.Refuses(decide.Network):
		return nil, &Refusal{Reason: now.Why(decide.Network), Hint: fmt.Sprintf("sandbox.publish = [\"%d\"]", l.Port)}
	}
	r := ask.Publish(a, job, l, url)
	r.ID = g.opts.NewID()
	return g.put(openQuestion{Request: r, mode: now.Mode, about: decide.Network, port: l.Port, answers: func(decide.State) (p sandbox.Policy, ok bool) { return p, false }}), nil
}

// publishes reports whether an answer or a setting opens the port, and counts that as a use.
func (l *Ledger) publishes(port uint16) bool {
	opens := func(e ledger.Entry) bool { return e.Publish == port }
	given := l.ofSettings()
	if i := slices.IndexFunc(given, opens); i >= 0 {
		l.usedID(given[i].ID)
		return true
	}
	l.used(opens)
	return slices.ContainsFunc(l.answers(), opens)
}

// SettlePublish is Settle for a question of DecidePublish: nil means that the port may be served.
func (g *Gate) SettlePublish(r *Request, ans Answer) error {
	q, ok := g.open.take(r.ID)
	if !ok || q.port == 0 {
		return refuse("this question is not open")
	}
	if refusal := g.noInWords(q.Request, ans); refusal != nil {
		if ans.Decision == Deny || ans.Decision == Stop {
			g.shutPorts.Store(q.port, true)
		}
		return refusal
	}
	if now := g.consent(); now.Refuses(q.about) {
		return refuse("the approval policy changed while the question was open: %s", now.Why(q.about))
	}
	if ans.Decision != Session || ans.Grant != nil {
		return refuse("the answer %q was not offered", string(ans.Decision))
	}
	g.ledger.add(ledger.Entry{Origin: ledger.Question, Source: q.ID, Title: q.Title, Publish: q.port})
	return nil
}
