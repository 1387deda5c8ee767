package snapshot_test

import (
	"path/filepath"
	"testing"
)

// The time that each job waits whose module was run before.
func BenchmarkAModuleThatIsKept(b *testing.B) {
	cache, path := b.TempDir(), filepath.Join(penguin.folder(b), "penguin.py")
	take(b, cache, path)
	for b.Loop() {
		take(b, cache, path)
	}
}
