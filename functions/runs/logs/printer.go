package logs

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Printer is an io.Writer that prints a log line by line, and leaves out text that was overwritten
// in a line.
type Printer struct {
	To    io.Writer
	Notes io.Writer // gets notes on missing parts and on the beginning of another attempt
	Raw   bool      // with terminal control sequences
	Tail  int       // only this many last lines; 0: all

	any     bool   // something was written
	line    []byte // the last line, while it is incomplete
	last    []string
	attempt string
	job     string
	next    int64 // offset of the next part
	err     error
}

// Any reports whether anything was written.
func (p *Printer) Any() bool { return p.any }

// maxLine limits the length of a line.
const maxLine = 1 << 20

// Write writes more of the log.
func (p *Printer) Write(text []byte) (int, error) {
	p.any = p.any || len(text) > 0
	for rest := string(text); rest != ""; {
		line, after, whole := strings.Cut(rest, "\n")
		p.line, rest = append(p.line, line...), after
		if whole || len(p.line) > maxLine {
			p.flush(whole)
		}
	}
	return len(text), p.err
}

// flush prints the buffered line.
func (p *Printer) flush(whole bool) {
	line := string(p.line)
	p.line = p.line[:0]
	if !p.Raw {
		line = runs.PlainText(line)
	}
	if whole {
		line += "\n"
	}
	if p.Tail == 0 {
		p.print(line)
		return
	}
	if p.last = append(p.last, line); len(p.last) > p.Tail {
		p.last = p.last[1:]
	}
}

func (p *Printer) print(line string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.To, line)
	}
}

// Part prints a part of a running job's log, and notes a gap before it. Another attempt's log
// starts from its beginning.
func (p *Printer) Part(progress events.Progress) {
	if progress.Attempt != p.attempt || progress.Job != p.job {
		if p.any {
			p.finish()
			fmt.Fprintf(p.Notes, "attempt %s of job %s\n", progress.Attempt, progress.Job)
		}
		p.attempt, p.job, p.next = progress.Attempt, progress.Job, 0
	}
	part := progress.Log
	if part.Offset > p.next {
		p.finish()
		fmt.Fprintf(p.Notes, "... %d bytes were not received: `stoker logs` prints them once the run has ended ...\n", part.Offset-p.next)
	}
	if part.Offset < p.next {
		return // printed before
	}
	p.next = part.Offset + int64(part.Bytes)
	_, _ = p.Write([]byte(part.Text))
}

// finish ends an incomplete line.
func (p *Printer) finish() {
	if len(p.line) > 0 {
		p.flush(true)
	}
}

// Close prints what is still buffered.
func (p *Printer) Close() error {
	p.finish()
	p.release()
	return p.err
}

// release prints the last lines, if only those were wanted; all later ones are printed.
func (p *Printer) release() {
	for _, line := range p.last {
		p.print(line)
	}
	p.last, p.Tail = nil, 0
}
