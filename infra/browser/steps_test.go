package main

import (
	"fmt"
	"testing"
	"time"
)

func TestAWaitEndsOnceThePageHasSettled(t *testing.T) {
	t.Parallel()
	wait, begun := waiting{}, time.Now()
	for _, step := range []struct {
		after time.Duration
		page  string
		over  bool
	}{{0, "one", false}, {settles - 1, "one", false}, {settles - 1, "two", false}, {2*settles - 2, "two", false}, {2*settles - 1, "two", true}} {
		if over := wait.over(begun.Add(step.after), step.page); over != step.over {
			t.Errorf("after %s: %t", step.after, over)
		}
	}
	wait = waiting{}
	for i := range 12 { // it changes all the time
		after := time.Duration(i) * 50 * time.Second
		if over := wait.over(begun.Add(after), fmt.Sprint(i)); over != (after >= patience) {
			t.Errorf("after %s: %t", after, over)
		}
	}
}
