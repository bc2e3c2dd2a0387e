package chat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/wire"
)

// Providers on the internet speak HTTP/2 over TLS, which the script does not.
func TestOverTLSAndHTTP2(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("protocol %s", r.Proto)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		if r.Header.Get("X-Stall") != "" {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the client is meant to refuse the certificate
	srv.StartTLS()
	t.Cleanup(srv.Close)
	trusting := wire.NewBase()
	trusting.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trusting.TLSClientConfig.NextProtos = nil
	t.Cleanup(trusting.CloseIdleConnections)

	c := client(t, chat.Options{BaseURL: srv.URL + "/v1", HTTP: &http.Client{Transport: trusting}})
	if got, err := collect(c.Stream(t.Context(), hello())); err != nil || got.Text != "ok" {
		t.Errorf("%+v, %v", got, err)
	}

	stalling := client(t, chat.Options{BaseURL: srv.URL + "/v1", HTTP: &http.Client{Transport: trusting}, Header: http.Header{"X-Stall": {"yes"}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range stalling.Stream(ctx, hello()) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("cancelled: %v", last)
	}

	// An untrusted certificate is not retried.
	_, err := collect(client(t, chat.Options{BaseURL: srv.URL + "/v1", Retry: impatient(nil)}).Stream(t.Context(), hello()))
	e := new(model.Error)
	if !errors.As(err, &e) || e.Kind != model.Transport || !strings.Contains(e.Message, "certificate") || strings.Contains(e.Message, "attempts") {
		t.Errorf("unknown certificate: %v", err)
	}
}
