package logs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/logs"
)

// part returns a part of the log of an attempt at a job.
func part(attempt string, offset int64, text string) events.Progress {
	return events.Progress{Job: "j", Attempt: attempt, Log: &events.LogPart{Offset: offset, Bytes: len(text), Text: text}}
}

func TestPartsArePrintedOnceAndGapsAreNoted(t *testing.T) {
	t.Parallel()
	var out, notes strings.Builder
	p := &logs.Printer{To: &out, Notes: &notes}
	for _, progress := range []events.Progress{
		part("a", 0, "one\ntw"), part("a", 6, "o\n"), part("a", 0, "one\ntw"), part("a", 18, "four\nha"), part("b", 0, "anew\n"),
	} {
		p.Part(progress)
	}
	if err := p.Close(); err != nil || out.String() != "one\ntwo\nfour\nha\nanew\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	if said := notes.String(); !strings.Contains(said, "10 bytes were not received") || !strings.HasSuffix(said, "attempt b of job j\n") {
		t.Errorf("noted %q", said)
	}
}

func TestOnlyTheLastLinesArePrinted(t *testing.T) {
	t.Parallel()
	for raw, want := range map[bool]string{false: "3/3\nend\n", true: "1/3\r2/3\r3/3\nend\n"} {
		var out strings.Builder
		p := &logs.Printer{To: &out, Raw: raw, Tail: 2}
		fmt.Fprint(p, "first\n1/3\r2/3\r3/3\nend")
		if out.Len() > 0 || !p.Any() {
			t.Errorf("printed %q before the end was known", out.String())
		}
		if err := p.Close(); err != nil || out.String() != want {
			t.Errorf("printed %q, %v; want %q", out.String(), err, want)
		}
	}
}

// gone is a reader that has closed its pipe.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestAPrinterReturnsTheErrorOfItsWriter(t *testing.T) {
	t.Parallel()
	p := &logs.Printer{To: gone{}}
	if _, err := fmt.Fprintln(p, "one"); err == nil || p.Close() == nil {
		t.Error("a failed write is no error")
	}
}
