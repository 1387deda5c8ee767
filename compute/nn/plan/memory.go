package plan

// place is the position of a value.
type place struct {
	home Home
	at   int
}

// memory assigns a position to every value: memory that is no longer needed is freed, and if a
// kernel may write over an operand that nothing else needs, it does.
type memory struct {
	floats, ints, strings arena
	// Index of the instruction that needs each value's memory last.
	last   map[*value]int
	fixed  map[*value]bool
	places map[*value]place
	spans  map[*value]span // of the arena
}

const forever = int(^uint(0) >> 1)

func newMemory(order, inputs []*value, e *ends) *memory {
	m := &memory{last: map[*value]int{}, fixed: map[*value]bool{}, places: map[*value]place{}, spans: map[*value]span{}}
	for i, v := range order {
		for _, x := range v.needs() {
			m.last[x.base()] = max(m.last[x.base()], i)
		}
		m.last[v.base()] = max(m.last[v.base()], i)
	}
	for _, v := range e.kept {
		m.last[v.base()], m.fixed[v.base()] = forever, true
	}
	for v, at := range e.grads {
		m.places[v], m.fixed[v] = place{Grads, at}, true
	}
	for _, v := range inputs {
		m.last[v], m.fixed[v] = forever, true
		m.take(v)
	}
	return m
}

// lay assigns positions in the order in which values are computed.
func (m *memory) lay(order []*value) map[*value]place {
	for i, v := range order {
		if v.source == computed && v.base() == v {
			if _, ok := m.places[v]; !ok && !m.over(v, i) {
				m.take(v)
			}
		}
		m.release(v, i)
	}
	return m.places
}

// over lets v replace an operand that is needed here for the last time.
func (m *memory) over(v *value, i int) bool {
	for _, x := range inPlace(v) {
		x = x.base()
		s, ok := m.spans[x]
		if !ok || m.fixed[x] || m.last[x] != i || x.len() != v.len() || m.fixed[v] {
			continue
		}
		m.spans[v], m.places[v] = s, m.places[x]
		delete(m.spans, x)
		return true
	}
	return false
}

func (m *memory) take(v *value) {
	s := m.arena(v).take(v.len())
	m.spans[v], m.places[v] = s, place{Arena, s.from}
}

// release frees the memory that instruction i needed for the last time.
func (m *memory) release(v *value, i int) {
	for _, x := range append(v.needs(), v) {
		x = x.base()
		if s, ok := m.spans[x]; ok && m.last[x] == i {
			m.arena(x).give(s)
			delete(m.spans, x)
		}
	}
}

func (m *memory) arena(v *value) *arena {
	switch v.kind {
	case Int:
		return &m.ints
	case String:
		return &m.strings
	}
	return &m.floats
}

// arena is memory that grows at its end when no gap is large enough.
type arena struct {
	size int
	gaps []span // in order, none adjacent to another
}

type span struct{ from, to int }

// line is the alignment of positions: 64 bytes, as wide as a cache line and as the widest register.
const line = 16

// take returns the smallest gap that is large enough.
func (a *arena) take(n int) span {
	n = (n + line - 1) / line * line
	best := -1
	for i, g := range a.gaps {
		if g.to-g.from >= n && (best < 0 || g.to-g.from < a.gaps[best].to-a.gaps[best].from) {
			best = i
		}
	}
	if best < 0 {
		return a.grow(n)
	}
	g := &a.gaps[best]
	s := span{g.from, g.from + n}
	g.from = s.to
	if g.from == g.to {
		a.gaps = append(a.gaps[:best], a.gaps[best+1:]...)
	}
	return s
}

// grow adds the missing elements at the end.
func (a *arena) grow(n int) span {
	from := a.size
	if last := len(a.gaps) - 1; last >= 0 && a.gaps[last].to == a.size {
		from = a.gaps[last].from
		a.gaps = a.gaps[:last]
	}
	a.size = from + n
	return span{from, a.size}
}

// give makes s a gap, joined with adjacent gaps.
func (a *arena) give(s span) {
	i := 0
	for i < len(a.gaps) && a.gaps[i].from < s.from {
		i++
	}
	a.gaps = append(a.gaps[:i], append([]span{s}, a.gaps[i:]...)...)
	if i+1 < len(a.gaps) && a.gaps[i].to == a.gaps[i+1].from {
		a.gaps[i].to = a.gaps[i+1].to
		a.gaps = append(a.gaps[:i+1], a.gaps[i+2:]...)
	}
	if i > 0 && a.gaps[i-1].to == a.gaps[i].from {
		a.gaps[i-1].to = a.gaps[i].to
		a.gaps = append(a.gaps[:i], a.gaps[i+1:]...)
	}
}
