// Package agent runs one turn: it asks the model, runs the tools that the model
// calls, and reports events. It has no screen, no settings and no IO of its own; Config
// gives it the model, the tools, the gate and the face. Start reading at Turn in agent.go,
// then at toolcall.go, the whole path of a tool call.
package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"reflect"
	"slices"
	"sync"

	"codeagent/answers"
	"codeagent/approvals"
	"codeagent/approvals/without"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/hooks"
	"codeagent/model"
	"codeagent/tools"
)

// Input is one message of the user.
type Input struct {
	Text string
	// Images are within the limits of package model.
	Images []model.Image
	// Notes go with the message and are not its words: what it names, as text for the model.
	Notes []string
	// Foreign: others than the user wrote the text.
	Foreign bool
	// Typed is what the user typed where Text was made of it, About what that is for: see model.Item.
	Typed, About string
	// Again: an answer of an earlier session is not wanted.
	Again bool
}

func (in Input) item() model.Item {
	return model.Item{Kind: model.User, Text: in.Text, Typed: in.Typed, About: in.About, Images: in.Images}
}

// Shown describes the images in words.
func (in Input) Shown() []string {
	var all []string
	for _, i := range in.Images {
		all = append(all, i.String())
	}
	return all
}

// Frontend is the face of a turn.
type Frontend interface {
	// Emit takes an event. It is safe for concurrent use. No event but ToolOutput may be
	// dropped.
	Emit(event.Event)
	// Ask shows a question and waits for its answer or for ctx. Several goroutines may
	// call it. An error counts as a no.
	Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error)
	// Steer returns the next message typed while the model worked, if any.
	Steer() (Input, bool)
}

// Model answers requests: it yields deltas and at most one error, last, and
// stops promptly when ctx is done.
type Model interface {
	Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error]
}

// Tools plans the calls that a model makes; *tools.Set implements it.
type Tools interface {
	Specs() []model.ToolSpec
	// Plan's error is written for the model.
	Plan(model.ToolCall) (tools.Call, error)
	// Ready waits until all tools are there. The error is that of ctx.
	Ready(ctx context.Context) error
}

// Log stores the conversation. Append is called for each complete item: a call before it
// runs, a result as soon as it exists. So after a crash the log has all that was reported.
// Several goroutines call it. Repair converts the content of a log to a valid history.
type Log interface {
	Append(model.Item) error
	// Compacted records that items replace the conversation so far, which stays in the
	// log.
	Compacted(items []model.Item) error
}

// Config configures an agent. Log may be nil.
type Config struct {
	Model             Model
	ModelName, Effort string
	// Schema is the form of the turn's answer; nil: any text.
	Schema *Schema
	// Search: the provider may search the web in turns.
	Search bool
	// CacheKey identifies the conversation. MaxOutputTokens is the model's output limit; 0
	// leaves it to the provider. See model.Request.
	CacheKey        string
	MaxOutputTokens int
	// Blind: the model cannot see images.
	Blind bool
	// ContextLimit is the model's context in tokens; 0: not known, DefaultContext is used.
	ContextLimit int
	// CompactAt is the share of the context, in percent, at which the conversation is
	// compacted. 0: only when a provider refuses a request.
	CompactAt int
	Tools     Tools
	Gate      *approvals.Gate
	// Stage is the environment of calls; Output, Holder, Asking and Mode are set for each call.
	Stage    tools.Stage
	Frontend Frontend
	Log      Log
	// Instructions returns the system prompt for the present policy.
	Instructions func() string
	// Hooks are commands of the user's that can only tighten. It may be nil.
	Hooks *hooks.Set
	// Helper sets up helper n of a call of delegate, of that kind. Nil: there are no helpers.
	Helper func(ctx context.Context, n int, kind string) (Helper, error)
	// PublishAt is the host's address at which ports of jobs are served; the zero value: none is.
	PublishAt netip.Addr
	// Diagnostics finds errors in files that calls changed. It may be nil.
	Diagnostics Diagnostics
	// Attended: somebody can answer a question.
	Attended bool
	// Hold reports whether refused system calls of a command that starts now may be held for
	// an answer; nil: they are never held.
	Hold func() bool
	// Without remembers which refusals programs survive. It may be nil.
	Without *without.Memory
	// Parallel returns how many calls can run at once now: at least one, at most most; nil:
	// most.
	Parallel func(most int) int
	// WholeAnswers: no call starts before its answer is complete.
	WholeAnswers bool
	// News returns the background commands that have ended since the last call; may be nil.
	News func() []event.BackgroundEnded
	// Ahead lets calls run ahead, before the model makes them; nil: none do.
	Ahead *Ahead
	// Answers are those of earlier sessions; nil: the model answers each message.
	Answers *Answers
	Bounds  Bounds
	// History is the conversation so far, from a session. Calls without a result get one.
	History []model.Item
	// Before is what earlier runs of the session used.
	Before model.Usage
}

// How a turn can end, besides success and errors of the model.
var (
	// ErrStopped: the person answered a question with stop.
	ErrStopped = errors.New("stopped by the user")
	ErrBusy    = errors.New("a turn is running already")
	ErrEmpty   = errors.New("the model gave only empty answers: try again, or choose another model")
	// ErrCutOff, ErrFiltered: the turn's answer is incomplete.
	ErrCutOff   = errors.New("the answer was cut off at the model's output limit (`output` in the configuration of the provider or the model)")
	ErrFiltered = errors.New("the provider's content filter cut the answer off")
	// ErrBroken: several answers in a row broke off after their first tool calls.
	ErrBroken = errors.New("the model's answers kept breaking off")
)

// Agent holds one conversation. One turn runs at a time.
type Agent struct {
	cfg     Config
	turning sync.RWMutex // held by a turn, and shared by those of Call
	apart   sync.RWMutex // held by a Call that changes files, and shared by the others
	begun   bool         // the hooks for the start have run; guarded by turning
	held    heldQuestions
	before  before // guarded by turning
	// unlearned: a failure to write the memory of refusals was already reported.
	unlearned sync.Once
	// parent is the turn that this helper works for; nil: it is no helper.
	parent *turn

	mu      sync.Mutex
	items   []model.Item    // append-only: a prefix handed out never changes
	budget  budget          // of items
	digest  digest          // facts that every summary must keep
	total   model.Usage     // of this run
	guessed model.Usage     // of answers without a report of the provider, estimated
	refused []event.Refusal // of this turn
	unmet   []need          // of this turn, see unmet.go
	unsaved bool            // the log failed, and that was reported
	notes   []string        // for the next request, see publish.go
	doubted bool            // the provider may read only a part, and that was found
	doubt   string          // how that is said, after the turn
}

// New returns an agent that continues cfg.History.
func New(cfg Config) *Agent {
	if cfg.Bounds.Requests <= 0 {
		cfg.Bounds.Requests = DefaultRequests
	}
	a := &Agent{cfg: cfg, budget: newBudget(cfg.ContextLimit, cfg.MaxOutputTokens, cfg.CompactAt)}
	a.restart(cfg.History)
	return a
}

// History returns the conversation so far. Between turns it is always valid: every call
// has its result.
func (a *Agent) History() []model.Item {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.items)
}

// Turn sends in and works until the model makes no more calls. It returns nil on
// success, else ErrStopped, the context's cause, a *model.Error or
// another error of this package. It emits TurnFinished in every case except
// ErrBusy. The history is valid afterwards in all cases.
func (a *Agent) Turn(ctx context.Context, in Input) error {
	if !a.turning.TryLock() {
		return ErrBusy
	}
	defer a.turning.Unlock()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a.mu.Lock()
	a.refused, a.unmet, a.unsaved = nil, nil, false
	a.mu.Unlock()

	t := &turn{agent: a, stop: stop}
	note, err := prompted(ctx, a, in)
	started := func(in Input) event.Event { return event.TurnStarted{Text: in.item().Said(), Images: in.Shown()} }
	if err != nil {
		a.emit(started(in))
	} else {
		recallable := a.recallable(in, note)
		a.say(in, started)
		hooked(a, note)
		if !recallable || !t.recall(ctx, in) {
			err = t.work(ctx)
		}
	}
	outcome := word.TurnFailed
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrStopped):
		outcome, err = word.TurnStopped, ErrStopped
	case ctx.Err() != nil && bounded(context.Cause(ctx)):
		err = context.Cause(ctx) // a failure
	case ctx.Err() != nil && err != nil:
		// The end of ctx is the cause of any other error.
		outcome, err = word.TurnInterrupted, context.Cause(ctx)
	case err == nil:
		outcome = word.TurnDone
	}
	refuseUnmet(a)
	a.mu.Lock()
	refused, doubt, usage := slices.Clone(a.refused), a.doubt, t.usage
	a.doubt = ""
	a.mu.Unlock()
	t.keepAnswer(ctx, outcome, refused)
	if doubt != "" {
		a.emit(event.Notice{Level: word.LevelWarning, Text: doubt})
	}
	a.emit(event.TurnFinished{Outcome: outcome, Err: err, Answer: t.answer, Refused: refused, Usage: usage, Ahead: t.ahead})
	return err
}

// turn is the state of one turn.
type turn struct {
	agent *Agent
	stop  context.CancelCauseFunc
	// usage and requests count those of its helpers too; guarded by agent.mu.
	usage    model.Usage
	requests int
	answer   string // the text of the last answer
	empty    int    // empty answers in a row
	unfit    int    // answers that did not fit the schema
	broken   int    // answers in a row that broke off after tool calls
	full     int    // requests in a row that were refused as too long
	futile   int    // compactions in a row that made no progress
	// since counts the rounds of calls since the last compaction, compacted is the round
	// before it. If one round fills the context again, and it equals the round before the
	// compaction, further summaries are of no use.
	since     int
	compacted string
	held      int // how often hooks made the turn continue
	same      rounds
	failing   repeats
	ahead     event.Ahead
	reads     *answers.Memory // records what this turn reads; nil: its answer is not kept

	wishing sync.Mutex
	wishes  []string // what the model asked for in this turn, in its words; guarded by wishing
}

func (t *turn) work(ctx context.Context) error {
	if err := t.agent.cfg.Tools.Ready(ctx); err != nil {
		return err
	}
	for {
		if err := t.take(); err != nil {
			return err
		}
		t.steer(ctx)
		t.news()
		more, err := t.request(ctx)
		if err != nil {
			return err
		}
		// A message that was typed during the last answer is delivered now.
		if !more && !t.steer(ctx) && !t.continued(ctx) {
			return nil
		}
	}
}

// request makes one request and runs the calls of its answer. It reports whether another
// request is needed.
func (t *turn) request(ctx context.Context) (more bool, err error) {
	a := t.agent
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	if err := t.spentAll(); err != nil {
		return false, err
	}
	switch err := t.compactIfFull(ctx); {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return false, err
	}
	batch := newBatch(ctx, t)
	ans := answer{turn: t, batch: batch}
	items, b := a.now()
	ask := a.ask(items, b.items)
	ask.Schema, ask.Search = a.cfg.Schema.json(), a.cfg.Search
	batch.ahead = t.begin(ctx)
	err = ans.read(ctx, a.cfg.Model.Stream(ctx, ask))
	ans.end()
	a.guess(ans.usage, weighAll(ans.items))
	a.remember(ans.items...)
	calls := batch.calls
	a.remember(batch.wait()...)
	batch.learn(ctx.Err() == nil && err == nil && ans.brokeOff == nil)
	t.nameRounds(batch.fingerprint())
	switch {
	case ctx.Err() != nil:
		if len(calls) == 0 && len(ans.items) > 0 {
			a.append(model.Item{Kind: model.Note, Text: "[That answer is incomplete: " + endedBy(ctx) + ".]"})
		}
		return false, context.Cause(ctx)
	case ans.brokeOff != nil:
		if t.broken++; t.broken > 3 {
			return false, fmt.Errorf("%w: %w", ErrBroken, ans.brokeOff)
		}
		if len(calls) == 0 {
			a.append(model.Item{Kind: model.Note, Text: fmt.Sprintf("[Your answer was ended: %v, and none of them ran. Make at most %d in one answer.]", ans.brokeOff, maxCalls)})
		}
		return true, nil
	case contextFull(err):
		return t.tooLong(ctx, err)
	case err != nil:
		return false, err
	}
	t.broken, t.full = 0, 0
	return t.goOn(ctx, &ans, len(calls))
}

// goOn evaluates a complete answer.
func (t *turn) goOn(ctx context.Context, ans *answer, calls int) (more bool, err error) {
	switch text := ans.text(); {
	case calls > 0:
		t.empty = 0
		return true, nil
	case text == "":
		if t.empty++; t.empty > 2 {
			return false, ErrEmpty
		}
		t.agent.append(model.Item{Kind: model.Note, Text: "[Your last answer was empty. Go on with the task, or say in a sentence that it is done.]"})
		return true, nil
	default:
		t.empty, t.answer = 0, text
	}
	switch ans.reason {
	case model.StopLength:
		return false, ErrCutOff
	case model.StopFilter:
		return false, ErrFiltered
	}
	return t.checkAnswer(ctx)
}

// ask returns the request for items, of that weight, which is sent now.
func (a *Agent) ask(items []model.Item, weight int) model.Request {
	r := a.newRequest(items)
	a.mu.Lock()
	a.budget.asking(weighFixed(r), weight)
	a.mu.Unlock()
	a.emit(event.RequestStarted{})
	return r
}

// measure sets the weight of instructions and tools before the first request, so that
// the reported use of the context does not jump with it.
func (a *Agent) measure() {
	a.mu.Lock()
	known := a.budget.fixed > 0
	a.mu.Unlock()
	if known {
		return
	}
	fixed := weighFixed(a.newRequest(nil))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.budget.fixed = fixed
}

// newRequest returns the request for items, with the present settings, instructions and tools.
func (a *Agent) newRequest(items []model.Item) model.Request {
	r := model.Request{Model: a.cfg.ModelName, Effort: a.cfg.Effort, CacheKey: a.cfg.CacheKey, MaxOutputTokens: a.cfg.MaxOutputTokens, Items: items, Tools: a.cfg.Tools.Specs(), Blind: a.cfg.Blind}
	if a.cfg.Instructions != nil {
		r.Instructions = a.cfg.Instructions()
	}
	return r
}

// maxSteers bounds the messages that are delivered at once.
const maxSteers = 16

// steer delivers messages that were typed meanwhile and reports whether there were any.
func (t *turn) steer(ctx context.Context) bool {
	any := false
	for range maxSteers {
		in, ok := t.agent.cfg.Frontend.Steer()
		if !ok {
			break
		}
		note, err := prompted(ctx, t.agent, in)
		if err != nil {
			t.agent.emit(event.Notice{Level: word.LevelWarning, Text: err.Error()})
			continue
		}
		any = true
		t.reads.Forget()
		t.agent.say(in, func(in Input) event.Event { return event.Steered{Text: in.item().Said(), Images: in.Shown()} })
		hooked(t.agent, note)
	}
	return any
}

// emit sends an event to the face, and records what a summary must keep of it.
func (a *Agent) emit(e event.Event) {
	a.mu.Lock()
	a.digest.note(e)
	a.mu.Unlock()
	a.cfg.Frontend.Emit(e)
}

// answered reports the answer to a question, and records it.
func (a *Agent) answered(q *approvals.Request, e event.PermissionAnswered) {
	a.mu.Lock()
	a.digest.answered(q, e)
	a.mu.Unlock()
	a.emit(e)
}

// spent adds the tokens of an answer and reports them, and how full the context is.
func (a *Agent) spent(u model.Usage) {
	a.measure()
	if p := a.above(); p != nil {
		p.mu.Lock()
		p.total = p.total.Add(u)
		p.mu.Unlock()
	}
	a.mu.Lock()
	a.total = a.total.Add(u)
	e := event.UsageUpdated{Last: u, Total: a.cfg.Before.Add(a.total), Context: a.budget.used(), Limit: a.budget.limit, Assumed: a.budget.known == 0}
	a.mu.Unlock()
	a.emit(e)
}

// refuse records a permission that nobody could grant, once for each permission.
func (a *Agent) refuse(r event.Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.refused, func(o event.Refusal) bool { return reflect.DeepEqual(o, r) }) {
		return
	}
	a.refused = append(a.refused, r)
}
