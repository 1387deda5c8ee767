package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// receiver accepts any HTTP request, and writes it to FILE, without the headers that identify the
// sender: receiver FILE. Its address is in $RECEIVER.
func receiver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: receiver FILE")
	}
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	var writing sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writing.Lock()
		defer writing.Unlock()
		fmt.Fprintf(out, "\n%s ", r.URL.Path[:min(len(r.URL.Path), len("/v1/metrics"))])
		_, _ = io.Copy(out, r.Body)
	}))
	ts.Defer(func() { server.Close(); _ = out.Close() })
	ts.Setenv("RECEIVER", server.URL)
}
