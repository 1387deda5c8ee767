package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// evil is a text that controls a terminal in every way.
const evil = "red \x1b[31m, title \x1b]0;x\x07, C1 \u009b2J, DEL \x7f, right to left \u202e, tag \U000e0041\n"

func TestAStreamPrintsTextSafelyWhereverItIsCut(t *testing.T) {
	t.Parallel()
	for _, text := range append([]string{evil, "\x9b\xe2\x80\xae \xe2\x80", "a\u200d", "👩\u200d", "👩x\u200d👩"}, printable...) {
		for size := 1; size <= len(text); size++ {
			var out, long bytes.Buffer
			s, l := NewStream(&out), NewStream(&long)
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				for _, w := range []io.Writer{s, l.Long()} {
					if n, err := io.WriteString(w, rest[:min(size, len(rest))]); err != nil || n != min(size, len(rest)) {
						t.Fatal(n, err)
					}
				}
			}
			if err := errors.Join(s.Flush(), l.Flush()); err != nil || out.String() != Safe(text) || long.String() != Safe(text) {
				t.Fatalf("%q in pieces of %d bytes is printed as %q and %q, %v", text, size, out.String(), long.String(), err)
			}
		}
	}
}

func TestALongLineOfAStreamIsCut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewStream(&out)
	for range 469 {
		fmt.Fprint(s, strings.Repeat("x", 1000))
	}
	fmt.Fprint(s, "\nnext\n")
	want := strings.Repeat("x", StreamLimit) + "... (469000 bytes)\nnext\n"
	if out.String() != want {
		t.Errorf("%d bytes, ending %q", out.Len(), out.String()[max(0, out.Len()-40):])
	}
	out.Reset()
	fmt.Fprint(s, strings.Repeat("\x1b", StreamLimit))
	if err := s.Flush(); err != nil || out.String() != strings.Repeat(`\x1b`, StreamLimit/4)+"... (10000 bytes)" {
		t.Errorf("%d bytes, ending %q, %v", out.Len(), out.String()[max(0, out.Len()-40):], err)
	}
	out.Reset()
	long := strings.Repeat("x", 2*StreamLimit) + "\x1b\n"
	if _, err := io.WriteString(s.Long(), long); err != nil || out.String() != Safe(long) {
		t.Errorf("of a long line %d bytes were printed, %v", out.Len(), err)
	}
}

func TestDataIsExactUnlessOnATerminal(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(map[string]string{"evil": evil})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{JSON, YAML, "csv"} {
		var out bytes.Buffer
		if _, err := NewStream(&out).Data(format).Write(text); err != nil || out.String() != string(text) {
			t.Errorf("%s in a pipe is %q, %v", format, out.String(), err)
		}
		out.Reset()
		s := NewStream(&out)
		s.terminal = os.Stdout // any file: only its presence matters
		if _, err := s.Data(format).Write(text); err != nil {
			t.Fatal(err)
		}
		wantShown(t, out.String())
		if format != JSON {
			continue
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["evil"] != evil {
			t.Errorf("JSON on a terminal is %q: %q, %v", out.String(), back, err)
		}
	}
}

func TestRawBytesAreLeftAlone(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewStream(&out)
	fmt.Fprint(s, "\xe2\x80") // held, and printed before output by another method
	if _, err := io.WriteString(s.Raw(), "\xae"+evil); err != nil || out.String() != `\xe2\x80`+"\xae"+evil {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestOnlyTheCursorMovesWhereLinesAreDrawn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewStream(&out)
	if err := s.Redraw(2, []string{"one\x1b[2J", "two\nthree"}); err != nil || out.String() != "\x1b[2A\x1b[J"+`one\x1b[2J`+"\n"+`two\nthree`+"\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	out.Reset()
	fmt.Fprint(s.drawing(), "\rone\x1b[2J\rtwo")
	if out.String() != "\rone\\x1b[2J\rtwo" {
		t.Errorf("%q", out.String())
	}
}

func TestTablesAlignWhatIsShown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := Print(NewStream(&out), Table, nil, func(w io.Writer) {
		Row(w, "a\tb\n\x1b[2J", "x")
		Row(w, strings.Repeat("long", 1000), 1)
		fmt.Fprint(w, "plain\v\f\xffend\ty\n")
	})
	lines := strings.Split(out.String(), "\n")
	if err != nil || len(lines) != 4 || !strings.HasPrefix(lines[0], `a\tb\n\x1b[2J  `) || strings.TrimRight(lines[2], " ") == "" ||
		!strings.HasPrefix(lines[2], `plain\x0b\x0c\xffend `) || strings.LastIndex(lines[0], "x") != strings.LastIndex(lines[1], "1") {
		t.Errorf("%v %q", err, out.String())
	}
}

func TestProgressIsSafe(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewStream(&out)
	for _, d := range []Display{NewDisplay(s), &barDisplay{out: s.drawing(), width: 100}} {
		out.Reset()
		for _, p := range training() {
			p.Phase = strings.Replace(p.Phase, "training", "train\x1b[2J\ring", 1)
			if len(p.Metrics) > 0 {
				p.Metrics = map[string]float64{"\u202eloss\r\n": 0.5}
			}
			d.Progress(p)
		}
		d.Close()
		if text := strings.ReplaceAll(out.String(), "\r", ""); !strings.Contains(text, `train\x1b[2J\ring`) {
			t.Errorf("%T: %q", d, text)
		} else {
			wantShown(t, text)
		}
	}
}

// broken is a stream whose reader is gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAStreamThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	s := NewStream(broken{})
	for _, w := range []io.Writer{s, s.Long(), s.Raw(), s.Data(JSON)} {
		if _, err := io.WriteString(w, "text"); err == nil {
			t.Errorf("%+v: no error", w)
		}
	}
}
