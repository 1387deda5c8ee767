package console

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// breath is how often a page that follows is made anew although the model has not changed: times go on.
const breath = 5 * time.Second

// shortBreath is the same of pages with what is no part of the model: studies, and the log of a run that is worked on.
const shortBreath = time.Second

func shortly(any) time.Duration { return shortBreath }

// sendTimeout is how long a client may take to read one update.
const sendTimeout = 20 * time.Second

// live answers with server-sent events: of each part of a page that has changed an event with the part's id and its new HTML. It ends
// when the client leaves or the console stops; a browser comes back by itself.
func (c *Console) live(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sender := &sender{w: w, control: http.NewResponseController(w), sent: map[string]string{}}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // a proxy must not hold events back
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(c.stopped, cancel)()
		for ctx.Err() == nil {
			_, changed := c.model.now()
			pause, err := c.update(sender, r.WithContext(ctx), p)
			if err != nil {
				return
			}
			if !sleep(ctx, c.opts.Quietest) {
				return
			}
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
			case <-changed:
			case <-timer.C:
			}
			timer.Stop()
		}
	}
}

// sender writes events, of each id only what is new.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sent    map[string]string
}

// update sends the parts of a page that have changed, and says when to look again at the latest. What can't be read now may be read later.
func (c *Console) update(to *sender, r *http.Request, p page) (time.Duration, error) {
	view, err := p.build(r)
	if err != nil {
		return breath, to.event("notice", maskText(err.Error()))
	}
	pause := breath
	if p.breath != nil {
		pause = p.breath(view)
	}
	f := c.frame(r, p, view)
	for _, name := range append([]string{"menu", "notice"}, p.fragments...) {
		part, err := f.part(name)
		if err != nil {
			c.opts.Logger.Error("part of a page not rendered", "part", name, "error", err)
			return pause, err
		}
		if err := to.event(name, string(part)); err != nil {
			return pause, err
		}
	}
	return pause, to.event("beat", f.Now.UTC().Format(time.RFC3339))
}

func (s *sender) event(id, text string) error {
	if s.sent[id] == text {
		return nil
	}
	s.sent[id] = text
	_ = s.control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a writer without deadlines is a test's
	_ = s.control.SetReadDeadline(time.Time{})
	var out bytes.Buffer
	fmt.Fprintf(&out, "event: part\nid: %s\n", id)
	for line := range strings.Lines(text) {
		fmt.Fprintf(&out, "data: %s\n", strings.TrimRight(line, "\r\n"))
	}
	out.WriteString("\n")
	if _, err := s.w.Write(out.Bytes()); err != nil {
		return err
	}
	return s.control.Flush()
}
