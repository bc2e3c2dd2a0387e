package telemetry

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are what the standard variables say.
type settings struct {
	traces, metrics *target // nil: not sent
	resource        []attribute
	parent          parent
	// interval is the time between two reports of metrics.
	interval time.Duration
	// content: texts of commands may be sent.
	content bool
}

// target is where one signal is sent.
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

const localCollector = "http://localhost:4318"

// read reads the variables. It returns nil if nothing is to be sent; problems are sentences
// about what is set and cannot be followed. They show no value that may be a secret.
func read(env func(string) string, version string) (s *settings, problems []string) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	r := reader{env: env}
	s = &settings{traces: r.target("TRACES", "v1/traces"), metrics: r.target("METRICS", "v1/metrics")}
	if s.traces == nil && s.metrics == nil {
		return nil, r.problems
	}
	s.resource = r.resource(version)
	if s.parent = r.parent(); !s.parent.sampled {
		s.traces = nil
	}
	s.interval = r.milliseconds(time.Minute, "OTEL_METRIC_EXPORT_INTERVAL")
	s.content = strings.EqualFold(env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"), "true")
	return s, r.problems
}

type reader struct {
	env      func(string) string
	problems []string
}

func (r *reader) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.problems, text) { // both signals read the variables that they share
		r.problems = append(r.problems, text)
	}
}

// either returns the variable of a signal ("TRACES"), or that of all signals, and its name.
func (r *reader) either(signal, name string) (value, from string) {
	from = "OTEL_EXPORTER_OTLP_" + signal + "_" + name
	if value = strings.TrimSpace(r.env(from)); value == "" {
		from = "OTEL_EXPORTER_OTLP_" + name
		value = strings.TrimSpace(r.env(from))
	}
	return value, from
}

// target returns where a signal is sent; nil if nowhere.
func (r *reader) target(signal, path string) *target {
	name := "OTEL_" + signal + "_EXPORTER"
	exporter := strings.TrimSpace(r.env(name))
	endpoint, from := r.either(signal, "ENDPOINT")
	if endpoint == "" && exporter == "otlp" {
		endpoint, from = localCollector, "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	switch {
	case exporter == "none", endpoint == "":
		return nil
	case exporter != "" && exporter != "otlp":
		r.problem("%s: only otlp and none are supported", name)
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.problem("%s: not a URL of the form http://HOST:PORT", from)
		return nil
	}
	if from == "OTEL_EXPORTER_OTLP_ENDPOINT" { // that of one signal is used as it is
		u = u.JoinPath(path)
	}
	t := &target{url: u.String(), host: u.Host, headers: map[string]string{}}
	switch protocol, from := r.either(signal, "PROTOCOL"); protocol {
	case "", "http/json", "http/protobuf": // collectors take both at the same address
	case "grpc":
		r.problem("%s=grpc: only OTLP over HTTP is supported; set it to http/json, and the endpoint to the collector's port for HTTP, usually 4318", from)
		return nil
	default:
		r.problem("%s: invalid value; use http/json or http/protobuf", from)
		return nil
	}
	headers, from := r.either(signal, "HEADERS")
	for k, v := range r.pairs(headers, from) {
		t.headers[k] = v
	}
	t.timeout = r.milliseconds(10*time.Second, "OTEL_EXPORTER_OTLP_"+signal+"_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
	if cert, from := r.either(signal, "CERTIFICATE"); cert != "" {
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

// milliseconds returns the first variable that is set.
func (r *reader) milliseconds(usual time.Duration, names ...string) time.Duration {
	for _, name := range names {
		v := strings.TrimSpace(r.env(name))
		if v == "" {
			continue
		}
		if n, err := strconv.ParseUint(v, 10, 31); err == nil && n > 0 {
			return time.Duration(n) * time.Millisecond
		}
		r.problem("%s: not a positive number of milliseconds", name)
	}
	return usual
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
