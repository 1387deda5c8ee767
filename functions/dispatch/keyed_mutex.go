package dispatch

import "sync"

// keyedMutex is a mutex for each key. The zero value is ready to use.
type keyedMutex struct {
	mu   sync.Mutex
	held map[string]*keyHeld
}

// keyHeld is a key that a goroutine holds or waits for.
type keyHeld struct {
	free  chan struct{} // holds one value while no goroutine has the key
	users int
}

// lock waits until no other goroutine holds key. It returns the function that unlocks it.
func (k *keyedMutex) lock(key string) (unlock func()) {
	k.mu.Lock()
	if k.held == nil {
		k.held = map[string]*keyHeld{}
	}
	one := k.held[key]
	if one == nil {
		one = &keyHeld{free: make(chan struct{}, 1)}
		one.free <- struct{}{}
		k.held[key] = one
	}
	one.users++
	k.mu.Unlock()
	<-one.free
	return func() {
		one.free <- struct{}{}
		k.mu.Lock()
		defer k.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(k.held, key)
		}
	}
}
