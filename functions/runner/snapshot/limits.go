package snapshot

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// limits bound what a module's files may be.
type limits struct {
	files int   // also of an archive's entries, whatever they are
	bytes int64 // of them all, and of an archive
}

// wide leaves room for code with its vocabularies, and refuses a folder that holds data or an environment.
var wide = limits{files: 10_000, bytes: 256 << 20}

const (
	maxDepth = 32   // folders in folders
	maxName  = 1024 // bytes
)

// errLimit marks what is too much.
var errLimit = errors.New("name a folder or an archive that holds code alone")

func (l limits) tooMany() error {
	return fmt.Errorf("holds more than %d files: %w", l.files, errLimit)
}

func (l limits) tooLarge() error {
	return fmt.Errorf("holds more than %d bytes: %w", l.bytes, errLimit)
}

func tooDeep(name string) error {
	if strings.Count(name, "/") >= maxDepth || len(name) > maxName {
		return fmt.Errorf("%s: has more than %d folders in each other, or more than %d bytes in its name: %w",
			short(name), maxDepth, maxName, errLimit)
	}
	return nil
}

// tarBytes is what the files of limits have in a tar at most: each has a header, and is filled up to whole blocks.
func (l limits) tarBytes() int64 {
	const block = 512
	return l.bytes + int64(l.files)*4*block
}

// bounded ends a stream that unpacks to more than an honest archive has, also where nobody wants what is in it.
type bounded struct {
	io.Reader
	left   int64
	within limits
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.within.tooLarge()
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
