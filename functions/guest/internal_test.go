package guest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
)

func TestALogIsBoundedHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	log := &boundedLog{}
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 1<<10)
	for range 1 << 10 {
		if n, err := log.Write(chunk); n != len(chunk) || err != nil {
			t.Fatalf("wrote %d, error %v", n, err)
		}
	}
	if len(log.last) > 2*tailBytes || cap(log.last) > 4*tailBytes {
		t.Errorf("keeps %d bytes in %d", len(log.last), cap(log.last))
	}
	if tail := log.tail(); len(tail) > factTailBytes || !strings.HasPrefix(tail, "0123") || !strings.HasSuffix(tail, "abcde\n") {
		t.Errorf("tail has %d bytes", len(tail))
	}
	_, _ = log.Write([]byte("\xff\xfe end"))
	if tail := log.tail(); !strings.HasSuffix(tail, "\uFFFD end") {
		t.Errorf("tail ends %q", tail[len(tail)-20:])
	}
}

// Whatever a module writes, the listener hears only what the protocol knows, stops hearing after the last word, and
// reads to the end.
func FuzzListen(f *testing.F) {
	f.Add([]byte(`{"type":"progress","step":1,"metrics":{"loss":0.5}}` + "\n" + `{"type":"done"}` + "\n"))
	f.Add([]byte(`{"type":"error","error":{"kind":"input","message":"bad"}}` + "\n" + `{"type":"done"}` + "\n"))
	f.Add([]byte("no JSON\n\x00\xff\n" + strings.Repeat("x", module.MaxMessageBytes+1) + "\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &listener{log: io.Discard, done: make(chan struct{})}
		l.on = func(m module.Message) {
			if m.Type != module.MessageProgress && m.Type != module.MessageCheckpoint || l.finished || l.failure != nil {
				t.Errorf("heard %+v", m)
			}
		}
		r := bytes.NewReader(text)
		l.listen(r)
		if r.Len() != 0 {
			t.Errorf("%d bytes were not read", r.Len())
		}
		known := []module.ErrorKind{module.KindInput, module.KindHost, module.KindModule}
		if l.failure != nil && (l.finished || !slices.Contains(known, l.failure.Kind)) {
			t.Errorf("finished %v, failure %+v", l.finished, l.failure)
		}
	})
}

func TestOnlyTheChildHoldsItsEndsOfThePipes(t *testing.T) {
	t.Parallel()
	p, err := start(t.TempDir(), nil, []string{"/bin/echo", "out"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.end()
	// Far off: it is there so that a red test ends.
	if err := errors.Join(p.output.SetReadDeadline(time.Now().Add(10*time.Second)), p.progress.SetReadDeadline(time.Now().Add(10*time.Second))); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(p.output); string(text) != "out\n" || err != nil {
		t.Errorf("output is %q, error %v", text, err)
	}
	if text, err := io.ReadAll(p.progress); len(text) != 0 || err != nil {
		t.Errorf("progress is %q, error %v", text, err)
	}
}
