package console

import (
	"container/list"
	"sync"
)

// book caches the answers to the last few expensive queries. It is safe for concurrent use, and
// takes constant time however many answers it has.
type book[K comparable, V any] struct {
	mu      sync.Mutex
	most    int
	answers map[K]*list.Element // of answer
	order   *list.List          // the most recently used last
}

type answer[K comparable, V any] struct {
	key   K
	value V
}

func newBook[K comparable, V any](most int) *book[K, V] {
	return &book[K, V]{most: most, answers: map[K]*list.Element{}, order: list.New()}
}

// entry returns the value for k; if there is none, open makes it.
func (b *book[K, V]) entry(k K, open func() V) V {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, there := b.get(k)
	if !there {
		v = open()
		b.put(k, v)
	}
	return v
}

func (b *book[K, V]) look(k K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.get(k)
}

func (b *book[K, V]) note(k K, v V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(k, v)
}

// get returns the value for k, if there is one. The caller holds mu.
func (b *book[K, V]) get(k K) (v V, there bool) {
	at, there := b.answers[k]
	if !there {
		return v, false
	}
	b.order.MoveToBack(at)
	return at.Value.(answer[K, V]).value, true
}

// put stores v for k, and drops the least recently used value. The caller holds mu.
func (b *book[K, V]) put(k K, v V) {
	if at, there := b.answers[k]; there {
		b.order.Remove(at)
	}
	b.answers[k] = b.order.PushBack(answer[K, V]{k, v})
	if b.order.Len() > b.most {
		oldest := b.order.Remove(b.order.Front()).(answer[K, V])
		delete(b.answers, oldest.key)
	}
}
