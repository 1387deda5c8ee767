package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/stoker-ml/stoker/functions/module"
)

// listener reads a module's messages from its progress descriptor. A line that is no message goes
// to the log.
type listener struct {
	on  func(module.Message)
	log io.Writer
	own []module.ErrorKind // more that an error may have, by agreement with the process

	done      chan struct{} // closed at the first "done" or "error"
	finished  bool          // it reported "done"
	chatty    bool          // it sent something after its end
	spoke     bool          // it sent anything
	metrics   map[string]float64
	unwritten map[string]string // formats that it could not write
	device    string            // that it reports to train on
	settings  json.RawMessage   // that it reports to train with; nil: none
	failure   *module.Error
}

// listen reads r to its end or its deadline.
func (l *listener) listen(r io.Reader) {
	lines := bufio.NewReaderSize(r, module.MaxMessageBytes)
	for {
		line, err := lines.ReadSlice('\n')
		l.chatty = l.chatty || l.over() && len(line) > 0
		l.spoke = l.spoke || len(line) > 0
		switch {
		case err == nil:
			l.line(line)
		case errors.Is(err, bufio.ErrBufferFull):
			l.note(line)
			if err := skipLine(lines); err != nil {
				return
			}
		default:
			if len(line) > 0 {
				l.note(line)
			}
			return
		}
	}
}

// line handles one line. Messages after "done" or "error" are ignored. An empty line is not a
// message: it ends a line that another writer may have begun.
func (l *listener) line(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	var m module.Message
	if err := json.Unmarshal(line, &m); err != nil {
		l.note(line)
		return
	}
	over := l.over()
	switch {
	case (m.Type == module.MessageProgress || m.Type == module.MessageCheckpoint || m.Type == module.MessageStudy || m.Type == module.MessageAnswer) && !over:
		if l.on != nil {
			l.on(m)
		}
	case m.Type == module.MessageSettings && !over && isObject(m.Settings):
		l.settings = m.Settings
	case m.Type == module.MessageDone && !over:
		l.finished, l.metrics, l.unwritten, l.device = true, m.Metrics, m.Unwritten, m.Device
		close(l.done)
	case m.Type == module.MessageError && m.Error != nil && !over:
		l.failure = l.checked(*m.Error)
		close(l.done)
	default:
		l.note(line)
	}
}

// isObject reports whether text, which is valid JSON, is an object.
func isObject(text json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

// over reports whether the module has sent "done" or "error".
func (l *listener) over() bool { return l.finished || l.failure != nil }

// checked replaces an error's kind by KindModule if modules may not report it.
func (l *listener) checked(e module.Error) *module.Error {
	known := []module.ErrorKind{module.KindInput, module.KindHost, module.KindResources, module.KindModule}
	if !slices.Contains(known, e.Kind) && !slices.Contains(l.own, e.Kind) {
		e.Kind = module.KindModule
	}
	return &e
}

// note writes a line that is no message to the log, shortened.
func (l *listener) note(line []byte) {
	const limit = 1024
	more := ""
	if len(line) > limit {
		line, more = line[:limit], "..."
	}
	fmt.Fprintf(l.log, "on the progress descriptor: %q%s\n", line, more)
}

func skipLine(r *bufio.Reader) error {
	for {
		_, err := r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// Limits of a log, whatever a module prints.
const (
	headBytes      = 8 << 20 // written as it comes
	tailBytes      = 1 << 20 // kept for the end of a longer log
	eventTailBytes = 8 << 10 // of an event
)

// boundedLog keeps the beginning and the end of what is written to it. Write never fails: an error
// of the log does not end a training.
type boundedLog struct {
	mu      sync.Mutex
	file    *os.File // nil: only the end is kept
	written int64    // to file
	size    int64    // of everything
	last    []byte   // the end, at least tailBytes of it
	err     error    // the first error of file

	live io.Writer // of an observer; may be nil
}

// openLog creates the log's file; "" is a log without one. It does not follow a link in its place.
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

// checkRegular closes a file that is not regular: a pipe could block the worker.
func checkRegular(file *os.File) error {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", file.Name())
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

// write writes p to the file. After an error it does nothing.
func (l *boundedLog) write(p []byte) {
	if l.file == nil || l.err != nil || len(p) == 0 {
		return
	}
	n, err := l.file.Write(p)
	l.written += int64(n)
	l.err = err
}

// tail returns the last lines, whole and valid UTF-8, at most eventTailBytes of them.
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

// close writes the end after the beginning, and returns the first error of the file.
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
