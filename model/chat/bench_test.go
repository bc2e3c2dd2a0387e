package chat_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"codeagent/internal/scripted"
	"codeagent/model/chat"
)

func bench(b *testing.B, reply scripted.Reply) {
	srv, err := scripted.Start(b.Context(), scripted.Always(reply))
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	c := chat.New(chat.Options{BaseURL: srv.URL})
	defer c.Close()
	b.ReportAllocs()
	b.SetBytes(int64(len(reply.Text)))
	for b.Loop() {
		got, err := collect(c.Stream(b.Context(), hello()))
		if err != nil || len(got.Text) != len(reply.Text) {
			b.Fatal(len(got.Text), err)
		}
	}
}

// BenchmarkAnswer1MB streams 1 MB in pieces of 16 bytes; server included.
func BenchmarkAnswer1MB(b *testing.B) {
	bench(b, scripted.Reply{Text: strings.Repeat("0123456789abcde\n", 1<<16)})
}

// BenchmarkAnswer1MBTokens streams 1 MB in pieces of 4 bytes; server included.
func BenchmarkAnswer1MBTokens(b *testing.B) {
	bench(b, scripted.Reply{Text: strings.Repeat("0123456789abcde\n", 1<<16), Piece: 4})
}

// BenchmarkAnswer1000Chunks streams 1,000 small chunks.
func BenchmarkAnswer1000Chunks(b *testing.B) {
	bench(b, scripted.Reply{Text: strings.Repeat("abcd", 1000), Piece: 4})
}

// BenchmarkOneMessage is a client's first answer: a new client and connection.
func BenchmarkOneMessage(b *testing.B) {
	srv, err := scripted.Start(b.Context(), scripted.Always(scripted.Reply{Text: "hello"}))
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	for b.Loop() {
		c := chat.New(chat.Options{BaseURL: srv.URL})
		if _, err := collect(c.Stream(b.Context(), hello())); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

// BenchmarkCancel is the time from a cancel, while a read waits for a silent
// provider, to the end of the stream.
func BenchmarkCancel(b *testing.B) {
	srv, err := scripted.Start(b.Context(), scripted.Always(scripted.Reply{Text: "some text", Fault: scripted.Stall, After: 2}))
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	c := chat.New(chat.Options{BaseURL: srv.URL})
	defer c.Close()
	var took time.Duration
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		var at time.Time // written before the cancel, read after it
		for _, err := range c.Stream(ctx, hello()) {
			if err == nil {
				time.AfterFunc(time.Millisecond, func() { at = time.Now(); cancel() })
			}
		}
		took += time.Since(at)
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs/cancel")
}
