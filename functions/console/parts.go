package console

// whole notes that a part of the bus was read to its end; from then on it is followed.
func (m *model) whole(part string) {
	m.change(func() { m.read[part] = true; delete(m.away, part) })
}

// lost notes that a part of the bus can't be read now.
func (m *model) lost(part string, err error) {
	m.change(func() { m.away[part] = err.Error() })
}

// cleared notes that a part of the bus can be read again.
func (m *model) cleared(part string) {
	m.mu.RLock()
	_, away := m.away[part]
	m.mu.RUnlock()
	if away {
		m.change(func() { delete(m.away, part) })
	}
}
