package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
)

// PutFile sends one local file.
func PutFile(ctx context.Context, store Store, ref Ref, path string) (Object, error) {
	file, err := os.Open(path)
	if err != nil {
		return Object{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Object{}, err
	}
	if !info.Mode().IsRegular() {
		return Object{}, fmt.Errorf("%s: not a regular file", path)
	}
	return store.Put(ctx, ref, file, info.Size())
}

// hashed computes the SHA-256 of the bytes read through it. A Store may seek to the beginning to
// send again; then the hash starts over too. It does not implement io.ReaderAt, because parts out
// of order can't be hashed.
type hashed struct {
	file io.ReadSeeker
	hash hash.Hash
	size int64 // bytes read so far
}

func newHashed(file io.ReadSeeker) *hashed { return &hashed{file: file, hash: sha256.New()} }

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.file.Read(p)
	h.hash.Write(p[:n])
	h.size += int64(n)
	return n, err
}

func (h *hashed) Seek(offset int64, whence int) (int64, error) {
	at, err := h.file.Seek(offset, whence)
	switch {
	case err != nil || at == h.size:
		return at, err
	case at == 0:
		h.hash.Reset()
		h.size = 0
		return 0, nil
	}
	return at, fmt.Errorf("seek to %d: only back to the beginning while hashing", at)
}

func (h *hashed) sum() string { return hex.EncodeToString(h.hash.Sum(nil)) }
