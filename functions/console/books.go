package console

import (
	"slices"
	"sync"
)

// book keeps the answers to the last few questions that cost something to answer.
type book[K comparable, V any] struct {
	mu    sync.Mutex
	most  int
	pages map[K]V
	order []K // the one asked for last at the end
}

func newBook[K comparable, V any](most int) *book[K, V] {
	return &book[K, V]{most: most, pages: map[K]V{}}
}

// entry is what is noted for k; where nothing is, what open makes of it, which is noted.
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

// put notes v for k, and forgets what was asked for longest ago. The caller holds mu.
func (b *book[K, V]) put(k K, v V) {
	b.order = append(slices.DeleteFunc(b.order, func(other K) bool { return other == k }), k)
	b.pages[k] = v
	if len(b.order) > b.most {
		delete(b.pages, b.order[0])
		b.order = slices.Delete(b.order, 0, 1)
	}
}
