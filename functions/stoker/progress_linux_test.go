package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// A bar is a line of the terminal that follows its size, and that leaves no trace when the command
// is interrupted: what stays is the error.
func TestABarFollowsItsTerminalAndLeavesACleanLine(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home, "TERM": "xterm", "COLUMNS": "", "NATS_URL": "", "STOKER_OUTPUT": "",
		"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
	} {
		t.Setenv(name, value)
	}
	store := stalledStore(t)
	file := filepath.Join(home, "examples.tfrecord")
	if err := os.WriteFile(file, make([]byte, 12<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	screen := openTerminal(t, 100)
	ctx, interrupt := context.WithCancel(t.Context())
	status := make(chan int, 1)
	go func() {
		status <- execute(ctx, []string{"stoker", "upload", file, "s3://bucket/key", "--s3", store}, io.Discard, screen.file)
	}()
	screen.await(t, regexp.MustCompile(`upload +[0-9]+% \|[█ ]{20}\|  [0-9.]+ MB of 12\.6 MB .*examples\.tfrecord`))
	screen.resize(t, 30)
	screen.await(t, regexp.MustCompile(`\x1b\[Kupload +[0-9]+% \|[█ ]{5,15}\|\r`))
	interrupt()
	if got := <-status; got != exit.Stopped {
		t.Errorf("exit status %d", got)
	}
	text := screen.await(t, regexp.MustCompile(`--force\r?\n`))
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	last := lines[len(lines)-1]
	if _, stays, ok := strings.Cut(last[strings.LastIndex(last, "\r"):], "\x1b[K"); len(lines) != 1 || !ok || !strings.HasPrefix(stays, "stoker: interrupted; ") {
		t.Errorf("the terminal keeps %q", lines)
	}
}

// stalledStore is an S3 server that is empty, and never answers to what is put.
func stalledStore(t *testing.T) string {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
			<-stop
			return
		}
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(w, `<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated></ListBucketResult>`)
	}))
	t.Cleanup(func() {
		close(stop)
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// pseudoterminal is a pseudoterminal: file is what a program has, and text is what it shows.
type pseudoterminal struct {
	file    *os.File
	control *os.File

	mu   sync.Mutex
	text strings.Builder
}

func openTerminal(t *testing.T, columns uint16) *pseudoterminal {
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	screen := &pseudoterminal{file: file, control: control}
	screen.resize(t, columns)
	var reading sync.WaitGroup
	reading.Go(screen.read)
	t.Cleanup(func() {
		file.Close()
		reading.Wait() // ends with the last writer
		control.Close()
	})
	return screen
}

func (s *pseudoterminal) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := s.control.Read(buffer)
		s.mu.Lock()
		s.text.Write(buffer[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *pseudoterminal) resize(t *testing.T, columns uint16) {
	if err := unix.IoctlSetWinsize(int(s.control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

// await waits for a text, and returns all that was shown up to its end.
func (s *pseudoterminal) await(t *testing.T, want *regexp.Regexp) string {
	const patience = 8 * time.Minute
	for start := time.Now(); time.Since(start) < patience; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		text := s.text.String()
		s.mu.Unlock()
		if found := want.FindStringIndex(text); found != nil && utf8.ValidString(text[:found[1]]) {
			return text[:found[1]]
		}
	}
	t.Fatalf("the terminal does not show %s: %q", want, s.text.String())
	return ""
}
