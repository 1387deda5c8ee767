package house

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// doors are the imports of one file that the table doesn't allow.
func (t Table) doors(s source) (faults []string) {
	for _, imported := range s.imports {
		if room, ours := t.ours(imported); ours {
			if !t.open(s, room) {
				faults = append(faults, fmt.Sprintf("%s imports %s: no door%s from %s to it", s.path, room, forTests(s.test), s.room()))
			}
			continue
		}
		faults = append(faults, t.fenced(s, imported)...)
	}
	return faults
}

// door is a way from room to room that is gone, by code or by tests.
type door struct {
	from, to string
	test     bool
}

// unused are doors on the table that nobody goes through. One that only tests go through is a door for tests.
func (t Table) unused(sources []source) (faults []string) {
	gone := map[door]bool{}
	for _, s := range sources {
		for _, imported := range s.imports {
			if room, ours := t.ours(imported); ours {
				gone[door{s.room(), room, s.test}] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Rooms)) {
		room := t.Rooms[name]
		for _, d := range slices.Concat(t.from(name, room.Opens, false), t.from(name, room.Tests, true)) {
			if !gone[d] {
				faults = append(faults, fmt.Sprintf("room %s has a door%s to %s that nobody uses", d.from, forTests(d.test), d.to))
			}
		}
	}
	return faults
}

// from are the doors of a room to a list of others, without those that stand for nothing in particular.
func (t Table) from(name, rooms string, test bool) (doors []door) {
	for _, to := range strings.Fields(rooms) {
		if _, known := t.Rooms[to]; known {
			doors = append(doors, door{name, to, test})
		}
	}
	return doors
}

// ours turns an import path of this module into a room.
func (t Table) ours(imported string) (room string, ours bool) {
	if imported == t.Module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.Module+"/")
}

func (t Table) open(s source, room string) bool {
	from, to := t.Rooms[s.room()], t.Rooms[room]
	switch {
	case s.room() == room: // a test in a package of its own
		return true
	case in(from.Opens, room), in(from.Opens, "*") && !to.TestHelp:
		return true
	case !s.test:
		return false
	}
	return to.TestHelp || in(t.Tests, room) || in(from.Tests, room) || in(from.Tests, "*")
}

func (t Table) fenced(s source, imported string) (faults []string) {
	for _, fence := range t.Fences {
		if imported != fence.Library && !strings.HasPrefix(imported, fence.Library+"/") {
			continue
		}
		if in(fence.Rooms, s.room()) || s.test && in(fence.Tests, s.room()) {
			continue
		}
		faults = append(faults, fmt.Sprintf("%s imports %s: %s", s.path, imported, fence.who()))
	}
	return faults
}

func (f Fence) who() string {
	if f.Rooms == "" {
		return "nobody may"
	}
	return "only for " + strings.Join(strings.Fields(f.Rooms), ", ")
}

func forTests(test bool) string {
	if test {
		return " for tests"
	}
	return ""
}
