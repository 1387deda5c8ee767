package snapshot_test

import (
	"path/filepath"
	"testing"
)

// What each job waits for whose module was run before.
func BenchmarkAModuleThatIsKept(b *testing.B) {
	cache, path := b.TempDir(), filepath.Join(penguin.folder(b), "penguin.py")
	take(b, cache, path)
	for b.Loop() {
		take(b, cache, path)
	}
}
