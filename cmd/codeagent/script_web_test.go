package main

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptWeb serves the files of FOLDER on the loopback, with the server's
// "127.0.0.1:port" in a variable, and its port in NAME_PORT; /moved leads to another host: web NAME FOLDER.
func scriptWeb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: web NAME FOLDER")
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(ts.MkAbs(args[1]))))
	mux.Handle("/moved", http.RedirectHandler("http://other.example/", http.StatusFound))
	srv := httptest.NewServer(mux)
	ts.Defer(srv.Close)
	at := strings.TrimPrefix(srv.URL, "http://")
	ts.Setenv(args[0], at)
	ts.Setenv(args[0]+"_PORT", strings.TrimPrefix(at, "127.0.0.1:"))
}
