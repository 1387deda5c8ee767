package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// screen is a terminal that shows what is written to it, in lines that wrap at its width.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

// lines returns what stays on the screen, and the states that were drawn.
func (s *screen) lines() (stay, drawn []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := ""
	for part := range strings.SplitAfterSeq(strings.ReplaceAll(s.text.String(), eraseLine, "\x00"), "") {
		switch part {
		case "\x00":
			if line != "" {
				drawn = append(drawn, line)
			}
			line = ""
		case "\n":
			stay, line = append(stay, line), ""
		default:
			line += part
		}
	}
	return append(stay, line), drawn
}

// onScreen returns a Stream on a terminal of a width that may change.
func onScreen(width *atomic.Int64) (*Stream, *screen) {
	s := &screen{}
	stream := NewStream(s)
	stream.size = func() (int, int, bool) { return int(width.Load()), 24, true }
	return stream, s
}

func TestWorkIsALineThatIsRedrawnBelowOtherText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var width atomic.Int64
		width.Store(100)
		stream, screen := onScreen(&width)
		work := stream.Begin("upload", Bytes)
		work.Expect(200e6)
		for i := range 10 {
			time.Sleep(time.Second)
			work.Note(fmt.Sprintf("part-%d\x1b[2J", i))
			work.Add(10e6)
			fmt.Fprintf(stream, "note %d\n", i)
		}
		time.Sleep(time.Second)
		work.Close()
		work.Close()
		fmt.Fprintln(stream, "200 files")
		stay, drawn := screen.lines()
		if want := "note 0|note 1|note 2|note 3|note 4|note 5|note 6|note 7|note 8|note 9|200 files|"; strings.Join(stay, "|") != want {
			t.Errorf("the screen keeps %q", stay)
		}
		last := drawn[len(drawn)-1]
		for _, want := range []string{"upload  50% |", "100.0 MB of 200.0 MB", " MB/s", "s left", `part-9\x1b[2J`} {
			if !strings.Contains(last, want) {
				t.Errorf("the last state has no %q: %q", want, last)
			}
		}
	})
}

func TestWorkFitsATerminalOfAnyWidthAndOneThatIsResized(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for width := 1; width < 120; width++ {
			var at atomic.Int64
			at.Store(int64(width))
			stream, screen := onScreen(&at)
			work := stream.Begin("upload", Bytes)
			work.Expect(2e9)
			work.Note("日本語の名前/x.tfrecord")
			time.Sleep(2 * time.Second)
			work.Add(1e9)
			time.Sleep(2 * time.Second)
			at.Store(int64(max(1, width/2)))
			_, before := screen.lines()
			time.Sleep(time.Second)
			work.Close()
			_, drawn := screen.lines()
			for i, line := range drawn {
				most := width
				if i > len(before)+1 {
					most = max(1, width/2)
				}
				if columnsOf(line) >= max(most, 2) {
					t.Fatalf("of %d columns %d are drawn: %q", most, columnsOf(line), line)
				}
			}
			if width > 40 && !strings.Contains(before[len(before)-1], " 50%") {
				t.Errorf("of %d columns: %q", width, before[len(before)-1])
			}
		}
	})
}

func TestWorkInAPipeIsALineNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		stream := NewStream(&out)
		work := stream.Begin("replay", "runs")
		work.Expect(100)
		time.Sleep(time.Second / 2) // between two drawings
		for range 35 {
			time.Sleep(time.Second)
			work.Add(1)
		}
		work.Close()
		quick := stream.Begin("upload", Bytes)
		time.Sleep(9 * time.Second)
		quick.Close()
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 3 || strings.ContainsAny(out.String(), "\r\x1b|%") {
			t.Fatalf("%q", out.String())
		}
		if want := "replay  29 of 100 runs  1.0/s  1m13s left"; lines[2] != want {
			t.Errorf("%q, want %q", lines[2], want)
		}
	})
}

func TestWorkThatIsNotShownDoesNothing(t *testing.T) {
	t.Parallel()
	var work *Work
	work.Expect(1)
	work.Add(1)
	work.Note("x")
	work.Close()
	if body := work.Counted(nil); body != nil {
		t.Error(body)
	}
}

func TestAStatusWaitsForTheEndOfALine(t *testing.T) {
	t.Parallel()
	var width atomic.Int64
	width.Store(80)
	stream, screen := onScreen(&width)
	fmt.Fprint(stream, "half ")
	stream.Status("status")
	fmt.Fprint(stream, "whole\n")
	stream.Status("status")
	fmt.Fprint(stream, "a line\nhalf ")
	stream.Status("status")
	fmt.Fprint(stream, "whole\n")
	if stay, _ := screen.lines(); strings.Join(stay, "|") != "half whole|a line|half whole|" {
		t.Errorf("%q", stay)
	}
}

func TestSizesAndDurationsAreShort(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_951: "1.0 MB", 12_340_000_000: "12.3 GB"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", time.Millisecond: "1s", 59 * time.Second: "59s", 61 * time.Second: "1m01s", 2*time.Hour + 5*time.Minute: "2h05m", 200 * time.Hour: "days",
	} {
		if got := short(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}
