package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
)

// Bounds of a log, whatever a module prints.
const (
	headBytes      = 8 << 20 // written as it comes
	tailBytes      = 1 << 20 // kept for the end of a longer log
	eventTailBytes = 8 << 10 // told in an event
)

// boundedLog keeps the beginning and the end of what is written to it. Write never fails: a log that can't be kept is no
// reason to end a training.
type boundedLog struct {
	mu      sync.Mutex
	file    *os.File // nil: only the end is kept
	written int64    // to file
	size    int64    // of everything
	last    []byte   // its end, at least tailBytes of it
	err     error    // the first one of file

	live io.Writer // who looks on; nil: nobody
}

// openLog makes the log's file; "" is a log without one. A link in its place is not followed.
func openLog(path string) (*boundedLog, error) {
	if path == "" {
		return &boundedLog{}, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err == nil {
		err = checkRegular(file)
	}
	if err != nil {
		return nil, fail(KindHost, fmt.Errorf("open the log of a module: %w", err))
	}
	return &boundedLog{file: file}, nil
}

// checkRegular closes what is no regular file: a pipe could have the worker wait.
func checkRegular(file *os.File) error {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: is no regular file", file.Name())
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return nil
}

func (l *boundedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(p[:min(int64(len(p)), headBytes-l.written)])
	if l.live != nil {
		_, _ = l.live.Write(p)
	}
	l.size += int64(len(p))
	l.last = append(l.last, p[max(0, len(p)-tailBytes):]...)
	if len(l.last) > 2*tailBytes {
		l.last = append(l.last[:0], l.last[len(l.last)-tailBytes:]...)
	}
	return len(p), nil
}

// write puts p into the file. After an error there it does nothing more.
func (l *boundedLog) write(p []byte) {
	if l.file == nil || l.err != nil || len(p) == 0 {
		return
	}
	n, err := l.file.Write(p)
	l.written += int64(n)
	l.err = err
}

// tail is the last lines, whole and valid UTF-8, at most eventTailBytes of them.
func (l *boundedLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.last
	if len(last) > eventTailBytes {
		last = last[len(last)-eventTailBytes:]
		if i := bytes.IndexByte(last, '\n'); i >= 0 && i < len(last)-1 {
			last = last[i+1:]
		}
	}
	return strings.ToValidUTF8(string(last), "\uFFFD")
}

func (l *boundedLog) total() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// close writes the end behind the beginning, and returns the first error of the file.
func (l *boundedLog) close() error {
	if l.file == nil {
		return nil
	}
	if missing := l.size - l.written; missing > 0 && l.err == nil {
		last := l.last[max(0, len(l.last)-tailBytes):]
		last = last[max(0, int64(len(last))-missing):]
		if left := missing - int64(len(last)); left > 0 {
			l.write(fmt.Appendf(nil, "\n... %d bytes left out ...\n", left))
		}
		l.write(last)
	}
	if err := l.file.Close(); l.err == nil {
		l.err = err
	}
	return l.err
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
