package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stoker-ml/stoker/local"
)

// hostile publishes a file on the local stack's bus as a client that violates the conventions, and
// waits for a number of dead letters: hostile SUBJECT FILE LETTERS. The subject is written with
// Go's escapes.
func hostile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: hostile SUBJECT FILE LETTERS")
	}
	subject, err := unescaped(args[0])
	ts.Check(err)
	connection, err := local.ReadConnection(ts.MkAbs("data/stoker"))
	ts.Check(err)
	ts.Check(publishRaw(connection.NATS, subject, []byte(ts.ReadFile(args[1]))))
	const patience = 8 * time.Minute
	for start := time.Now(); time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		if err := ts.Exec("stoker", "dead", "-o", "json"); err == nil && strconv.Itoa(strings.Count(ts.ReadFile("stdout"), `"dead_letter":`)) == args[2] {
			return
		}
	}
	ts.Fatalf("%s dead letters did not come", args[2])
}

// publishRaw publishes with the plain protocol: a client library may reject a subject that the
// server accepts.
func publishRaw(server, subject string, body []byte) error {
	at, err := url.Parse(server)
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	password, _ := at.User.Password()
	options := fmt.Sprintf(`{"verbose":false,"user":%q,"pass":%q}`, at.User.Username(), password)
	if password == "" {
		options = fmt.Sprintf(`{"verbose":false,"auth_token":%q}`, at.User.Username())
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s\r\nPUB %s %d\r\n%s\r\nPING\r\n", options, subject, len(body), body); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(8 * time.Minute)); err != nil {
		return err
	}
	var said strings.Builder
	for buffer := make([]byte, 4096); ; {
		n, err := conn.Read(buffer)
		said.Write(buffer[:n])
		switch {
		case strings.Contains(said.String(), "-ERR"):
			return fmt.Errorf("server: %s", said.String())
		case strings.Contains(said.String(), "PONG\r\n"):
			return nil
		case err != nil:
			return fmt.Errorf("%w after %q", err, said.String())
		}
	}
}

// refuser starts a server that rejects everything with a text that controls a terminal, and puts
// its address into a variable: refuser NAME.
func refuser(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refuser NAME")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "refused \x1b]0;owned\x07 \u009b2J \u202eon", http.StatusBadRequest)
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

// unprintable matches characters that no command may print of foreign text.
var unprintable = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{ad}\x{61c}\x{200b}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{feff}\x{e0000}-\x{e007f}]`)

// printable checks that files hold only printable text, in lines of at most this many bytes:
// printable BYTES stdout stderr.
func printable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: printable BYTES FILE...")
	}
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	for _, name := range args[1:] {
		for line := range strings.Lines(ts.ReadFile(name)) {
			if found := unprintable.FindStringIndex(line); found != nil {
				from, to := max(0, found[0]-60), min(len(line), found[1]+60)
				ts.Fatalf("%s has %q: %q", name, line[found[0]:found[1]], line[from:to])
			}
			if !utf8.ValidString(line) {
				ts.Fatalf("%s has bytes that are no text: %q", name, line)
			}
			if len(line) > most {
				ts.Fatalf("%s has a line of %d bytes", name, len(line))
			}
		}
	}
}

// generate writes a file of a prefix, repetitions of a text, and a suffix, with Go's escapes:
// generate FILE PREFIX COUNT TEXT SUFFIX.
func generate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: generate FILE PREFIX COUNT TEXT SUFFIX")
	}
	count, err := strconv.Atoi(args[2])
	ts.Check(err)
	text, err := unescaped(args[1] + strings.Repeat(args[3], count) + args[4])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// unescaped returns a text with Go's escapes replaced by bytes and characters.
func unescaped(text string) (string, error) {
	var out []byte
	for text != "" {
		r, wide, rest, err := strconv.UnquoteChar(text, 0)
		if err != nil {
			return "", err
		}
		if wide {
			out = utf8.AppendRune(out, r)
		} else {
			out = append(out, byte(r))
		}
		text = rest
	}
	return string(out), nil
}
