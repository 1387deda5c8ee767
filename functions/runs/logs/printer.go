package logs

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Printer is an io.Writer that prints a log line by line, so that what a line was written over with can be left out.
type Printer struct {
	To    io.Writer
	Notes io.Writer // what is missing, and where another attempt begins
	Raw   bool      // with what it tells a terminal
	Tail  int       // only the last lines, so many; 0: all

	any     bool   // anything was there
	line    []byte // that is not complete yet
	last    []string
	attempt string
	job     string
	next    int64 // offset of the part that is to come
	err     error
}

// Any says whether anything was there to print.
func (p *Printer) Any() bool { return p.any }

// maxLine bounds a line that has no end.
const maxLine = 1 << 20

// Write takes more of the log.
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

// flush prints the line that has come.
func (p *Printer) flush(whole bool) {
	line := string(p.line)
	p.line = p.line[:0]
	if !p.Raw {
		line = runs.OnPaper(line)
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

// Part takes a part of a running job's log, and says what is missing before it. Another attempt's log begins anew.
func (p *Printer) Part(told events.Progress) {
	if told.Attempt != p.attempt || told.Job != p.job {
		if p.any {
			p.finish()
			fmt.Fprintf(p.Notes, "attempt %s of job %s\n", told.Attempt, told.Job)
		}
		p.attempt, p.job, p.next = told.Attempt, told.Job, 0
	}
	part := told.Log
	if part.Offset > p.next {
		p.finish()
		fmt.Fprintf(p.Notes, "... %d bytes were not heard: `stoker logs` has them once the run has ended ...\n", part.Offset-p.next)
	}
	if part.Offset < p.next {
		return // heard before
	}
	p.next = part.Offset + int64(part.Bytes)
	_, _ = p.Write([]byte(part.Text))
}

// finish ends a line that will get no end.
func (p *Printer) finish() {
	if len(p.line) > 0 {
		p.flush(true)
	}
}

// Close prints what waits.
func (p *Printer) Close() error {
	p.finish()
	p.release()
	return p.err
}

// release prints the last lines, where only those were asked for; from then on all are printed.
func (p *Printer) release() {
	for _, line := range p.last {
		p.print(line)
	}
	p.last, p.Tail = nil, 0
}
