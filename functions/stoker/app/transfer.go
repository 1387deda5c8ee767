package app

import (
	"context"
	"io"

	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

// Counted returns a store whose transfers are counted as work, which may be nil.
func Counted(store storage.Store, work *terminal.Work) storage.Store {
	if work == nil {
		return store
	}
	return countedStore{store, work}
}

type countedStore struct {
	storage.Store
	work *terminal.Work
}

// Open implements storage.Store.
func (s countedStore) Open(ctx context.Context, ref storage.Ref, ifETag string) (io.ReadCloser, storage.Object, error) {
	body, object, err := s.Store.Open(ctx, ref, ifETag)
	if err != nil {
		return body, object, err
	}
	return s.work.Counted(body), object, nil
}

// Put implements storage.Store.
func (s countedStore) Put(ctx context.Context, ref storage.Ref, body io.Reader, size int64) (storage.Object, error) {
	if file, ok := body.(sentFile); ok {
		body = &countedFile{sentFile: file, work: s.work}
	}
	return s.Store.Put(ctx, ref, body, size)
}

// sentFile is the body of a file, which a store may read in several ways.
type sentFile interface {
	io.ReadSeeker
	io.ReaderAt
}

// countedFile counts what is read of a file. What is read again from its beginning counts once.
type countedFile struct {
	sentFile
	work *terminal.Work
	at   int64 // where the next Read begins
	most int64 // that was counted of Reads
}

func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.sentFile.Read(p)
	f.at += int64(n)
	if f.at > f.most {
		f.work.Add(f.at - f.most)
		f.most = f.at
	}
	return n, err
}

func (f *countedFile) Seek(offset int64, from int) (int64, error) {
	at, err := f.sentFile.Seek(offset, from)
	if err == nil {
		f.at = at
	}
	return at, err
}

// ReadAt may be called concurrently, for different parts.
func (f *countedFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.sentFile.ReadAt(p, offset)
	f.work.Add(int64(n))
	return n, err
}
