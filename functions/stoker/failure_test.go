package main

import "testing"

func TestDetailsShowEachThingOnce(t *testing.T) {
	t.Parallel()
	const head = "end of the module's log:\n"
	for name, tc := range map[string]struct{ message, log, want string }{
		"nothing more":                       {"bad label", "", ""},
		"the log says the same":              {"bad label", "bad label\n", ""},
		"a log":                              {"bad label", "reading\nbad label\n", head + "reading\nbad label"},
		"a stack without a log":              {"panic: hot\nmain.go:7", "", "main.go:7"},
		"a panic, whose stack the log has":   {"panic: hot\nmain.go:7", "panic: hot\n\n\tmain.go:7\nx", head + "panic: hot\n\n\tmain.go:7\nx"},
		"a stack, and a log of other things": {"panic: hot\nmain.go:7", "step 1", "main.go:7\n" + head + "step 1"},
	} {
		if got := details(tc.message, tc.log); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestTablesKeepOneLineARow(t *testing.T) {
	t.Parallel()
	if got := firstLine("panic: too\thot\nmain.go:7"); got != "panic: too hot" {
		t.Errorf("%q", got)
	}
	if got := (runState{State: runFailed, Error: "a\nb"}).what(); got != "a" {
		t.Errorf("a failed run's line says %q", got)
	}
}
