package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stoker-ml/stoker/functions/module"
)

// listener reads what a module says on its progress descriptor. Nothing it says can do harm: what is no message is log.
type listener struct {
	on  func(module.Message)
	log io.Writer
	own []module.ErrorKind // more that an error may have, by agreement with the process

	done     chan struct{} // closed at the first "done" or "error"
	finished bool          // it said done
	chatty   bool          // it said something after that
	spoke    bool          // it said anything at all
	metrics  map[string]float64
	lacking  map[string]string // formats that it could not write
	device   string            // that it says it trained on
	settings json.RawMessage   // that it says it trains with; nil: it said none
	failure  *module.Error
}

// listen reads to the end of r, or until r's deadline.
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

// line takes one line. After the last word of a module there is nothing more to hear. An empty line says nothing: it ends what
// someone else may have begun.
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
		l.finished, l.metrics, l.lacking, l.device = true, m.Metrics, m.Unwritten, m.Device
		close(l.done)
	case m.Type == module.MessageError && m.Error != nil && !over:
		l.failure = l.checked(*m.Error)
		close(l.done)
	default:
		l.note(line)
	}
}

// isObject reports whether JSON is an object. What the decoder has read is JSON.
func isObject(text json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

// over says whether the module has said its last word.
func (l *listener) over() bool { return l.finished || l.failure != nil }

// checked makes an error's kind one of those that a module may choose.
func (l *listener) checked(e module.Error) *module.Error {
	known := []module.ErrorKind{module.KindInput, module.KindHost, module.KindResources, module.KindModule}
	if !slices.Contains(known, e.Kind) && !slices.Contains(l.own, e.Kind) {
		e.Kind = module.KindModule
	}
	return &e
}

// note puts a line that is no message into the log, shortened.
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
