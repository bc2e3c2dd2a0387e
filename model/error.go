package model

import (
	"fmt"
	"time"
)

// ErrorKind groups a provider's errors by what can be done about them.
type ErrorKind string

const (
	// SignIn: the key is missing, wrong, or may not use this model.
	SignIn ErrorKind = "sign_in"
	// RateLimited: too many requests; RetryAfter may be set.
	RateLimited ErrorKind = "rate_limited"
	// NoQuota: the account has no money or no quota left, which waiting does not change.
	NoQuota ErrorKind = "no_quota"
	// ContextFull: the conversation is longer than the model's context.
	ContextFull ErrorKind = "context_full"
	// Transport: the provider could not be reached or the stream broke.
	Transport ErrorKind = "transport"
	// ServerFault: the provider had an internal error (5xx, HTML).
	ServerFault ErrorKind = "server"
	// BadRequest: the provider refused the request; sending it again is useless.
	BadRequest ErrorKind = "bad_request"
)

// Error is a provider's failure. Adapters return only this type and the context's own
// errors.
type Error struct {
	Kind ErrorKind
	// Message is the provider's own text, bounded to 2 KiB, control characters removed.
	Message string
	// Status is the HTTP status; 0 when there was no answer.
	Status int
	// RetryAfter is the wait that the provider asked for; 0 if it named none.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string {
	msg := e.Message
	if msg == "" && e.Err != nil {
		msg = e.Err.Error()
	}
	switch {
	case msg == "" && e.Status == 0:
		return e.Kind.words()
	case msg == "":
		return fmt.Sprintf("%s (%d)", e.Kind.words(), e.Status)
	case e.Status == 0: // the adapter's message is complete
		return msg
	}
	return fmt.Sprintf("%s (%d): %s", e.Kind.words(), e.Status, msg)
}

// words explains the kind to a user.
func (k ErrorKind) words() string {
	switch k {
	case SignIn:
		return "the provider rejected the API key"
	case RateLimited:
		return "the provider limits requests"
	case NoQuota:
		return "the account has no quota left"
	case ContextFull:
		return "the conversation is longer than the model takes"
	case Transport:
		return "the connection to the provider failed"
	case BadRequest:
		return "the provider refused the request"
	}
	return "the provider failed"
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	return e.Kind == RateLimited || e.Kind == Transport || e.Kind == ServerFault
}
