package bucket

import (
	"context"
	"crypto/md5" // what S3's ETags are
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/storage"
)

// The folders and the one file of a Dir.
const (
	bucketsDir = "buckets" // <bucket>/<key>: the objects, as plain files
	recordsDir = "records" // <bucket>/<hash of key>: what S3 keeps of each object
	uploadsDir = "uploads" // <upload>: objects that are being sent in parts
	partialDir = "partial" // files that are being written
	formatFile = "format"  // the version of all that
	format     = "1\n"
)

// object is what S3 keeps of an object.
type object struct {
	ETag string `json:"etag"`
	Size int64  `json:"size"`
	// ns; with Size, shows whether a record is that of the file
	Modified int64             `json:"modified"`
	Parts    []int64           `json:"parts,omitempty"`   // sizes, which the ETag depends on
	Headers  map[string]string `json:"headers,omitempty"` // Content-Type and the like
	User     map[string]string `json:"user,omitempty"`    // x-amz-meta-, without that
	Tags     string            `json:"tags,omitempty"`    // as in a query
}

func (o *object) modified() time.Time { return time.Unix(0, o.Modified).UTC() }

// record holds an object and the one it replaces: it is written before the file is, so that a crash
// between the two loses neither.
type record struct {
	Objects []object `json:"objects"`
}

// condition of a write; nil: there is none.
type condition func(current *object) error

// files keeps objects as plain files below a folder. A file becomes visible whole, by a rename, and
// its record has the metadata that S3 has for it. A file without a record is an object too, with an
// ETag of its bytes: another program has created it.
type files struct {
	root *os.Root

	buckets sync.RWMutex      // held to delete a bucket; shared to write into one
	locks   [256]sync.RWMutex // of keys
	sending [64]sync.Mutex    // of uploads, held around those of keys
	seed    maphash.Seed
	clock   atomic.Int64 // the last time given to a file
}

// openFiles opens a folder that is new, or of this version. Uploads that rest for more than a week
// are removed.
func openFiles(dir string) (*files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &files{root: root, seed: maphash.MakeSeed()}
	if err := f.prepare(dir); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

func (f *files) prepare(dir string) error {
	switch got, err := f.root.ReadFile(formatFile); {
	case err == nil && string(got) != format:
		return fmt.Errorf("the folder %s is of version %q of the embedded S3 server, this program reads %q: move it away, or use the program that wrote it", dir, strings.TrimSpace(string(got)), strings.TrimSpace(format))
	case errors.Is(err, fs.ErrNotExist):
		if _, err := f.root.Stat(bucketsDir); err == nil {
			return fmt.Errorf("the folder %s was written by an earlier embedded S3 server, which kept objects in another way: move it away, and copy what its folder %q holds to the new server", dir, bucketsDir)
		}
	case err != nil:
		return err
	}
	if err := f.root.RemoveAll(partialDir); err != nil {
		return err
	}
	for _, name := range []string{bucketsDir, recordsDir, uploadsDir, partialDir} {
		if err := f.root.MkdirAll(name, 0o700); err != nil {
			return err
		}
	}
	if err := f.removeOldUploads(time.Now().Add(-7 * 24 * time.Hour)); err != nil {
		return err
	}
	return f.root.WriteFile(formatFile, []byte(format), 0o600)
}

func (f *files) close() error { return f.root.Close() }

// lock returns the key's. Other keys may share it, so no goroutine may hold two.
func (f *files) lock(bucket, key string) *sync.RWMutex {
	return &f.locks[maphash.String(f.seed, bucket+"/"+key)%uint64(len(f.locks))]
}

// uploadLock returns the upload's. Others may share it.
func (f *files) uploadLock(id string) *sync.Mutex {
	return &f.sending[maphash.String(f.seed, id)%uint64(len(f.sending))]
}

func (f *files) bucketExists(bucket string) error {
	if (storage.Ref{Bucket: bucket}).Validate() != nil {
		return errNoBucket
	}
	if info, err := f.root.Lstat(path.Join(bucketsDir, bucket)); err != nil || !info.IsDir() {
		return errNoBucket
	}
	return nil
}

// checkKey returns an error for a key that can't be a path of a file.
func checkKey(key string) error {
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return invalidArgument("The key is no text.")
	}
	if len(key) > 1024 {
		return errKeyTooLong
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(key, "/"), "/") {
		if len(segment) > 255 {
			return errKeyTooLong
		}
		if segment == "" || segment == "." || segment == ".." {
			return invalidArgument("The key has an empty part, or one of dots, which a folder of files can't hold.")
		}
	}
	return nil
}

func objectPath(bucket, key string) string {
	return bucketsDir + "/" + bucket + "/" + strings.TrimSuffix(key, "/")
}

func recordPath(bucket, key string) string {
	name := hexSHA256(key)
	return recordsDir + "/" + bucket + "/" + name[:2] + "/" + name[2:]
}

func isFolder(key string) bool { return strings.HasSuffix(key, "/") }

// partial makes a file that is not visible yet.
func (f *files) partial() (*os.File, string, error) {
	name := partialDir + "/" + rand.Text()
	file, err := f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	return file, name, err
}

// now returns the time for a new file, which no other has.
func (f *files) now() time.Time {
	for {
		last, now := f.clock.Load(), time.Now().UnixNano()
		if now = max(now, last+1); f.clock.CompareAndSwap(last, now) {
			return time.Unix(0, now)
		}
	}
}

// stat returns what is known of an object, or errNoKey.
func (f *files) stat(bucket, key string) (*object, error) {
	file, o, err := f.open(bucket, key)
	if file != nil {
		err = errors.Join(err, file.Close())
	}
	return o, err
}

// open returns an object and its file, which is nil for a folder's mark. The file stays the same
// however often the object is replaced.
func (f *files) open(bucket, key string) (*os.File, *object, error) {
	lock := f.lock(bucket, key)
	lock.RLock()
	file, info, o, err := f.read(bucket, key)
	lock.RUnlock()
	if err != nil || o != nil {
		return file, o, err
	}
	// A file that was put here, or copied here with another time.
	if o, err = f.adopt(file, info, bucket, key); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, o, nil
}

// read opens the file and looks for its record, under the key's lock. There is no object where none
// is of this file.
func (f *files) read(bucket, key string) (*os.File, fs.FileInfo, *object, error) {
	if isFolder(key) {
		info, err := f.root.Stat(objectPath(bucket, key))
		if err != nil || !info.IsDir() {
			return nil, nil, nil, errors.Join(errNoKey, ignoreMissing(err))
		}
		objects := f.record(bucket, key)
		if len(objects) == 0 {
			return nil, nil, nil, errNoKey
		}
		return nil, info, &objects[0], nil
	}
	file, err := f.root.OpenFile(objectPath(bucket, key), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, nil, notFound(err)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil, nil, errors.Join(errNoKey, ignoreMissing(err), file.Close())
	}
	for _, o := range f.record(bucket, key) {
		if o.Size == info.Size() && o.Modified == info.ModTime().UnixNano() {
			return file, info, &o, nil
		}
	}
	return file, info, nil, nil
}

// record reads what was written of a key. An unreadable record is ignored: the file has what is
// needed.
func (f *files) record(bucket, key string) []object {
	var r record
	data, err := f.root.ReadFile(recordPath(bucket, key))
	if err != nil || json.Unmarshal(data, &r) != nil {
		return nil
	}
	return r.Objects
}

// adopt makes a record for a file. Where there is one for the same bytes, it holds.
func (f *files) adopt(file *os.File, info fs.FileInfo, bucket, key string) (*object, error) {
	lock := f.lock(bucket, key)
	lock.Lock()
	defer lock.Unlock()
	o := object{Size: info.Size(), Modified: info.ModTime().UnixNano()}
	for _, known := range f.record(bucket, key) {
		if known.Size != info.Size() {
			continue
		}
		etag, err := etagOf(file, known.Parts)
		if err != nil {
			return nil, err
		}
		if etag == known.ETag {
			known.Modified = o.Modified
			return &known, f.writeRecord(bucket, key, known)
		}
	}
	var err error
	if o.ETag, err = etagOf(file, nil); err != nil {
		return nil, err
	}
	return &o, f.writeRecord(bucket, key, o)
}

// etagOf returns the ETag of a file's bytes, sent in parts or not.
func etagOf(file *os.File, parts []int64) (string, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	whole, part := md5.New(), md5.New()
	if len(parts) == 0 {
		if _, err := io.Copy(whole, file); err != nil {
			return "", err
		}
	}
	for _, size := range parts {
		part.Reset()
		if _, err := io.CopyN(part, file, size); err != nil {
			return "", err
		}
		whole.Write(part.Sum(nil))
	}
	etag := hex.EncodeToString(whole.Sum(nil))
	if len(parts) > 0 {
		etag += fmt.Sprint("-", len(parts))
	}
	_, err := file.Seek(0, io.SeekStart)
	return etag, err
}

func (f *files) writeRecord(bucket, key string, objects ...object) error {
	data, err := json.Marshal(record{objects})
	if err != nil {
		return err
	}
	file, name, err := f.partial()
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.move(name, recordPath(bucket, key))
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(name))
	}
	return nil
}

// tries limits how often a directory is created that other goroutines may remove because it is
// empty.
const tries = 100

// move renames a file, into a folder that is made for it.
func (f *files) move(from, to string) error {
	var err error
	for range tries {
		if err = f.root.Rename(from, to); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err = f.makeFolder(path.Dir(to)); err != nil {
			return err
		}
	}
	return err
}

// makeFolder makes a folder and those above it. For one that other goroutines remove meanwhile,
// os.Root reports that it does not exist, or that it is a file.
func (f *files) makeFolder(dir string) error {
	var err error
	for range tries {
		if err = f.root.MkdirAll(dir, 0o755); err == nil || f.isBelowFile(dir) {
			return err
		}
	}
	return err
}

// isBelowFile reports whether a path is a file, or one above it is.
func (f *files) isBelowFile(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if info, err := f.root.Lstat(dir); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// place makes the file at name the object of a key, if cond allows, and completes o. The file is
// moved or, on an error, left.
func (f *files) place(ctx context.Context, bucket, key, name string, o *object, cond condition) error {
	f.buckets.RLock()
	defer f.buckets.RUnlock()
	if err := f.bucketExists(bucket); err != nil {
		return err
	}
	lock := f.lock(bucket, key)
	lock.Lock()
	defer lock.Unlock()
	current, err := f.current(bucket, key)
	if err != nil {
		return err
	}
	if cond != nil {
		if err := cond(current); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err // no request waits for it
	}
	if isFolder(key) {
		o.Modified = f.now().UnixNano()
		if err := f.makeFolder(objectPath(bucket, key)); err != nil {
			return f.conflict(err, objectPath(bucket, key))
		}
		if err := f.writeRecord(bucket, key, *o); err != nil {
			return err
		}
		return f.makeFolder(objectPath(bucket, key)) // prune may have found it without the record
	}
	now := f.now()
	if err := f.root.Chtimes(name, now, now); err != nil {
		return err
	}
	info, err := f.root.Stat(name) // a file system may keep less of the time
	if err != nil {
		return err
	}
	o.Size, o.Modified = info.Size(), info.ModTime().UnixNano()
	objects := []object{*o}
	if current != nil {
		objects = append(objects, *current)
	}
	if err := f.writeRecord(bucket, key, objects...); err != nil {
		return err
	}
	to := objectPath(bucket, key)
	if err = f.move(name, to); err != nil && f.removeEmpty(to) {
		err = f.move(name, to)
	}
	return f.conflict(err, to)
}

// current returns the object that is to be replaced or deleted, under the key's lock; nil if there
// is none.
func (f *files) current(bucket, key string) (*object, error) {
	file, info, o, err := f.read(bucket, key)
	if errors.Is(err, errNoKey) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if file == nil {
		return o, nil
	}
	defer file.Close()
	if o == nil {
		etag, err := etagOf(file, nil)
		if err != nil {
			return nil, err
		}
		o = &object{ETag: etag, Size: info.Size(), Modified: info.ModTime().UnixNano()}
	}
	return o, nil
}

// amend changes the metadata of an object.
func (f *files) amend(bucket, key string, change func(*object)) error {
	lock := f.lock(bucket, key)
	lock.Lock()
	defer lock.Unlock()
	o, err := f.current(bucket, key)
	if err != nil {
		return err
	}
	if o == nil {
		return errNoKey
	}
	changed := *o
	changed.Headers, changed.User = maps.Clone(o.Headers), maps.Clone(o.User)
	change(&changed)
	return f.writeRecord(bucket, key, changed)
}

// remove deletes an object, if cond allows, and the directories that are empty then. One that isn't
// there is deleted already.
func (f *files) remove(bucket, key string, cond condition) error {
	lock := f.lock(bucket, key)
	lock.Lock()
	defer lock.Unlock()
	current, err := f.current(bucket, key)
	if err != nil || current == nil {
		return err
	}
	if cond != nil {
		if err := cond(current); err != nil {
			return err
		}
	}
	if !isFolder(key) {
		if err := f.root.Remove(objectPath(bucket, key)); err != nil {
			return err
		}
	}
	if err := f.root.Remove(recordPath(bucket, key)); ignoreMissing(err) != nil {
		return err
	}
	folder := key
	if !isFolder(key) {
		folder = parent(key)
	}
	f.prune(bucket, folder)
	return nil
}

// parent returns the folder of a key, with its slash; "" is the bucket.
func parent(key string) string {
	return key[:strings.LastIndex(strings.TrimSuffix(key, "/"), "/")+1]
}

// prune removes an empty directory, and those above that are empty then, up to one that is an
// object itself.
func (f *files) prune(bucket, folder string) {
	for ; folder != ""; folder = parent(folder) {
		if _, err := f.root.Lstat(recordPath(bucket, folder)); err == nil {
			return
		}
		if f.root.Remove(objectPath(bucket, folder)) != nil {
			return
		}
		// A mark may have been put on it in between. It is created again, because other goroutines
		// don't know that it was removed.
		if _, err := f.root.Lstat(recordPath(bucket, folder)); err == nil {
			_ = f.makeFolder(objectPath(bucket, folder))
			return
		}
	}
}

// removeEmpty removes directories without files, and reports whether none is left.
func (f *files) removeEmpty(dir string) bool {
	entries, err := fs.ReadDir(f.root.FS(), dir)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if !entry.IsDir() || !f.removeEmpty(dir+"/"+entry.Name()) {
			return false
		}
	}
	return f.root.Remove(dir) == nil
}

// removeBucket deletes a bucket that holds no object.
func (f *files) removeBucket(bucket string) error {
	f.buckets.Lock()
	defer f.buckets.Unlock()
	if err := f.bucketExists(bucket); err != nil {
		return err
	}
	if found, err := f.list(bucket, listing{max: 1}); err != nil || len(found.objects) > 0 {
		return errors.Join(err, errBucketNotEmpty)
	}
	if !f.removeEmpty(path.Join(bucketsDir, bucket)) {
		return errBucketNotEmpty
	}
	return f.root.RemoveAll(path.Join(recordsDir, bucket))
}

func (f *files) makeBucket(bucket string) error {
	if (storage.Ref{Bucket: bucket}).Validate() != nil {
		return errBucketName
	}
	err := f.root.Mkdir(path.Join(bucketsDir, bucket), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return errBucketOwned
	}
	return err
}

// notFound returns errNoKey where a path leads nowhere, or out of the folder.
func notFound(err error) error {
	if errors.Is(err, fs.ErrClosed) {
		return err
	}
	var number syscall.Errno
	if !errors.As(err, &number) { // os.Root's own: the path escapes
		return errNoKey
	}
	switch number {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.ENXIO:
		return errNoKey
	}
	return err
}

// conflict returns an error that names the file or directory which prevents a file at a path.
func (f *files) conflict(err error, path string) error {
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG):
		return errKeyTooLong
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EEXIST):
		if info, err := f.root.Lstat(path); err == nil && info.IsDir() {
			return errIsFolder
		}
		return errParentIsObject
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}
