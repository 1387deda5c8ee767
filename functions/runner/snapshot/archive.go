package snapshot

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// zipped returns a walk over the files of a .zip or a wheel.
func zipped(archive string, within limits) walk {
	return func(ctx context.Context, do func(string, io.Reader) error) (err error) {
		r, err := zip.OpenReader(archive)
		if err != nil {
			return unreadable(err)
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		return zipEntries(ctx, &r.Reader, within, do)
	}
}

func zipEntries(ctx context.Context, r *zip.Reader, within limits, do func(string, io.Reader) error) error {
	if len(r.File) > within.files {
		return within.tooMany()
	}
	for _, f := range r.File {
		name, wanted, err := entryName(f.Name, f.Mode())
		if err == nil && wanted {
			err = zipEntry(ctx, f, name, do)
		}
		if err != nil {
			return atEntry(f.Name, err)
		}
	}
	return nil
}

// encrypted is the first of a zip entry's flags.
const encrypted = 1

func zipEntry(ctx context.Context, f *zip.File, name string, do func(string, io.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.Flags&encrypted != 0 {
		return errors.New("is encrypted")
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	return errors.Join(do(name, content), content.Close())
}

// tarred returns a walk over the files of a .tar.gz.
func tarred(archive string, within limits) walk {
	return func(ctx context.Context, do func(string, io.Reader) error) (err error) {
		file, err := os.Open(archive)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		return tarEntries(ctx, file, within, do)
	}
}

func tarEntries(ctx context.Context, compressed io.Reader, within limits, do func(string, io.Reader) error) error {
	unzipped, err := gzip.NewReader(compressed)
	if err != nil {
		return unreadable(err)
	}
	r := tar.NewReader(&bounded{unzipped, within.tarBytes(), within})
	for range within.files + 1 { // the last iteration finds the end
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(err)
		}
		if err := tarEntry(header, r, do); err != nil {
			return atEntry(header.Name, err)
		}
	}
	return within.tooMany()
}

func tarEntry(header *tar.Header, content io.Reader, do func(string, io.Reader) error) error {
	if header.Typeflag == tar.TypeXGlobalHeader { // git's metadata of the archive
		return nil
	}
	mode := header.FileInfo().Mode()
	if header.Typeflag == tar.TypeLink {
		mode = fs.ModeIrregular // the same file again, which its mode doesn't show
	}
	name, wanted, err := entryName(header.Name, mode)
	if err != nil || !wanted {
		return err
	}
	return do(name, content)
}

// entryName returns the name of an archive's entry below the module's directory, if it is a file
// that is wanted.
func entryName(name string, mode fs.FileMode) (clean string, wanted bool, err error) {
	clean = strings.TrimSuffix(name, "/")
	for strings.HasPrefix(clean, "./") {
		clean = clean[2:]
	}
	switch {
	case clean == "." || clean == "":
		return "", false, nil // the top itself
	case !fs.ValidPath(clean) || strings.Contains(clean, `\`):
		return "", false, errors.New("expected a relative name with slashes, with no .. in it")
	case isLeftOutBelow(clean) || mode.IsDir():
		return "", false, tooDeep(clean)
	case !mode.IsRegular():
		return "", false, errors.New("neither a file nor a folder; links are not followed")
	}
	return clean, true, nil
}

// isLeftOutBelow checks every part of a name.
func isLeftOutBelow(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if isLeftOut(part) {
			return true
		}
	}
	return false
}

// isLeftOut reports whether nothing below a part of a name is imported.
func isLeftOut(part string) bool {
	return strings.HasPrefix(part, ".") || part == "__pycache__" || path.Ext(part) == ".dist-info"
}

func unreadable(err error) error {
	if _, isPath := errors.AsType[*fs.PathError](err); isPath || errors.Is(err, errLimit) {
		return err
	}
	return fmt.Errorf("read the archive: %w", err)
}

func atEntry(name string, err error) error { return fmt.Errorf("entry %q: %w", short(name), err) }

// short keeps an error readable whatever an archive contains.
func short(name string) string {
	const most = 200
	if len(name) <= most {
		return name
	}
	return name[:most] + "..."
}
