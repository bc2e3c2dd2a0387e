package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"codeagent/internal/short"
	"codeagent/model"
)

// maxMessage bounds a provider's text in a model.Error.
const maxMessage = 2 << 10

// final marks an error whose kind is retryable, although a retry would fail again.
type final struct{ err error }

func (f final) Error() string { return f.err.Error() }
func (f final) Unwrap() error { return f.err }

// contextCodes are the codes by which providers report that the conversation is too long.
var contextCodes = []string{
	"context_length_exceeded",       // OpenAI, and compatible servers
	"context_window_exceeded",       // gateways
	"model_context_window_exceeded", // Anthropic, Zhipu
	"exceed_context_size_error",     // llama.cpp
	"request_too_large",             // Anthropic, with 413
	"1261",                          // Zhipu
}

// contextWords are the same in error messages, lower case.
var contextWords = []string{
	"maximum context length",             // OpenAI, vLLM, DeepSeek, OpenRouter
	"context length exceeded",            // gateways
	"exceeds the context",                // LM Studio
	"exceeds the available context size", // llama.cpp
	"exceed context limit",               // Anthropic: input length and `max_tokens` exceed context limit
	"context window",                     // OpenAI Responses, MiniMax
	"greater than the context length",    // LM Studio
	"context the overflows",              // LM Studio, sic
	"context length of only",             // LM Studio
	"context length is only",             // vLLM
	"too long to fit into the model",     // vLLM
	"longer than the model's context",    // SGLang
	"prompt token count",                 // GitHub Models
	"prompt is too long",                 // Anthropic
	"input is too long",                  // Bedrock
	"input token count",                  // Gemini
	"maximum prompt length",              // xAI
	"exceeded model token limit",         // Moonshot
	"prompt exceeds max length",          // Zhipu
	"too large for model with",           // Mistral
	"reduce the length of the messages",  // OpenAI
	"please reduce your prompt",          // TGI
	"`inputs` tokens + `max_new_tokens`", // TGI
	"too many tokens: total",             // Cohere
	"request too large",                  // OpenAI, Groq: more tokens than the minute allows
	"input length exceeds",               // Ollama, DashScope
	"range of input length",              // DashScope
	"context size has been exceeded",     // llama.cpp
}

var quotaWords = []string{
	"insufficient_quota", "billing_hard_limit", "billing_not_active", "insufficient_balance",
	"exceeded your current quota", "insufficient balance", "credit balance is too low",
	"insufficient credits", "out of credits", "requires more credits", "insufficient funds",
}

// tooLargeWords replace a web page that reports it: proxies bound requests in bytes.
const tooLargeWords = "the request is too large for the server, or for a proxy before it"

// classify converts an answer that is not a stream, or an error inside a stream, to a typed
// error. status is 0 inside a stream.
func classify(status int, h http.Header, f fault, now time.Time) *model.Error {
	f.message = f.message[:min(len(f.message), maxErrorBody)] // an event's message may be larger
	if f.page {
		f.message = shortened(f.message)
	}
	if status == http.StatusRequestEntityTooLarge && (f.page || f.message == "") {
		f.page, f.message = false, tooLargeWords
	}
	e := &model.Error{Status: status, Message: clean(f.message), RetryAfter: retryAfter(h, now)}
	if e.RetryAfter == 0 {
		e.RetryAfter = min(max(f.retry, waitInText(f.message)), maxWait)
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(status))
	}
	if e.Message == "" {
		e.Message = "the provider reports an error and does not say which"
	}
	if status < 300 && f.status != 0 {
		status = f.status
	}
	e.Kind = kindOf(status, f)
	if e.Kind == model.RateLimited && e.RetryAfter == 0 && (status == http.StatusPaymentRequired || says(f, quotaWords)) {
		e.Kind = model.NoQuota
	}
	if e.Kind == model.ServerFault && (status == http.StatusNotImplemented || status == http.StatusHTTPVersionNotSupported) {
		e.Err = final{errors.New("the server does not support this request")}
	}
	if e.Retryable() && e.Err == nil && h.Get("x-should-retry") == "false" {
		e.Err = final{errors.New("the provider asks not to try again")}
	}
	return e
}

func kindOf(status int, f fault) model.ErrorKind {
	signIn := status == http.StatusUnauthorized || status == http.StatusForbidden
	if !signIn && (slices.ContainsFunc(f.codes, func(c string) bool { return slices.Contains(contextCodes, c) }) || hasAny(f.message, contextWords)) {
		return model.ContextFull
	}
	switch {
	case signIn:
		return model.SignIn
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired:
		return model.RateLimited
	case status == http.StatusRequestEntityTooLarge:
		return model.ContextFull
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return model.Transport
	case status == http.StatusConflict, status >= 500:
		return model.ServerFault
	case status >= 300:
		if says(f, quotaWords) { // Anthropic: 400 when the account has no money
			return model.RateLimited
		}
		return model.BadRequest
	}
	for _, c := range f.codes {
		switch {
		case strings.Contains(c, "rate_limit"), strings.Contains(c, "quota"), c == "resource_exhausted", c == "too_many_requests":
			return model.RateLimited
		case strings.Contains(c, "api_key"), strings.Contains(c, "authentication"), strings.Contains(c, "permission"), c == "unauthenticated", c == "unauthorized":
			return model.SignIn
		case c == "invalid_request_error", c == "invalid_argument", c == "bad_request", c == "badrequesterror", c == "invalid_prompt", c == "not_found_error",
			c == "badrequest", c == "invalidparameter", // Volcano, DashScope
			strings.Contains(c, "image"): // OpenAI Responses: invalid_image, image_parse_error, failed_to_download_image
			return model.BadRequest
		}
	}
	return model.ServerFault
}

// says reports whether a code or the message holds one of the phrases.
func says(f fault, phrases []string) bool {
	return hasAny(strings.Join(f.codes, " ")+" "+f.message, phrases)
}

func hasAny(text string, phrases []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
}

// maxWait is the longest wait that makes a difference; a longer one means no retry today.
const maxWait = 24 * time.Hour

// retryAfter parses Retry-After (seconds or an HTTP date, RFC 9110 10.2.3) and OpenAI's
// retry-after-ms, which is more exact and takes precedence.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if wait := waitOf(h.Get("retry-after-ms"), time.Millisecond); wait > 0 {
		return wait
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(v); err == nil {
		return min(max(at.Sub(now), 0), maxWait)
	}
	return waitOf(v, time.Second)
}

// waitOf returns a number of units as a duration, at most maxWait; 0 if it is not a number. A
// number that overflows a float counts as a long wait.
func waitOf(number string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(n) || n <= 0 {
		return 0
	}
	return time.Duration(min(n, float64(maxWait/unit)) * float64(unit))
}

// unreachable types an error of the connection. Its text contains no URL, since URLs may
// hold keys. hidden removes secrets from the error's text.
func unreachable(err error, during string, hidden func(string) string) *model.Error {
	if typed := new(model.Error); errors.As(err, &typed) {
		return typed
	}
	if u := new(url.Error); errors.As(err, &u) {
		err = u.Err
	}
	said := err.Error()
	cause := short.Undialed(said)
	var badCert *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &badCert):
		cause = "the server's certificate cannot be verified: " + badCert.Err.Error()
	case errors.As(err, &notTLS):
		cause = "the server does not speak TLS: " + said
	case cause == said:
		cause = during + ": " + said
	}
	e := &model.Error{Kind: model.Transport, Message: clean(hidden(cause)), Err: err}
	if badCert != nil || errors.As(err, &notTLS) || strings.Contains(err.Error(), "unsupported protocol scheme") {
		e.Err = final{err}
	}
	return e
}

// asError converts err to a type that adapters return: the context's own error if ctx is
// done, otherwise a *model.Error. An error that no layer typed is a bad request: it was
// refused before it was sent.
func asError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if typed := new(model.Error); errors.As(err, &typed) {
		return typed
	}
	if u := new(url.Error); errors.As(err, &u) {
		err = u.Err // its text contains the URL
	}
	return &model.Error{Kind: model.BadRequest, Message: clean(err.Error()), Err: err}
}

// clean converts hostile text to one bounded line without control, format or invalid
// characters.
func clean(s string) string {
	return short.Bound(strings.TrimSpace(oneLine(short.Head(s, 4*maxMessage))), maxMessage)
}

// oneLine returns s without line breaks and invisible characters.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
}
