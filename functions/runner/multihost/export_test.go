package multihost

import "context"

// Drop closes a leader's connections, as the kernel does for one that was killed.
func Drop(l *Leader) { l.drop() }

// AwaitReasons waits until members have reported everything.
func AwaitReasons(w *Round, ctx context.Context) { w.awaitReasons(ctx) }
