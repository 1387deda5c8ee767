package serve

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/console"
)

// linesTo sends each line that is written to it.
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
	case <-time.After(8 * time.Minute):
		t.Error("nothing is logged")
	}
}

// A token's file that is being written, or is removed, neither ends sessions nor leaves the console
// without a token.
func TestATokenIsRenewedOnlyByAWholeOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := keptToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := renewedToken(dir); err != nil || again != first {
		t.Errorf("nothing has changed: %q, %v", again, err)
	}
	for _, text := range []string{"", "short\n"} {
		if err := os.WriteFile(tokenFile(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if token, err := renewedToken(dir); err == nil {
			t.Errorf("a file with %q is a new token %q", text, token)
		}
		if left, err := os.ReadFile(tokenFile(dir)); err != nil || string(left) != text {
			t.Errorf("a file with %q was written over: %q, %v", text, left, err)
		}
	}
	if err := os.Remove(tokenFile(dir)); err != nil {
		t.Fatal(err)
	}
	made, err := renewedToken(dir)
	if err != nil || made == first || len(made) < minToken {
		t.Errorf("the file is gone: token %q, %v", made, err)
	}
	info, err := os.Stat(tokenFile(dir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestReadersDependOnTheAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]console.Readers{"127.0.0.1": console.SameUser, "::1": console.SameUser, "0.0.0.0": console.TokenHolders, "::": console.TokenHolders, "192.0.2.1": console.TokenHolders} {
		at := &net.TCPAddr{IP: net.ParseIP(address), Port: 8790}
		if got := readers(at, false); got != want {
			t.Errorf("%s: %d, want %d", address, got, want)
		}
		if readers(at, true) != console.Everybody {
			t.Errorf("%s with --open is not open to everybody", address)
		}
	}
}
