package main

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptWeb serves the files of FOLDER on the loopback, with the server's
// "127.0.0.1:port" in a variable; /moved leads to another host: web NAME FOLDER.
func scriptWeb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: web NAME FOLDER")
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(ts.MkAbs(args[1]))))
	mux.Handle("/moved", http.RedirectHandler("http://other.example/", http.StatusFound))
	srv := httptest.NewServer(mux)
	ts.Defer(srv.Close)
	ts.Setenv(args[0], strings.TrimPrefix(srv.URL, "http://"))
}
