package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inventory lists the files of a module while they are read.
type inventory struct {
	within  limits
	files   map[string]content
	folders map[string]bool // directories that contain them
	bytes   int64
}

type content struct {
	size   int64
	sha256 [sha256.Size]byte
}

func newInventory(within limits) *inventory {
	return &inventory{within: within, files: map[string]content{}, folders: map[string]bool{}}
}

// add reads one file, to its end or to the limit, and passes it on.
func (v *inventory) add(name string, from io.Reader, to io.Writer) error {
	if err := v.admit(name); err != nil {
		return err
	}
	sum := sha256.New()
	left := v.within.bytes - v.bytes
	n, err := io.Copy(io.MultiWriter(sum, to), io.LimitReader(from, left+1))
	if err != nil {
		return err
	}
	if n > left {
		return v.within.tooLarge()
	}
	v.bytes += n
	v.files[name] = content{size: n, sha256: [sha256.Size]byte(sum.Sum(nil))}
	return nil
}

// admit refuses a file that could not be in one directory with the others.
func (v *inventory) admit(name string) error {
	if err := tooDeep(name); err != nil {
		return err
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%q: expected a name in UTF-8 without control characters", short(name))
	}
	if len(v.files) == v.within.files {
		return v.within.tooMany()
	}
	if _, twice := v.files[name]; twice || v.folders[name] {
		return fmt.Errorf("%s is listed twice", name)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, file := v.files[dir]; file {
			return fmt.Errorf("%s is both a file and the folder of %s", dir, name)
		}
		v.folders[dir] = true
	}
	return nil
}

// digest returns the digest in hex.
func (v *inventory) digest() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(v.files)) {
		fmt.Fprintf(sum, "%q %d %x\n", name, v.files[name].size, v.files[name].sha256)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// digestOf reads all files of a module.
func digestOf(ctx context.Context, each walk, within limits) (string, error) {
	v := newInventory(within)
	err := each(ctx, func(name string, from io.Reader) error { return v.add(name, from, io.Discard) })
	return v.digest(), err
}

// copyTo also copies the files, and returns the digest of the copy: the files may have changed
// since they were read.
func copyTo(ctx context.Context, dir string, each walk, within limits) (string, error) {
	v := newInventory(within)
	err := each(ctx, func(name string, from io.Reader) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return keeping(err)
		}
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
		if err != nil {
			return keeping(err)
		}
		return errors.Join(v.add(name, from, kept{file}), keeping(file.Close()))
	})
	return v.digest(), err
}

// errKeeping marks an error of the copy, not of the module.
var errKeeping = errors.New("save a module")

func keeping(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errKeeping, err)
}

// kept distinguishes an error in writing the copy from one in reading the module.
type kept struct{ io.Writer }

func (k kept) Write(p []byte) (int, error) {
	n, err := k.Writer.Write(p)
	return n, keeping(err)
}
