package multihost

import "context"

// Drop is what the kernel does for a leader that was killed.
func Drop(l *Leader) { l.drop() }

// HearOut waits until members have said all.
func HearOut(w *Round, ctx context.Context) { w.hearOut(ctx) }
