package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// StreamLimit is how many characters of a line a Stream prints; that the line was longer is said behind them.
const StreamLimit = 10_000

// Stream is a standard stream of the process, and the only way to it. Text that is written to it is made safe as by Safe, in lines of at
// most StreamLimit characters, wherever it goes: what a pipe takes comes to a terminal too. What is no such text has a method. It is safe
// for concurrent use.
type Stream struct {
	to       io.Writer
	terminal *os.File // nil: it is none

	mu   sync.Mutex
	as   manner
	held string // that depends on what comes
	esc  escaper
	line line
}

// manner is how a Stream treats what is written to it.
type manner struct {
	exact, long, json, drawn bool
}

// line is what was written of a line with a limit.
type line struct {
	length int // in characters as printed
	bytes  int // as written
	cut    bool
}

// NewStream returns a Stream that ends in to. Call Flush when all is written.
func NewStream(to io.Writer) *Stream {
	s := &Stream{to: to}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		s.terminal = file
	}
	return s
}

// Write prints text for people.
func (s *Stream) Write(text []byte) (int, error) { return s.write(text, manner{}) }

// Long returns a writer of text for people whose lines have no limit.
func (s *Stream) Long() io.Writer { return through{s, manner{long: true}} }

// Data returns a writer of what programs read, in one of the Formats or another: it is not changed. On a terminal, where people read it,
// it is made safe. JSON stays JSON of the same values there.
func (s *Stream) Data(format string) io.Writer {
	if s.terminal == nil {
		return through{s, manner{exact: true}}
	}
	return through{s, manner{long: true, json: format == JSON}}
}

// Raw returns a writer of bytes for whoever asked for them as they are, on a terminal too.
func (s *Stream) Raw() io.Writer { return through{s, manner{exact: true}} }

// Size returns the size of the terminal that the Stream is, in columns and lines; false if it is none on which lines can be drawn over.
// Nothing is drawn in color, so that NO_COLOR needs no look.
func (s *Stream) Size() (width, height int, drawable bool) {
	if s.terminal == nil || os.Getenv("TERM") == "dumb" {
		return 0, 0, false
	}
	width, height, _ = term.GetSize(int(s.terminal.Fd())) // 0 and 0 where that fails; either may be unknown
	return cmp.Or(max(width, 0), 80), cmp.Or(max(height, 0), 24), true
}

// Redraw prints lines in the place of the last ones, so many, of a terminal.
func (s *Stream) Redraw(over int, lines []string) error {
	var text strings.Builder
	if over > 0 {
		fmt.Fprintf(&text, "\x1b[%dA\x1b[J", over)
	}
	for _, line := range lines {
		text.WriteString(Line(line) + "\n")
	}
	_, err := s.write([]byte(text.String()), manner{exact: true})
	return err
}

// drawing returns a writer of one line that carriage returns begin anew.
func (s *Stream) drawing() io.Writer { return through{s, manner{drawn: true}} }

// Flush prints what waits for more: bytes of a character that is not complete.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

func (s *Stream) flush() error {
	text := s.safe("", true)
	if s.line.cut {
		text += remark(s.line.bytes)
	}
	s.esc.prev, s.line = 0, line{}
	if text == "" {
		return nil
	}
	_, err := io.WriteString(s.to, text)
	return err
}

// through writes to a Stream in a manner.
type through struct {
	stream *Stream
	as     manner
}

func (t through) Write(text []byte) (int, error) { return t.stream.write(text, t.as) }

// write passes on in one piece what it takes in one, so that lines of several writers stay whole.
func (s *Stream) write(text []byte, as manner) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if as != s.as {
		if err := s.flush(); err != nil {
			return 0, err
		}
		s.as, s.esc = as, escaper{json: as.json, drawn: as.drawn}
	}
	if as.exact {
		return s.to.Write(text)
	}
	if safe := s.safe(string(text), false); safe != "" {
		if _, err := io.WriteString(s.to, safe); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// safe returns what there is to print of a text behind what is held.
func (s *Stream) safe(text string, final bool) string {
	if s.as.long && s.held == "" && plain(text) {
		if text != "" {
			s.esc.prev = 0 // no joiner follows ASCII
		}
		return text
	}
	text, s.held = s.held+text, ""
	var safe strings.Builder
	for text != "" {
		token, size := s.esc.next(text, final)
		if size == 0 {
			s.held = text
			break
		}
		text = text[size:]
		s.line.add(&safe, token, size, s.as)
	}
	return safe.String()
}

// add prints the next characters of a line as long as they fit.
func (l *line) add(safe *strings.Builder, token string, size int, as manner) {
	if as.long {
		safe.WriteString(token)
		return
	}
	if token == "\n" || token == "\r" && as.drawn {
		if l.cut {
			safe.WriteString(remark(l.bytes))
		}
		safe.WriteString(token)
		*l = line{}
		return
	}
	l.bytes += size
	if l.length += utf8.RuneCountInString(token); l.length > StreamLimit {
		l.cut = true
	}
	if !l.cut {
		safe.WriteString(token)
	}
}
