package exec

import (
	"cmp"
	"context"
	"slices"

	"codeagent/sandbox"
)

// Run runs b in the foreground, as Runner.Run does. SendBack makes it a job: then job is not nil, and
// it continues without ctx, sink, Holder and wall limit.
func (l *Jobs) Run(ctx context.Context, p sandbox.Policy, b Background, sink Sink) (job *Job, so Outcome, err error) {
	if err := ctx.Err(); err != nil {
		return nil, so, cannot("start", err)
	}
	var out Outcome
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })() // no more, once it is a job
	call, over := context.WithCancel(ctx)
	defer over()
	held := &callHolder{Holder: b.Holder, call: call}
	if b.Holder != nil {
		b.Holder = held
	}
	back := make(chan struct{})
	j := &Job{about: b, held: held, ctx: life, cancel: func() { cancel(nil) }, done: make(chan struct{}), back: back, tell: l.tell}
	c := b.Command
	c.Tap, c.listens = j.take, j.listens
	if j.running, err = cmp.Or(b.In, l.runner).begin(ctx, p, c, sink); err != nil {
		cancel(nil)
		return nil, so, err
	}
	ended := make(chan struct{})
	var last error
	go func() {
		defer close(ended)
		out, last = j.running.end(life)
	}()
	l.mu.Lock()
	l.front = append(l.front, j)
	l.mu.Unlock()
	select {
	case <-ended:
		if l.leave(j) {
			cancel(nil)
			return nil, out, last
		}
	case <-back:
	}
	j.running.cap.mute()
	held.end()
	j.running.clock.pause() // for ever
	go j.follow(l.tell, func() (Outcome, error) { <-ended; return out, last })
	l.tell()
	return j, so, nil
}

// leave takes j off the list of those in the foreground; false: it is a job already.
func (l *Jobs) leave(j *Job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.front)
	l.front = slices.DeleteFunc(l.front, func(f *Job) bool { return f == j })
	return len(l.front) < n
}

// SendBack makes the commands that run in the foreground jobs, and returns their numbers. The error says that
// there may be no more jobs; those beyond that stay.
func (l *Jobs) SendBack() (numbers []int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var stay []*Job
	for _, j := range l.front {
		id := 0
		if err == nil {
			id, err = l.number()
		}
		if id == 0 {
			stay = append(stay, j)
			continue
		}
		j.sentBack(id)
		l.list, numbers = append(l.list, j), append(numbers, id)
	}
	l.front = stay
	return numbers, err
}

// sentBack makes a command of the foreground the job with that number.
func (j *Job) sentBack(id int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.back)
	j.id, j.back = id, nil
	for _, l := range j.heard {
		j.hear(l)
	}
}
