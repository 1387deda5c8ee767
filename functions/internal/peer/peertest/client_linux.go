package peertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// User is the user that sends the requests: nobody.
const User = 65534

// variable holds the requests of the process that sends them.
const variable = "STOKER_PEERTEST_REQUESTS"

// Request is a GET request of the other user.
type Request struct {
	URL    string
	Header map[string]string
	Open   bool // leave the connection open, and the body unread, until the test ends
}

// Answer is the answer to a request of the other user.
type Answer struct {
	Status int
	Header http.Header
	Body   string // empty if the connection was left open
	Error  string // why there is no answer
}

func init() {
	if text := os.Getenv(variable); text != "" {
		if err := send(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// send sends each request on a separate connection, writes the answers, and waits until its input
// ends.
func send(text string) error {
	var requests []Request
	if err := json.Unmarshal([]byte(text), &requests); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, request := range requests {
		if err := out.Encode(ask(request)); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func ask(request Request) Answer {
	r, err := http.NewRequest(http.MethodGet, request.URL, nil)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	for name, value := range request.Header {
		r.Header.Set(name, value)
	}
	answer, err := (&http.Transport{DisableKeepAlives: !request.Open}).RoundTrip(r)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	if request.Open {
		return Answer{Status: answer.StatusCode, Header: answer.Header}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return Answer{Status: answer.StatusCode, Header: answer.Header, Body: string(body)}
}

// Send sends requests as User, one at a time, and returns their answers. It skips the test if it
// does not run as root.
func Send(t testing.TB, requests ...Request) []Answer {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	text, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	// Its own path leads through folders that the user may not enter.
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Dir, cmd.Env, cmd.Stderr = "/", []string{variable + "=" + string(text)}, t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: User, Gid: User}}
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal("start a process of another user: ", err)
	}
	t.Cleanup(func() { _ = input.Close(); _ = cmd.Wait() })
	answers, in := make([]Answer, len(requests)), json.NewDecoder(bufio.NewReader(output))
	for i := range answers {
		if err := in.Decode(&answers[i]); err != nil {
			t.Fatalf("answer %d of another user: %v", i, err)
		}
	}
	return answers
}
