package multihost

import "context"

// Drop does what the kernel does for a leader that was killed.
func Drop(l *Leader) { l.drop() }

// AwaitReasons waits until members have reported everything.
func AwaitReasons(w *Round, ctx context.Context) { w.awaitReasons(ctx) }
