package chat_test

import (
	"net/http"
	"testing"
	"time"

	"codeagent/model/chat"
	"codeagent/model/modeltest"
)

func TestConformance(t *testing.T) {
	modeltest.Run(t, modeltest.Chat, func(t *testing.T, baseURL string, idle time.Duration) modeltest.Model {
		retry := impatient(nil)
		retry.Attempts = modeltest.Attempts
		return client(t, chat.Options{BaseURL: baseURL, Key: "sk-conformance", Retry: retry, IdleTimeout: idle})
	})
}

func connect(t *testing.T, base http.RoundTripper) modeltest.Model {
	retry := impatient(nil)
	retry.Attempts = modeltest.Attempts
	return client(t, chat.Options{BaseURL: "http://provider.invalid/v1", HTTP: &http.Client{Transport: base}, Retry: retry})
}

func TestRecorded(t *testing.T) { modeltest.Recorded(t, modeltest.Chat, connect) }

func TestCuts(t *testing.T) { modeltest.Cuts(t, modeltest.Chat, connect) }

func FuzzStream(f *testing.F) { modeltest.Fuzz(f, modeltest.Chat, connect) }

func FuzzPieces(f *testing.F) { modeltest.FuzzPieces(f, modeltest.Chat, connect) }
