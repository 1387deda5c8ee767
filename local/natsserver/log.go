package natsserver

import (
	"fmt"
	"log/slog"
	"sync"
)

// log hands what the server says to slog. The server's own logger would print, and end the process
// on a fatal error.
type log struct {
	to     *slog.Logger
	failed chan struct{} // closed at the first fatal error
	once   sync.Once
	fatal  string // set before failed is closed
}

func newLog(to *slog.Logger) *log {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return &log{to: to, failed: make(chan struct{})}
}

const said = "nats-server" // the message; what the server said is an attribute

func (l *log) Noticef(format string, v ...any) { l.to.Debug(said, "text", fmt.Sprintf(format, v...)) }
func (l *log) Debugf(format string, v ...any)  { l.to.Debug(said, "text", fmt.Sprintf(format, v...)) }
func (l *log) Tracef(format string, v ...any)  { l.to.Debug(said, "text", fmt.Sprintf(format, v...)) }
func (l *log) Warnf(format string, v ...any)   { l.to.Warn(said, "text", fmt.Sprintf(format, v...)) }
func (l *log) Errorf(format string, v ...any)  { l.to.Error(said, "text", fmt.Sprintf(format, v...)) }

// Fatalf is the server's last word: it goes on to return from Start by itself.
func (l *log) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.to.Error(said, "text", text)
	l.once.Do(func() { l.fatal = text; close(l.failed) })
}
