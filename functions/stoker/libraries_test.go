package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
)

// linesTo sends what is written to it, line by line.
type linesTo chan string

func (l linesTo) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

func TestWhatLibrariesWriteToStandardErrorIsLogged(t *testing.T) {
	was := os.Stderr
	defer func() { os.Stderr = was }()
	said := make(linesTo, 2)
	if err := logStderr(slog.New(slog.NewTextHandler(said, nil))); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(os.Stderr, "\x1b[31m[INTERNAL ERROR]: a\x07b\x1b[0m\n")
	select {
	case line := <-said:
		if !strings.Contains(line, `error="[INTERNAL ERROR]: a\ab"`) {
			t.Errorf("logged %q", line)
		}
	case <-time.After(time.Minute):
		t.Error("nothing is logged")
	}
}
