package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Bytes is the unit of work that is counted in bytes. Other units are plural nouns, like "runs".
const Bytes = "bytes"

// Work shows how far a long piece of work is, its rate and the time left: on a terminal as one line
// that is redrawn below other output, elsewhere as a line now and then. All methods are safe for
// concurrent use, and do nothing on nil, which is work that is not shown.
type Work struct {
	stream *Stream
	what   string
	unit   string

	total, done atomic.Int64
	note        atomic.Pointer[string]

	ended   chan struct{}
	closing sync.Once
	ticking sync.WaitGroup
	samples []sample // of the last seconds, oldest first; of the ticking goroutine, then of Close
}

// sample is how much was done at a time.
type sample struct {
	at   time.Time
	done int64
}

const (
	drawnEvery  = 100 * time.Millisecond // on a terminal
	saidEvery   = 10 * time.Second       // elsewhere
	sampleEvery = time.Second
	sampleCount = 10 // samples that the rate is computed from
)

// Begin shows the beginning of work, of an unknown total until Expect is called. The caller calls
// Close before it prints the result.
func (s *Stream) Begin(what, unit string) *Work {
	w := &Work{stream: s, what: what, unit: unit, ended: make(chan struct{}), samples: []sample{{at: time.Now()}}}
	every := saidEvery
	if _, _, drawable := s.Size(); drawable {
		every = drawnEvery
		w.draw()
	}
	w.ticking.Go(func() { w.tick(every) })
	return w
}

func (w *Work) tick(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-ticker.C:
			w.draw()
		}
	}
}

// Expect adds to how much there is to do.
func (w *Work) Expect(n int64) {
	if w != nil {
		w.total.Add(n)
	}
}

// Add adds to what is done.
func (w *Work) Add(n int64) {
	if w != nil {
		w.done.Add(n)
	}
}

// Note names what is being done now. It is shown if there is room.
func (w *Work) Note(text string) {
	if w != nil {
		w.note.Store(&text)
	}
}

// Close ends the display, and erases its line. It may be called repeatedly.
func (w *Work) Close() {
	if w == nil {
		return
	}
	w.closing.Do(func() {
		close(w.ended)
		w.ticking.Wait()
		if _, _, drawable := w.stream.Size(); drawable {
			w.draw() // the last state, for recordings of the terminal
			w.stream.Status("")
		}
	})
}

// draw shows the state.
func (w *Work) draw() {
	now := sample{time.Now(), w.done.Load()}
	if last := w.samples[len(w.samples)-1]; now.at.Sub(last.at) >= sampleEvery {
		w.samples = append(w.samples, now)
		w.samples = w.samples[max(0, len(w.samples)-sampleCount):]
	}
	p := w.progress(now)
	if width, _, drawable := w.stream.Size(); drawable {
		w.stream.Status(p.fit(width - 1)) // the cursor has the last column
		return
	}
	fmt.Fprintln(w.stream, p.line(0, false))
}

// progress is a state of work as text.
type progress struct {
	what, percent, amount, rate, left, note string
	share                                   float64 // that is done; negative: unknown
}

func (w *Work) progress(now sample) progress {
	p := progress{what: w.what, share: -1}
	if note := w.note.Load(); note != nil {
		p.note = Line(*note)
	}
	total := w.total.Load()
	done := now.done
	if total > 0 {
		done = min(done, total) // a broken connection may repeat some
		p.share = float64(done) / float64(total)
		p.percent = fmt.Sprintf("%3d%%", 100*done/total)
		p.amount = w.amount(done) + " of " + w.amount(total)
	} else if done > 0 {
		p.amount = w.amount(done)
	}
	if w.unit != Bytes && p.amount != "" {
		p.amount += " " + w.unit
	}
	if total > 0 && done == total {
		p.left = "finishing" // the other side may need a while
		return p
	}
	from := w.samples[0]
	seconds := now.at.Sub(from.at).Seconds()
	if seconds < sampleEvery.Seconds() || now.done <= from.done {
		return p
	}
	rate := float64(now.done-from.done) / seconds
	p.rate = fmt.Sprintf("%.1f/s", rate)
	if w.unit == Bytes {
		p.rate = Size(int64(rate)) + "/s"
	}
	if total > done {
		p.left = short(time.Duration(float64(total-done)/rate*float64(time.Second))) + " left"
	}
	return p
}

func (w *Work) amount(n int64) string {
	if w.unit == Bytes {
		return Size(n)
	}
	return fmt.Sprint(n)
}

// fit returns the line with as much as fits into some columns: the note gives way first, then the
// bar, the rate and the amount.
func (p progress) fit(columns int) string {
	whole := 0 // columns of a bar
	if p.share >= 0 {
		whole = barWidth + len(" ||")
	}
	if p.note != "" {
		const shortest = 8 // that tells one note from another
		left := columns - columnsOf(p.line(0, true)) - whole + columnsOf(p.note)
		if left < shortest {
			left = 0
		}
		p.note = cutColumns(p.note, left)
	}
	for _, less := range []*string{&p.rate, &p.amount} {
		if columnsOf(p.line(0, true)) > columns {
			*less = ""
		}
	}
	bar := min(barWidth, columns-columnsOf(p.line(0, true))-len(" ||"))
	if bar < barWidth/4 || p.share < 0 {
		bar = 0
	}
	return cutColumns(p.line(bar, true), columns)
}

// line joins the parts. A bar of no columns is left out.
func (p progress) line(bar int, drawn bool) string {
	parts := []string{p.what}
	if drawn {
		parts[0] = strings.TrimRight(p.what+" "+p.percent, " ")
	}
	if bar > 0 {
		filled := int(p.share * float64(bar))
		parts[0] += " |" + strings.Repeat("█", filled) + strings.Repeat(" ", bar-filled) + "|"
	}
	for _, part := range []string{p.amount, p.rate, p.left, p.note} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}

// columnsOf returns how many columns a text takes at most: letters of East Asia and signs take two.
func columnsOf(text string) (columns int) {
	for _, r := range text {
		columns += columnsOfRune(r)
	}
	return columns
}

func columnsOfRune(r rune) int {
	const firstWide, bar = '\u1100', '█'
	if r >= firstWide && r != bar && r != '…' {
		return 2
	}
	return 1
}

// cutColumns shortens a text to some columns, with an ellipsis at its end.
func cutColumns(text string, columns int) string {
	if columnsOf(text) <= columns {
		return text
	}
	used, end := 1, 0 // of the ellipsis
	for i, r := range text {
		if used += columnsOfRune(r); used > columns {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	if columns < 1 {
		return ""
	}
	return text[:end] + "…"
}

// Size formats a number of bytes with its decimal unit: 12.3 MB.
func Size(n int64) string {
	units := []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1000, 0
	for size >= 999.95 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// short formats a duration by its two largest units.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int((d + time.Second - 1).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return "days"
}

// Counted returns a reader that adds what is read to the work.
func (w *Work) Counted(body io.ReadCloser) io.ReadCloser {
	if w == nil {
		return body
	}
	return counted{body, w}
}

type counted struct {
	io.ReadCloser
	work *Work
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.work.Add(int64(n))
	return n, err
}
