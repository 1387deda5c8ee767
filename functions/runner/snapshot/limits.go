package snapshot

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// limits limit a module's files.
type limits struct {
	files int   // number of files, and of an archive's entries of any kind
	bytes int64 // size of all files, and of an archive
}

// wide permits code with its vocabularies, and refuses a directory that contains data or an
// environment.
var wide = limits{files: 10_000, bytes: 256 << 20}

const (
	maxDepth = 32   // depth of directories
	maxName  = 1024 // bytes
)

// errLimit marks a limit that is exceeded.
var errLimit = errors.New("name a folder or an archive that holds only code")

func (l limits) tooMany() error {
	return fmt.Errorf("holds more than %d files: %w", l.files, errLimit)
}

func (l limits) tooLarge() error {
	return fmt.Errorf("holds more than %d bytes: %w", l.bytes, errLimit)
}

func tooDeep(name string) error {
	if strings.Count(name, "/") >= maxDepth || len(name) > maxName {
		return fmt.Errorf("%s: it is nested more than %d folders deep, or its name is longer than %d bytes: %w",
			short(name), maxDepth, maxName, errLimit)
	}
	return nil
}

// tarBytes is the largest size of the files of limits in a tar: each has a header, and is padded to
// whole blocks.
func (l limits) tarBytes() int64 {
	const block = 512
	return l.bytes + int64(l.files)*4*block
}

// bounded ends a stream that unpacks to more than a valid archive has, even if its content is not
// used.
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
