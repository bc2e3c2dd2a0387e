package telemetry

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// settings are what the standard variables say.
type settings struct {
	target
	resource []attribute
	parent   parent
}

// target is where the spans are sent.
type target struct {
	url     string
	host    string // for messages
	headers map[string]string
	timeout time.Duration
}

// parent is the span of the program that started codeagent.
type parent struct {
	traceID, spanID string
	// sampled: the spans of its trace are sent.
	sampled bool
}

// defaultTimeout is that of the standard.
const defaultTimeout = 10 * time.Second

const localCollector = "http://localhost:4318"

// read reads the variables. It returns nil if nothing is to be sent; problems are sentences
// about what is set and cannot be followed. They show no value that may be a secret.
func read(env func(string) string, version string) (s *settings, problems []string) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	r := reader{env: env}
	to := r.target()
	if to == nil {
		return nil, r.problems
	}
	above := r.parent()
	if !above.sampled {
		return nil, r.problems
	}
	return &settings{*to, r.resource(version), above}, r.problems
}

type reader struct {
	env      func(string) string
	problems []string
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// either returns the variable of the spans, or that of all signals, and its name.
func (r *reader) either(name string) (value, from string) {
	from = "OTEL_EXPORTER_OTLP_TRACES_" + name
	if value = strings.TrimSpace(r.env(from)); value == "" {
		from = "OTEL_EXPORTER_OTLP_" + name
		value = strings.TrimSpace(r.env(from))
	}
	return value, from
}

// target returns where the spans are sent; nil if nowhere.
func (r *reader) target() *target {
	exporter := strings.TrimSpace(r.env("OTEL_TRACES_EXPORTER"))
	endpoint, from := r.either("ENDPOINT")
	if endpoint == "" && exporter == "otlp" {
		endpoint, from = localCollector, "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	switch {
	case exporter == "none", endpoint == "":
		return nil
	case exporter != "" && exporter != "otlp":
		r.problem("OTEL_TRACES_EXPORTER: only otlp and none are supported")
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.problem("%s: not a URL of the form http://HOST:PORT", from)
		return nil
	}
	if from == "OTEL_EXPORTER_OTLP_ENDPOINT" { // that of one signal is used as it is
		u = u.JoinPath("v1/traces")
	}
	switch protocol, from := r.either("PROTOCOL"); protocol {
	case "", "http/json", "http/protobuf": // collectors take both at the same address
	case "grpc":
		r.problem("%s=grpc: only OTLP over HTTP is supported; set it to http/json, and the endpoint to the collector's port for HTTP, usually 4318", from)
		return nil
	default:
		r.problem("%s: invalid value; use http/json or http/protobuf", from)
		return nil
	}
	headers, from := r.either("HEADERS")
	t := &target{u.String(), u.Host, r.pairs(headers, from), defaultTimeout}
	if timeout, from := r.either("TIMEOUT"); timeout != "" {
		if n, err := strconv.ParseUint(timeout, 10, 31); err != nil || n == 0 {
			r.problem("%s: not a positive number of milliseconds", from)
		} else {
			t.timeout = time.Duration(n) * time.Millisecond
		}
	}
	if cert, from := r.either("CERTIFICATE"); cert != "" {
		r.problem("%s is not supported: SSL_CERT_FILE names certificates to trust", from)
	}
	return t
}

// pairs reads "k=v,k2=v2", where values may have %XX. A list with an error is left out as a
// whole, as the standard says.
func (r *reader) pairs(list, from string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		k, v, ok := strings.Cut(part, "=")
		k = strings.TrimSpace(k)
		v, err := url.PathUnescape(strings.TrimSpace(v))
		if !ok || k == "" || err != nil || strings.ContainsAny(k+v, "\r\n\x00") {
			r.problem("%s: not of the form NAME=VALUE,NAME=VALUE; it is left out", from)
			return nil
		}
		out[k] = v
	}
	return out
}

func (r *reader) resource(version string) []attribute {
	given := r.pairs(r.env("OTEL_RESOURCE_ATTRIBUTES"), "OTEL_RESOURCE_ATTRIBUTES")
	name := cmp.Or(r.env("OTEL_SERVICE_NAME"), given["service.name"], "codeagent")
	out := []attribute{
		text("service.name", name), text("service.version", cmp.Or(given["service.version"], version)),
		text("service.instance.id", cmp.Or(given["service.instance.id"], newID(16))),
		text("telemetry.sdk.name", "codeagent"), text("telemetry.sdk.language", "go"), text("telemetry.sdk.version", version),
	}
	for k, v := range given {
		if !has(out, k) {
			out = append(out, text(k, v))
		}
	}
	return out
}

// traceContext is the form of TRACEPARENT: the IDs of the trace and of the span, and flags. A later version may
// have more.
const traceContext = `^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`

// parent reads TRACEPARENT, in which CI systems name the span that runs codeagent.
func (r *reader) parent() parent {
	header := strings.TrimSpace(r.env("TRACEPARENT"))
	f := regexp.MustCompile(traceContext).FindStringSubmatch(header)
	switch {
	case header == "":
		return parent{sampled: true}
	case f == nil || strings.Trim(f[1], "0") == "" || strings.Trim(f[2], "0") == "":
		r.problem("TRACEPARENT: not a trace context of the form 00-TRACE-SPAN-FLAGS; it is left out")
		return parent{sampled: true}
	}
	flags, err := strconv.ParseUint(f[3], 16, 8)
	return parent{traceID: f[1], spanID: f[2], sampled: err == nil && flags&1 == 1}
}
