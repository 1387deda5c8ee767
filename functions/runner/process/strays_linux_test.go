package process

import (
	"strings"
	"testing"
)

func TestAMarkIsThatOfOneHomeOrOfThoseBelowIt(t *testing.T) {
	t.Parallel()
	const home = "/tmp/scratch/module-1"
	for environ, want := range map[string]bool{
		"A=b\x00STOKER_MODULE=/tmp/scratch/module-1\x00C=d\x00": true,
		"STOKER_MODULE=/tmp/scratch/module-1":                   true,
		"STOKER_MODULE=/tmp/scratch/module-1/inner\x00":         true,
		"STOKER_MODULE=/tmp/scratch/module-12\x00":              false,
		"STOKER_MODULE=/tmp/scratch\x00":                        false,
		"STOKER_MODULE=\x00":                                    false,
		"HOME=/tmp/scratch/module-1\x00":                        false,
		"X=STOKER_MODULE=/tmp/scratch/module-1\x00":             false,
		"": false,
	} {
		if got := hasMark([]byte(environ), home); got != want {
			t.Errorf("%q: %v, want %v", environ, got, want)
		}
	}
}

// The search is part of every job: it may cost no more than a small part of a process's start.
func BenchmarkFindStrays(b *testing.B) {
	home := strings.Repeat("/none", 3)
	for b.Loop() {
		endStrays(home)
	}
}
