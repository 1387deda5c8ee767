package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// StreamLimit is how many characters of a line a Stream prints; a remark follows if the line was
// longer.
const StreamLimit = 10_000

// Stream is a standard stream of the process, and the only way to write to it. Text is made safe as
// by Safe, in lines of at most StreamLimit characters, whatever the destination: a pipe may lead to
// a terminal too. Other output has methods of its own. A Stream is safe for concurrent use.
type Stream struct {
	to       io.Writer
	terminal *os.File // nil: not a terminal
	size     func() (width, height int, drawable bool)

	mu   sync.Mutex
	as   manner
	held string // incomplete: its form depends on the next text
	esc  escaper
	line line

	status string // the line drawn below all other text; "": none
	open   bool   // the last text has no end of line, so nothing can be drawn below it
}

// manner is how a Stream treats text.
type manner struct {
	exact, long, json, drawn bool
}

// line is the part of a line with a limit that was written.
type line struct {
	length int // in characters as printed
	bytes  int // as written
	cut    bool
}

// NewStream returns a Stream that ends in to. Call Flush when all is written.
func NewStream(to io.Writer) *Stream {
	s := &Stream{to: to}
	s.size = s.terminalSize
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		s.terminal = file
	}
	return s
}

// Write prints text for people.
func (s *Stream) Write(text []byte) (int, error) { return s.write(text, manner{}) }

// Long returns a writer of text for people whose lines have no limit.
func (s *Stream) Long() io.Writer { return through{s, manner{long: true}} }

// Data returns a writer of data for programs, in one of the Formats or another: it is not changed,
// except on a terminal, where it is made safe. JSON remains JSON with the same values there.
func (s *Stream) Data(format string) io.Writer {
	if s.terminal == nil {
		return through{s, manner{exact: true}}
	}
	return through{s, manner{long: true, json: format == JSON}}
}

// Raw returns a writer of unchanged bytes, on a terminal too.
func (s *Stream) Raw() io.Writer { return through{s, manner{exact: true}} }

// Size returns the size of the Stream's terminal, in columns and lines. drawable is false if it is
// no terminal on which lines can be redrawn. Nothing is drawn in color, so NO_COLOR is not read.
func (s *Stream) Size() (width, height int, drawable bool) { return s.size() }

func (s *Stream) terminalSize() (width, height int, drawable bool) {
	if s.terminal == nil || os.Getenv("TERM") == "dumb" {
		return 0, 0, false
	}
	// 0 and 0 after an error; either may be unknown
	width, height, _ = term.GetSize(int(s.terminal.Fd()))
	if asked, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && asked > 0 {
		// It may be older than the last change of size.
		width = min(cmp.Or(max(width, 0), asked), asked)
	}
	return cmp.Or(max(width, 0), 80), cmp.Or(max(height, 0), 24), true
}

// eraseLine erases the line of the cursor, and moves to its beginning.
const eraseLine = "\r\x1b[K"

// Status draws a line of a terminal in place of the one before, below all text that is printed
// meanwhile; "" erases it. The line must fit the terminal's width.
func (s *Stream) Status(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		return
	}
	if line != "" {
		line = Line(line)
	} else if s.status == "" {
		return
	}
	s.status = line
	_, _ = io.WriteString(s.to, eraseLine+line) // an ornament: the result's error is reported
}

// Redraw prints lines in place of the last over lines of a terminal.
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

// drawing returns a writer of one line that carriage returns restart.
func (s *Stream) drawing() io.Writer { return through{s, manner{drawn: true}} }

// Flush prints held text: bytes of an incomplete character.
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

// write writes the text of one call in one piece, so that lines of several writers stay intact.
func (s *Stream) write(text []byte, as manner) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(text) > 0 {
		s.open = text[len(text)-1] != '\n'
	}
	if s.status != "" {
		if _, err := io.WriteString(s.to, eraseLine); err != nil {
			return 0, err
		}
		defer func() {
			if s.open {
				s.status = ""
			}
			_, _ = io.WriteString(s.to, s.status)
		}()
	}
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

// safe returns the printable form of a text after the held one.
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
