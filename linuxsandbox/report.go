//go:build linux

package linuxsandbox

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"codeagent/sandbox"
)

// What the keeper reports are a few words each, separated by NUL bytes: setting
// encoding/json up for three small types costs more than each of them is worth.

// facts is what the keeper found while restricting itself ("ready").
type facts struct {
	LandlockABI int
	// SignalProof: it was shown that no signal leaves the Landlock domain.
	SignalProof bool
	// Root: the command runs as uid 0.
	Root bool
	// Broker: the kernel gave a filter a listener, and its memory can be read.
	Broker bool
	// NoBroker says why not, in words; empty when it was not tried.
	NoBroker string
	// Thread is the confined thread, in a probe.
	Thread int
	// CoreHandler: a program that crashes is handed to a handler of the host.
	CoreHandler bool

	// Namespaces: keepers get mount and IPC namespaces, and as an ordinary user a
	// user namespace. Set by codeagent, which tried it.
	Namespaces bool
	// NoPIDs says why they get no PID namespace besides, "" when they do.
	NoPIDs string
	// NamespacesWhy says why not.
	NamespacesWhy string
	// HostNet is the cookie of codeagent's own network namespace where commands
	// can be given another one.
	HostNet uint64

	// Sockets is how the broker gets at sockets. Set by codeagent.
	Sockets socketTaking
	// NoSockets says why not.
	NoSockets string
	// Groups are set where the policy has a limit that a control group can hold.
	Groups groupFacts
	// Globs is what matches the policy's deny-read globs, where it can be
	// mounted over.
	Globs globMatches
}

// failure is what the keeper reports instead of running the command.
type failure struct {
	Code  int
	Stage string
	// Errno is 0 when the failure was not a system call's.
	Errno int
	Text  string
}

// ended is how the command's main process ended.
type ended struct {
	Exit   int
	Signal int
	// Limit is set when the keeper saw which limit ended it.
	Limit sandbox.Limit
}

func (f facts) encode() []byte {
	return joinWords(strconv.Itoa(f.LandlockABI), strconv.FormatBool(f.SignalProof), strconv.FormatBool(f.Root),
		strconv.FormatBool(f.Broker), f.NoBroker, strconv.Itoa(f.Thread), strconv.FormatBool(f.CoreHandler))
}

func (f failure) encode() []byte {
	return joinWords(strconv.Itoa(f.Code), f.Stage, strconv.Itoa(f.Errno), f.Text)
}

func (e ended) encode() []byte {
	return joinWords(strconv.Itoa(e.Exit), strconv.Itoa(e.Signal), string(e.Limit))
}

func joinWords(list ...string) []byte {
	var out []byte
	for i, w := range list {
		if i > 0 {
			out = append(out, 0)
		}
		out = append(out, w...)
	}
	return out
}

// reader takes words apart again; err is the first thing that was wrong.
type reader struct {
	left [][]byte
	err  error
}

func readWords(body []byte, count int) *reader {
	r := &reader{left: bytes.SplitN(body, []byte{0}, count)}
	if len(r.left) != count {
		r.err = fmt.Errorf("%d words instead of %d", len(r.left), count)
	}
	return r
}

func (r *reader) word() string {
	if r.err != nil {
		return ""
	}
	w := r.left[0]
	r.left = r.left[1:]
	return string(w)
}

func (r *reader) number() int {
	n, err := strconv.Atoi(r.word())
	r.err = errors.Join(r.err, err)
	return n
}

func (r *reader) bool() bool {
	v, err := strconv.ParseBool(r.word())
	r.err = errors.Join(r.err, err)
	return v
}

func decodeFacts(body []byte) (facts, error) {
	r := readWords(body, 7)
	return facts{
		LandlockABI: r.number(), SignalProof: r.bool(), Root: r.bool(), Broker: r.bool(), NoBroker: r.word(), Thread: r.number(), CoreHandler: r.bool(),
	}, r.err
}

func decodeFailure(body []byte) (failure, error) {
	r := readWords(body, 4)
	return failure{r.number(), r.word(), r.number(), r.word()}, r.err
}

func decodeEnded(body []byte) (ended, error) {
	r := readWords(body, 3)
	return ended{r.number(), r.number(), sandbox.Limit(r.word())}, r.err
}
