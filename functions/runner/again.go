package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A process that serves several assignments is ended after servedMost of them, or when it has grown beyond keptBytes: what a
// leak or a scattered heap costs is bounded, whoever is to blame for it.
const (
	servedMost = 100
	looksShare = 200       // of a session's time one such part is spent on looks for processes that were left running
	keptBytes  = 256 << 20 // resident
)

// keep makes the process ready for another assignment, and ends it where it is not fit for one. The assignment has succeeded
// either way.
func (e *request) keep(ctx context.Context) (outcome Outcome, kept bool, err error) {
	p := e.process
	e.stopHelpers()
	resident, peak := p.ResidentBytes()
	outcome = e.outcome(peak)
	if err := e.takeBack(); err != nil {
		p.End()
		return outcome, false, err
	}
	if reason := e.unfit(resident); reason != nil {
		e.logger.DebugContext(ctx, "a module's process is not used again", "module", e.assignment.Module, "reason", reason)
		p.End()
		return outcome, false, nil
	}
	return outcome, true, nil
}

// stopHelpers has them return while the process goes on. What it printed before its last word is in the pipe by now, and goes
// to the log.
func (e *request) stopHelpers() {
	p := e.process
	setDeadlines(p, time.Now())
	e.helpers.Wait()
	setDeadlines(p, time.Time{})
	for {
		text := drainPipe(p.Output)
		if len(text) == 0 {
			return
		}
		_, _ = e.log.Write(text) // it never fails
	}
}

func setDeadlines(p *child, t time.Time) {
	_ = errors.Join(p.Stdin.SetWriteDeadline(t), p.Output.SetReadDeadline(t), p.Progress.SetReadDeadline(t)) // pipes have them
}

// unfit says why the process can't be given another assignment; nil if it can. Its home is emptied.
func (e *request) unfit(resident int64) error {
	p := e.process
	switch {
	case e.unsent != nil:
		return errors.New("it did not read its assignment")
	case p.served >= servedMost:
		return fmt.Errorf("it has served %d times", p.served)
	case e.listener.chatty || len(drainPipe(p.Progress)) > 0:
		return errors.New("it said something after its last word")
	case e.mayHold > 0 && resident > e.mayHold:
		return fmt.Errorf("it has grown to %s", bytesText(resident))
	case e.strayed():
		return errors.New("it left other processes running")
	}
	p.SetBusy(false)
	return emptied(p.Home)
}

// strayed says whether the process has left others running, if it is time to look again.
func (e *request) strayed() bool {
	p := e.process
	began := time.Now()
	if e.mayStray > 0 && began.Sub(p.looked) < max(e.mayStray, looksShare*p.lookTook) {
		return false
	}
	alone := p.Alone()
	p.looked = time.Now()
	p.lookTook = p.looked.Sub(began)
	return !alone
}

// unheard reads what waits in a pipe, without waiting for more. It is nil if there is nothing, and at its end.
func drainPipe(pipe *os.File) []byte {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return nil
	}
	buffer, n := make([]byte, 4<<10), 0
	_ = conn.Read(func(fd uintptr) bool {
		n, _ = syscall.Read(int(fd), buffer) // -1 where there is nothing: pipes of ours don't block
		return true
	})
	return buffer[:max(n, 0)]
}

// ready says whether a process that has been idle can take an assignment that is bound to limit bytes, 0 for none. One that
// has served keeps memory from before, which must not count much against another job.
func (p *child) ready(limit int64) bool {
	if p.Dead() || len(drainPipe(p.Output)) > 0 || len(drainPipe(p.Progress)) > 0 {
		return false
	}
	if p.served == 0 || limit == 0 {
		return true
	}
	resident, _ := p.ResidentBytes()
	return resident <= limit/2
}

// emptied removes what is in a folder, and leaves the folder.
func emptied(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return err
}
