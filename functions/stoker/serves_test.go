package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var consoleAddress = regexp.MustCompile(`console:? +(http://\S+)/`)

// serves requests the console whose address a command has written into LOG, until it answers with a
// status and a text: serves LOG PATH STATUS PATTERN.
func serves(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: serves LOG PATH STATUS PATTERN")
	}
	var last string
	const patience = 8 * time.Minute
	for start := time.Now(); time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		log, _ := os.ReadFile(ts.MkAbs(args[0])) // it may not exist yet
		at := consoleAddress.FindSubmatch(log)
		if at == nil {
			continue
		}
		answer, err := http.Get(string(at[1]) + args[1])
		ts.Check(err)
		body, err := io.ReadAll(answer.Body)
		ts.Check(err)
		ts.Check(answer.Body.Close())
		if last = answer.Status + "\n" + string(body); strconv.Itoa(answer.StatusCode) == args[2] && regexp.MustCompile(args[3]).Match(body) {
			return
		}
	}
	ts.Fatalf("%s is never %s with %q: %s", args[1], args[2], args[3], last)
}
