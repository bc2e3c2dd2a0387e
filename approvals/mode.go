package approvals

import (
	"errors"
	"sync"

	"codeagent/approvals/decide"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// modes holds the approval policy of a session. It is safe for concurrent use.
type modes struct {
	decides func(setting, value string) error

	mu  sync.Mutex
	now decide.Consent // guarded by mu
}

// Mode returns the current approval policy.
func (m *modes) Mode() Mode { return m.consent().Mode }

// SetMode changes the approval policy for later decisions. An open question stays open. A yes to it
// is refused if the new policy refuses such questions. An error says who does not allow it.
func (m *modes) SetMode(to Mode) error {
	if err := m.decides("ask_for_approval", string(to)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Mode = to
	return nil
}

// Wider reports whether the approval policy to is less strict in any case than the current one.
// Then a person should confirm it before SetMode.
func (m *modes) Wider(to Mode) bool {
	now := m.consent()
	return now.Wider(decide.Consent{Mode: to, Refuse: now.Refuse})
}

// Asks is Gate.Asks for the model.
func (m *modes) Asks(gr sandbox.Grant) bool {
	return !m.consent().Refuses(decide.About(word.KindCommand, decide.Want{Grant: gr, Unsandboxed: gr.Unsandboxed || gr.Empty()}))
}

// Refused lists in words the topics that Granular refuses. It is empty under other policies.
func (m *modes) Refused() string {
	if now := m.consent(); now.Mode == Granular {
		return now.Refuse.Words()
	}
	return ""
}

func (m *modes) consent() decide.Consent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// limiter holds the limits on the policy. It is safe for concurrent use.
type limiter struct {
	unconfined bool // there is no sandbox

	mu     sync.Mutex
	limits decide.Limits
}

// SetModel sets the limits of the current model. If they cannot be enforced, it returns an error
// and changes nothing.
func (l *limiter) SetModel(m ModelRules) error {
	if m.ReadOnly && l.unconfined {
		return errors.New("the settings make this model read-only, and without a sandbox (danger-full-access) nothing can enforce that")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits.Model = m
	return nil
}

// SetReadOnly closes what the policy opens for writing, except temporary files, or opens it again.
// Opening it also opens it for a model whose own limits close it: the person who opens it knows the
// model. Answers for the session stay. Running commands keep their policy.
func (l *limiter) SetReadOnly(on bool) error {
	if on && l.unconfined {
		return errors.New("without a sandbox (danger-full-access) nothing can enforce read-only")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !on && l.limits.Model.ReadOnly && l.limits.Model.Fixed {
		return errors.New("the managed settings of this machine make this model read-only")
	}
	l.limits.ReadOnly, l.limits.Model.ReadOnly = on, on && l.limits.Model.ReadOnly
	return nil
}

// SetPlan begins or ends plan mode: while it lasts nothing is changed, and no answer, rule or question
// opens more. A person ends it.
func (l *limiter) SetPlan(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits.Plan = on
}

// Plan reports whether plan mode lasts.
func (l *limiter) Plan() bool { return l.limited().Plan }

// ReadOnly reports whether everything is read-only, by SetReadOnly, in plan mode or by the limits of the model.
func (l *limiter) ReadOnly() bool {
	return l.limited().OnlyReads()
}

func (l *limiter) limited() decide.Limits {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limits
}

// Model returns the limits of the current model.
func (l *limiter) Model() ModelRules { return l.limited().Model }
