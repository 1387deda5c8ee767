package bucket

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// listing is a request for keys of a bucket.
type listing struct {
	prefix    string
	delimiter string // keys in which it follows after prefix are grouped
	after     string // keys and prefixes beyond it only
	max       int
}

// listed is one page, in the byte order of keys.
type listed struct {
	objects  []listedObject
	prefixes []string
	next     string // the last of the page, where there is another page
	more     bool
}

type listedObject struct {
	key string
	*object
}

// list returns one page.
func (f *files) list(bucket string, l listing) (listed, error) {
	w := walk{files: f, bucket: bucket, listing: l}
	base := l.prefix[:strings.LastIndex(l.prefix, "/")+1]
	if l.max == 0 || (base != "" && checkKey(base) != nil) {
		return listed{}, nil
	}
	if base != "" && base == l.prefix {
		if err := w.mark(base); err != nil {
			return w.found, err
		}
	}
	err := w.folder(base)
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return w.found, err
}

var errPageFull = errors.New("page is full")

// walk goes through a bucket's folders in the order of their keys.
type walk struct {
	*files
	bucket string
	listing
	skip  string // keys that begin with it are put together already
	last  string
	found listed
}

func (w *walk) folder(base string) error {
	entries, err := fs.ReadDir(w.root.FS(), strings.TrimSuffix(objectPath(w.bucket, base), "/"))
	if err != nil {
		return ignoreMissing(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(segment(a), segment(b)) })
	for _, entry := range entries {
		key := base + segment(entry)
		if w.skip != "" && strings.HasPrefix(key, w.skip) {
			continue
		}
		if entry.IsDir() {
			err = w.enter(key)
		} else if strings.HasPrefix(key, w.prefix) && key > w.after {
			err = w.visit(key, entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// segment returns a name as it occurs in keys, which are sorted by it.
func segment(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}

// enter visits a directory that may contain keys of the page.
func (w *walk) enter(key string) error {
	if !strings.HasPrefix(key, w.prefix) && !strings.HasPrefix(w.prefix, key) {
		return nil
	}
	if w.after > key && !strings.HasPrefix(w.after, key) {
		return nil
	}
	if err := w.mark(key); err != nil {
		return err
	}
	if w.skip != "" && strings.HasPrefix(key, w.skip) {
		return nil
	}
	return w.folder(key)
}

// mark visits a folder that is an object itself.
func (w *walk) mark(key string) error {
	if !strings.HasPrefix(key, w.prefix) || key <= w.after {
		return nil
	}
	if _, err := w.root.Lstat(recordPath(w.bucket, key)); err != nil {
		return ignoreMissing(err)
	}
	return w.visit(key, nil)
}

// visit adds a key, or what it is put together with.
func (w *walk) visit(key string, entry fs.DirEntry) error {
	if w.delimiter != "" {
		if i := strings.Index(key[len(w.prefix):], w.delimiter); i >= 0 {
			return w.together(key[:len(w.prefix)+i+len(w.delimiter)], key)
		}
	}
	if w.full() {
		return errPageFull
	}
	o, err := w.look(key, entry)
	if errors.Is(err, errNoKey) {
		return nil // deleted meanwhile, or no object
	}
	if err != nil {
		return err
	}
	w.found.objects = append(w.found.objects, listedObject{key, o})
	w.last = key
	return nil
}

func (w *walk) together(prefix, key string) error {
	w.skip = prefix
	if prefix == w.after {
		return nil // it was on the page before
	}
	if w.full() {
		return errPageFull
	}
	if _, err := w.stat(w.bucket, key); err != nil {
		w.skip = ""
		if errors.Is(err, errNoKey) {
			return nil
		}
		return err
	}
	w.found.prefixes = append(w.found.prefixes, prefix)
	w.last = prefix
	return nil
}

func (w *walk) full() bool {
	if len(w.found.objects)+len(w.found.prefixes) < w.max {
		return false
	}
	w.found.more, w.found.next = true, w.last
	return true
}

// look returns stat without opening the file, where its record is found.
func (w *walk) look(key string, entry fs.DirEntry) (*object, error) {
	if entry != nil && entry.Type().IsRegular() {
		info, err := entry.Info()
		if err != nil {
			return nil, notFound(err)
		}
		for _, o := range w.record(w.bucket, key) {
			if o.Size == info.Size() && o.Modified == info.ModTime().UnixNano() {
				return &o, nil
			}
		}
	}
	return w.stat(w.bucket, key)
}
