package house

import (
	"fmt"
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
