// Package cache keeps what is expensive to read: a Cache the answers to the last few queries, a
// Poll the last answer to one. Read Cache first.
package cache

import (
	"container/list"
	"sync"
)

// Cache keeps the answers to the last few expensive queries. It is safe for concurrent use, and
// takes constant time however many answers it has.
type Cache[K comparable, V any] struct {
	mu      sync.Mutex
	most    int
	answers map[K]*list.Element // of answer
	order   *list.List          // the most recently used last
}

type answer[K comparable, V any] struct {
	key   K
	value V
}

// New returns a Cache of at most so many answers.
func New[K comparable, V any](most int) *Cache[K, V] {
	return &Cache[K, V]{most: most, answers: map[K]*list.Element{}, order: list.New()}
}

// Entry returns the value for k; if there is none, open makes it.
func (c *Cache[K, V]) Entry(k K, open func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, there := c.find(k)
	if !there {
		v = open()
		c.store(k, v)
	}
	return v
}

// Get returns the value for k, if there is one.
func (c *Cache[K, V]) Get(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(k)
}

// Put stores v for k.
func (c *Cache[K, V]) Put(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store(k, v)
}

// find returns the value for k, if there is one. The caller holds mu.
func (c *Cache[K, V]) find(k K) (v V, there bool) {
	at, there := c.answers[k]
	if !there {
		return v, false
	}
	c.order.MoveToBack(at)
	return at.Value.(answer[K, V]).value, true
}

// store stores v for k, and drops the least recently used value. The caller holds mu.
func (c *Cache[K, V]) store(k K, v V) {
	if at, there := c.answers[k]; there {
		c.order.Remove(at)
	}
	c.answers[k] = c.order.PushBack(answer[K, V]{k, v})
	if c.order.Len() > c.most {
		oldest := c.order.Remove(c.order.Front()).(answer[K, V])
		delete(c.answers, oldest.key)
	}
}
