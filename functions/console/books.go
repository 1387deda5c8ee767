package console

import (
	"slices"
	"sync"
)

// book caches the answers to the last few expensive queries.
type book[K comparable, V any] struct {
	mu    sync.Mutex
	most  int
	pages map[K]V
	order []K // the most recently used last
}

func newBook[K comparable, V any](most int) *book[K, V] {
	return &book[K, V]{most: most, pages: map[K]V{}}
}

// entry returns the value for k; if there is none, open makes it.
func (b *book[K, V]) entry(k K, open func() V) V {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, there := b.pages[k]
	if !there {
		v = open()
	}
	b.put(k, v)
	return v
}

func (b *book[K, V]) look(k K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, there := b.pages[k]
	if there {
		b.order = append(slices.DeleteFunc(b.order, func(other K) bool { return other == k }), k)
	}
	return v, there
}

func (b *book[K, V]) note(k K, v V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(k, v)
}

// put stores v for k, and drops the least recently used value. The caller holds mu.
func (b *book[K, V]) put(k K, v V) {
	b.order = append(slices.DeleteFunc(b.order, func(other K) bool { return other == k }), k)
	b.pages[k] = v
	if len(b.order) > b.most {
		delete(b.pages, b.order[0])
		b.order = slices.Delete(b.order, 0, 1)
	}
}
