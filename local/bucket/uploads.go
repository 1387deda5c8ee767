package bucket

import (
	"context"
	"crypto/md5" // what S3's ETags are
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Objects that are sent in parts: <uploads>/<id>/upload and <uploads>/<id>/<number>-<etag>.

const (
	uploadFile   = "upload"
	maxParts     = 10000
	minPartBytes = 5 << 20
)

// upload is an object before its parts are put together.
type upload struct {
	ID        string    `json:"-"`
	Bucket    string    `json:"bucket"`
	Key       string    `json:"key"`
	Initiated time.Time `json:"initiated"`
	Object    object    `json:"object"`
}

type part struct {
	number   int
	etag     string
	size     int64
	modified time.Time
}

func (p part) file() string { return fmt.Sprintf("%05d-%s", p.number, p.etag) }

func uploadPath(id string, file ...string) string {
	return strings.Join(append([]string{uploadsDir, id}, file...), "/")
}

// beginUpload makes an upload.
func (f *files) beginUpload(u upload) (string, error) {
	data, err := json.Marshal(u)
	if err != nil {
		return "", err
	}
	id := rand.Text()
	if err := f.root.Mkdir(uploadPath(id), 0o700); err != nil {
		return "", err
	}
	return id, f.root.WriteFile(uploadPath(id, uploadFile), data, 0o600)
}

// upload returns one, or errNoUpload.
func (f *files) upload(id string) (*upload, error) {
	if strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" || id == "" {
		return nil, errNoUpload
	}
	data, err := f.root.ReadFile(uploadPath(id, uploadFile))
	if err != nil {
		return nil, errors.Join(errNoUpload, ignoreMissing(err))
	}
	u := upload{ID: id}
	return &u, json.Unmarshal(data, &u)
}

// uploadOf returns one of a key.
func (f *files) uploadOf(id, bucket, key string) (*upload, error) {
	u, err := f.upload(id)
	if err == nil && (u.Bucket != bucket || u.Key != key) {
		return nil, errNoUpload
	}
	return u, err
}

// parts returns an upload's, by their numbers.
func (f *files) parts(id string) ([]part, error) {
	entries, err := fs.ReadDir(f.root.FS(), uploadPath(id))
	if err != nil {
		return nil, errors.Join(errNoUpload, ignoreMissing(err))
	}
	var parts []part
	for _, entry := range entries {
		number, etag, found := strings.Cut(entry.Name(), "-")
		n, err := strconv.Atoi(number)
		if !found || err != nil {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // replaced meanwhile
		}
		parts = append(parts, part{n, etag, info.Size(), info.ModTime()})
	}
	slices.SortFunc(parts, func(a, b part) int { return a.number - b.number })
	return parts, nil
}

// addPart moves the file at name to an upload, in place of one with the same number.
func (f *files) addPart(id string, p part, name string) error {
	lock := f.uploadLock(id)
	lock.Lock()
	defer lock.Unlock()
	parts, err := f.parts(id)
	if err != nil {
		return err
	}
	if err := f.root.Rename(name, uploadPath(id, p.file())); err != nil {
		return errors.Join(errNoUpload, ignoreMissing(err))
	}
	for _, other := range parts {
		if other.number == p.number && other.etag != p.etag {
			if err := f.root.Remove(uploadPath(id, other.file())); ignoreMissing(err) != nil {
				return err
			}
		}
	}
	return nil
}

// wantedPart is a part that the client requests for the object.
type wantedPart struct {
	PartNumber int
	ETag       string
}

// complete puts an upload's parts together, in one file, and makes that the object.
func (f *files) complete(ctx context.Context, u *upload, wanted []wantedPart, cond condition) (*object, error) {
	lock := f.uploadLock(u.ID)
	lock.Lock()
	defer lock.Unlock()
	there, err := f.parts(u.ID)
	if err != nil {
		return nil, err
	}
	parts, err := choose(there, wanted)
	if err != nil {
		return nil, err
	}
	file, name, err := f.partial()
	if err != nil {
		return nil, err
	}
	o := u.Object
	err = f.join(ctx, file, u.ID, parts, &o)
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.place(ctx, u.Bucket, u.Key, name, &o, cond)
	}
	if err != nil {
		return nil, errors.Join(err, f.root.Remove(name))
	}
	return &o, f.root.RemoveAll(uploadPath(u.ID))
}

func choose(there []part, wanted []wantedPart) ([]part, error) {
	if len(wanted) == 0 {
		return nil, errMalformedXML
	}
	parts := make([]part, 0, len(wanted))
	for i, want := range wanted {
		if i > 0 && want.PartNumber <= wanted[i-1].PartNumber {
			return nil, errPartOrder
		}
		at := slices.IndexFunc(there, func(p part) bool {
			return p.number == want.PartNumber && p.etag == strings.Trim(want.ETag, `"`)
		})
		if at < 0 {
			return nil, errInvalidPart
		}
		if i < len(wanted)-1 && there[at].size < minPartBytes {
			return nil, errTooSmall
		}
		parts = append(parts, there[at])
	}
	return parts, nil
}

// join writes parts to a file, one behind the other.
func (f *files) join(ctx context.Context, to *os.File, id string, parts []part, o *object) error {
	etags := md5.New()
	o.Parts = nil
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		sum, err := hex.DecodeString(p.etag)
		if err != nil {
			return err
		}
		etags.Write(sum)
		o.Parts = append(o.Parts, p.size)
		from, err := f.root.Open(uploadPath(id, p.file()))
		if err != nil {
			return err
		}
		n, err := io.Copy(to, from)
		if err = errors.Join(err, from.Close()); err != nil {
			return err
		}
		if n != p.size {
			return io.ErrUnexpectedEOF
		}
	}
	o.ETag = fmt.Sprintf("%x-%d", etags.Sum(nil), len(parts))
	return nil
}

// abort removes an upload and its parts.
func (f *files) abort(id string) error {
	lock := f.uploadLock(id)
	lock.Lock()
	defer lock.Unlock()
	return f.root.RemoveAll(uploadPath(id))
}

// uploads returns those of a bucket whose key begins with prefix, in the order of keys.
func (f *files) uploads(bucket, prefix string) ([]upload, error) {
	entries, err := fs.ReadDir(f.root.FS(), uploadsDir)
	if err != nil {
		return nil, err
	}
	var uploads []upload
	for _, entry := range entries {
		u, err := f.upload(entry.Name())
		if err == nil && u.Bucket == bucket && strings.HasPrefix(u.Key, prefix) {
			uploads = append(uploads, *u)
		}
	}
	slices.SortFunc(uploads, func(a, b upload) int { return strings.Compare(a.Key+"\x00"+a.ID, b.Key+"\x00"+b.ID) })
	return uploads, nil
}

// removeOldUploads removes those that were not changed since.
func (f *files) removeOldUploads(since time.Time) error {
	entries, err := fs.ReadDir(f.root.FS(), uploadsDir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.ModTime().Before(since) {
			if err := f.root.RemoveAll(uploadPath(entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
