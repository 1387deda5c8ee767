package storagetest

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// Memory is a storage.Store in memory. Its methods may be called concurrently.
type Memory struct {
	mu      sync.Mutex
	buckets map[string]bool // nil: every bucket exists
	objects map[storage.Ref]memoryObject
	now     func() time.Time
}

type memoryObject struct {
	storage.Object
	data []byte // never changed
}

var _ storage.Store = (*Memory)(nil)

// NewMemory returns an empty store with the buckets named. With none named, every bucket exists.
func NewMemory(buckets ...string) *Memory {
	m := &Memory{objects: make(map[storage.Ref]memoryObject), now: time.Now}
	for _, b := range buckets {
		if m.buckets == nil {
			m.buckets = make(map[string]bool)
		}
		m.buckets[b] = true
	}
	return m
}

func (m *Memory) String() string { return "memory" }

// List implements storage.Store. It yields the objects that existed when it began.
func (m *Memory) List(ctx context.Context, prefix storage.Ref) iter.Seq2[storage.Object, error] {
	return func(yield func(storage.Object, error) bool) {
		objects, err := m.snapshot(ctx, prefix)
		if err != nil {
			yield(storage.Object{}, fmt.Errorf("list %s: %w", prefix, err))
			return
		}
		for _, o := range objects {
			if err := ctx.Err(); err != nil {
				yield(storage.Object{}, fmt.Errorf("list %s: %w", prefix, err))
				return
			}
			if !yield(o.Object, nil) {
				return
			}
		}
	}
}

func (m *Memory) snapshot(ctx context.Context, prefix storage.Ref) ([]memoryObject, error) {
	if err := m.check(ctx, prefix); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	objects := slices.DeleteFunc(slices.Collect(maps.Values(m.objects)), func(o memoryObject) bool {
		return o.Ref.Bucket != prefix.Bucket || !strings.HasPrefix(o.Ref.Key, prefix.Key)
	})
	slices.SortFunc(objects, func(a, b memoryObject) int { return strings.Compare(a.Ref.Key, b.Ref.Key) })
	return objects, nil
}

// check returns the error of a bad address or an ended context before anything is done.
func (m *Memory) check(ctx context.Context, ref storage.Ref) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := ref.Validate(); err != nil {
		return err
	}
	if m.buckets != nil && !m.buckets[ref.Bucket] {
		return fmt.Errorf("bucket: %w", storage.ErrNotFound)
	}
	return nil
}

func (m *Memory) checkObject(ctx context.Context, ref storage.Ref) error {
	if strings.HasSuffix(ref.Key, "/") {
		return fmt.Errorf("%w: names a folder, not an object", storage.ErrBadRef)
	}
	return m.checkKey(ctx, ref)
}

func (m *Memory) checkKey(ctx context.Context, ref storage.Ref) error {
	if ref.Key == "" {
		return fmt.Errorf("%w: names a bucket, not an object", storage.ErrBadRef)
	}
	return m.check(ctx, ref)
}

func (m *Memory) find(ctx context.Context, ref storage.Ref) (memoryObject, error) {
	if err := m.checkObject(ctx, ref); err != nil {
		return memoryObject{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[ref]
	if !ok {
		return memoryObject{}, storage.ErrNotFound
	}
	return o, nil
}

// Stat implements storage.Store.
func (m *Memory) Stat(ctx context.Context, ref storage.Ref) (storage.Object, error) {
	o, err := m.find(ctx, ref)
	if err != nil {
		return storage.Object{}, fmt.Errorf("stat %s: %w", ref, err)
	}
	return o.Object, nil
}

// Open implements storage.Store.
func (m *Memory) Open(ctx context.Context, ref storage.Ref, ifETag string) (io.ReadCloser, storage.Object, error) {
	o, err := m.find(ctx, ref)
	if err == nil && ifETag != "" && o.ETag != ifETag {
		err = storage.ErrChanged
	}
	if err != nil {
		return nil, storage.Object{}, fmt.Errorf("open %s: %w", ref, err)
	}
	return io.NopCloser(&untilDone{ctx: ctx, r: bytes.NewReader(o.data)}), o.Object, nil
}

// untilDone is a stream that ends with the context of its request.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u *untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// Put implements storage.Store.
func (m *Memory) Put(ctx context.Context, ref storage.Ref, body io.Reader, size int64) (storage.Object, error) {
	if err := m.checkObject(ctx, ref); err != nil {
		return storage.Object{}, fmt.Errorf("put %s: %w", ref, err)
	}
	body = &untilDone{ctx: ctx, r: body}
	if size >= 0 {
		body = io.LimitReader(body, size)
	}
	data, err := io.ReadAll(body)
	if err == nil && size >= 0 && int64(len(data)) < size {
		err = fmt.Errorf("body ended after %d of %d bytes", len(data), size)
	}
	if err != nil {
		return storage.Object{}, fmt.Errorf("put %s: %w", ref, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.set(ref, data), nil
}

// PutIf implements storage.Store.
func (m *Memory) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	if err := m.checkObject(ctx, ref); err != nil {
		return storage.Object{}, fmt.Errorf("put %s: %w", ref, err)
	}
	if err := cond.Validate(); err != nil {
		return storage.Object{}, fmt.Errorf("put %s: %w", ref, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, there := m.objects[ref]
	if cond.IfAbsent == there || (!cond.IfAbsent && o.ETag != cond.IfMatch) {
		return storage.Object{}, fmt.Errorf("put %s: %w", ref, storage.ErrPrecondition)
	}
	return m.set(ref, bytes.Clone(body)), nil
}

// set requires the lock.
func (m *Memory) set(ref storage.Ref, data []byte) storage.Object {
	sum := md5.Sum(data)
	o := storage.Object{Ref: ref, Size: int64(len(data)), ETag: hex.EncodeToString(sum[:]), Modified: m.now()}
	m.objects[ref] = memoryObject{o, data}
	return o
}

// Delete implements storage.Store.
func (m *Memory) Delete(ctx context.Context, ref storage.Ref) error {
	if err := m.checkKey(ctx, ref); err != nil {
		return fmt.Errorf("delete %s: %w", ref, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, ref)
	return nil
}
