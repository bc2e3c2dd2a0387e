package wire

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"codeagent/model"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int
		body    string
		kind    model.ErrorKind
		message string
	}{
		// The shapes.
		{400, `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":null}}`, model.BadRequest, "m"},
		{400, `{"error":"m"}`, model.BadRequest, "m"},
		{400, `{"error":{"message":["m","n"]}}`, model.BadRequest, "m; n"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"m"}}`, model.BadRequest, "m"},
		{400, `[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`, model.BadRequest, "m"},
		{400, `{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}`, model.BadRequest, "m"},
		{422, `{"detail":"m"}`, model.BadRequest, "m"},
		{422, `{"detail":[{"type":"missing","loc":["body","x"],"msg":"m"},{"msg":"n"}]}`, model.BadRequest, "body.x: m; n"},
		{400, `{"errors":[{"message":"m"}]}`, model.BadRequest, "m"},
		{400, `"m"`, model.BadRequest, "m"},
		{404, "404 page not found\n", model.BadRequest, "404 page not found"},
		{502, "<html><head><title>502  Bad\nGateway</title></head></html>", model.ServerFault, "a web page: 502 Bad Gateway"},
		{502, "<html><style>p{}</style><p>no title &amp; all</p></html>", model.ServerFault, "a web page: no title & all"},
		{503, "", model.ServerFault, "service unavailable"},
		{500, "{broken", model.ServerFault, "{broken"},
		{429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"inner\"}}","provider_name":"P"}}}`, model.RateLimited, "Provider returned error: inner"},
		// Signing in.
		{401, `{"error":{"message":"m","code":"invalid_api_key"}}`, model.SignIn, "m"},
		{403, `{"error":{"message":"Country not supported"}}`, model.SignIn, "Country not supported"},
		{0, `{"error":{"message":"m","type":"authentication_error"}}`, model.SignIn, "m"},
		// Rate.
		{429, `{"error":{"message":"Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.","type":"tokens","code":"rate_limit_exceeded"}}`, model.RateLimited, ""},
		{0, `{"error":{"message":"m","code":429}}`, model.RateLimited, "m"},
		{0, `{"error":{"message":"m","type":"rate_limit_error"}}`, model.RateLimited, "m"},
		{402, `{"error":{"message":"Insufficient Balance"}}`, model.NoQuota, ""},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}`, model.NoQuota, ""},
		// Context.
		{400, `{"error":{"message":"m","code":"context_length_exceeded"}}`, model.ContextFull, "m"},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000."}}`, model.ContextFull, ""},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing it","type":"exceed_context_size_error","n_ctx":4096}}`, model.ContextFull, ""},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}}`, model.ContextFull, ""},
		{400, `[{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, model.ContextFull, ""},
		{400, `{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length","type":"invalid_request_error"}`, model.ContextFull, ""},
		{400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, model.ContextFull, ""},
		{413, `{"error":{"message":"Request too large for model m in organization o on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}`, model.ContextFull, ""},
		{429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000."}}`, model.ContextFull, ""},
		{400, `{"error":{"message":"You passed 40000 input tokens and requested 0 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 32768 tokens. Please reduce the length of the input prompt.","type":"BadRequestError","param":"input_tokens","code":400}}`, model.ContextFull, ""},
		{400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104). None","type":"BadRequestError","code":400}}`, model.ContextFull, ""},
		{400, `{"object":"error","message":"The prompt (total length 25938) is too long to fit into the model (context length 4096).","type":"BadRequestError","code":400}`, model.ContextFull, ""},
		{400, `{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (8192 tokens).","type":"BadRequestError","code":400}`, model.ContextFull, ""},
		{400, `{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, model.ContextFull, ""},
		{400, `{"error":{"message":"Requested token count exceeds the model's maximum context length of 32768 tokens.","type":"invalid_request_error"}}`, model.ContextFull, ""},
		{400, `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error"}}`, model.ContextFull, ""},
		{0, `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`, model.ContextFull, ""},
		{429, `{"message":"Too many tokens, please wait before trying again."}`, model.RateLimited, ""},
		{400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens."}}`, model.BadRequest, ""},
		{413, "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body><center><h1>413 Request Entity Too Large</h1></center><hr><center>nginx</center></body></html>", model.ContextFull, tooLargeWords},
		{413, "", model.ContextFull, tooLargeWords},
		// The server.
		{409, `{}`, model.ServerFault, ""},
		{408, `{}`, model.Transport, ""},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ServerFault, "Overloaded"},
		{0, `{"error":{"message":"m","type":"server_error"}}`, model.ServerFault, "m"},
		{0, `{"error":{}, "message":"m"}`, model.ServerFault, "m"},
		// Images.
		{0, `{"type":"response.failed","response":{"error":{"code":"image_parse_error","message":"m"}}}`, model.BadRequest, "m"},
		{0, `{"type":"error","code":"unsupported_image_media_type","message":"m"}`, model.BadRequest, "m"},
		{0, `{"error":{"code":"InvalidParameter","message":"m","type":"BadRequest"}}`, model.BadRequest, "m"},
		{0, `{"error":{"message":"image input is not supported"}}`, model.ServerFault, ""},
	} {
		f, _ := readFault([]byte(c.body))
		e := classify(c.status, http.Header{}, f, time.Time{})
		if e.Kind != c.kind || c.message != "" && e.Message != c.message || e.Message == "" || e.Status != c.status {
			t.Errorf("%d %s\nis %+v, want kind %s and message %q", c.status, c.body, e, c.kind, c.message)
		}
	}
}

func TestQuotaIsFinal(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"error":{"message":"You exceeded your current quota, please check your plan","code":"insufficient_quota"}}`:                                                               true,
		`{"error":{"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`: false,
		`{"error":{"message":"Rate limit reached"}}`: false,
	} {
		f, _ := readFault([]byte(body))
		if e := classify(429, nil, f, time.Time{}); (e.Kind == model.NoQuota) != want {
			t.Errorf("%s: quota %t, want %t", body, !want, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		header, value, body string
		want                time.Duration
	}{
		{"Retry-After", "7", "", 7 * time.Second},
		{"Retry-After", "0.25", "", 250 * time.Millisecond},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:35 GMT", "", 30 * time.Second},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", "", 0},
		{"Retry-After", "-3", "", 0},
		{"Retry-After", "1e300", "", maxWait},
		{"Retry-After", "1e999", "", maxWait},
		{"Retry-After", "1000000000", "", maxWait},
		{"Retry-After", "99999999999999999999999", "", maxWait},
		{"Retry-After", "86401", "", maxWait},
		{"Retry-After", "86399", "", maxWait - time.Second},
		{"Retry-After", "Inf", "", maxWait},
		{"Retry-After", "-Inf", "", 0},
		{"Retry-After", "-1e999", "", 0},
		{"Retry-After", "NaN", "", 0},
		{"Retry-After", "0", "", 0},
		{"Retry-After", "Fri, 02 Jan 2099 03:04:35 GMT", "", maxWait},
		{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "", maxWait},
		{"Retry-After", "soon", "", 0},
		{"Retry-After-Ms", "1500", "", 1500 * time.Millisecond},
		{"Retry-After-Ms", "1e13", "", maxWait},
		{"Retry-After-Ms", "1e999", "", maxWait},
		{"Retry-After-Ms", "NaN", "", 0},
		{"Retry-After-Ms", "-5", "", 0},
		{"X", "", `{"error":{"message":"Please try again in 1.5s. Visit"}}`, 1500 * time.Millisecond},
		{"X", "", `{"error":{"message":"try again in 6m0s"}}`, 6 * time.Minute},
		{"X", "", `{"error":{"message":"Please retry after 20 seconds."}}`, 20 * time.Second},
		{"X", "", `{"error":{"message":"try again in 99999999999999999999s"}}`, maxWait},
		{"X", "", `{"error":{"message":"try again in 2562048h"}}`, maxWait},
		{"X", "", `{"error":{"message":"try again in 48h"}}`, maxWait},
		{"X", "", `{"error":{"message":"Retry After 20 Seconds"}}`, 20 * time.Second},
		{"X", "", `{"error":{"message":"m","details":[{"retryDelay":"34s"}]}}`, 34 * time.Second},
		{"X", "", `{"error":{"message":"m","details":[{"retryDelay":"34.5s"},{"retryDelay":"-3s"}]}}`, 34500 * time.Millisecond},
		{"X", "", `{"error":{"message":"m","details":[{"retryDelay":"99999999999s"}]}}`, maxWait},
		{"X", "", `{"error":{"message":"m"}}`, 0},
	} {
		h := http.Header{}
		h.Set(c.header, c.value)
		f, _ := readFault([]byte(c.body))
		if got := classify(429, h, f, now).RetryAfter; got != c.want {
			t.Errorf("%s: %s %s: %s, want %s", c.header, c.value, c.body, got, c.want)
		}
	}
}

func TestMessagesAreBoundedAndPlain(t *testing.T) {
	t.Parallel()
	f, _ := readFault([]byte(`{"error":{"message":"a\u001b[31mred\u0007\u202e\u200b\nnext\r\n` + strings.Repeat("ü", 3000) + `"}}`))
	got := classify(400, nil, f, time.Time{}).Message
	if len(got) > maxMessage || !utf8.ValidString(got) || !strings.HasPrefix(got, "a[31mred next") || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	for _, r := range got {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			t.Errorf("%q is in it", r)
		}
	}
}

func FuzzReadFault(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"m","code":1e400}}`, `[[[]]]`, `{"error":{"error":{"error":"x"}}}`, "<title>", `{"metadata":{"raw":"{}"}}`, `{"message":{"message":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fault, _ := readFault(body)
		for _, status := range []int{0, 200, 400, 429, 500} {
			if e := classify(status, nil, fault, time.Time{}); e.Message == "" || len(e.Message) > maxMessage || e.RetryAfter < 0 || e.Kind == "" {
				t.Errorf("%q becomes %+v", body, e)
			}
		}
	})
}
