package house

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Faults says where the code under root and the table differ: one line each, empty when the code keeps to the map.
func (t Table) Faults(root fs.FS) ([]string, error) {
	skip := ignored(root)
	sources, err := read(root, skip)
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	top, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, fmt.Errorf("read the top folder: %w", err)
	}
	faults := slices.Concat(
		t.strangers(top, skip), t.unknown(sources), t.empty(sources), t.uncommented(sources), t.unused(sources))
	for _, s := range sources {
		faults = append(faults, t.doors(s)...)
	}
	return faults, nil
}

// strangers are entries at the top that have no place there.
func (t Table) strangers(top []fs.DirEntry, skip func(name string) bool) (faults []string) {
	for _, entry := range top {
		if name := entry.Name(); !in(t.TopLevel, name) && !skip(name) {
			faults = append(faults, fmt.Sprintf("%s: not on the list of what may stand at the top", name))
		}
	}
	return faults
}

// unknown are folders with Go files that are no room.
func (t Table) unknown(sources []source) (faults []string) {
	seen := map[string]bool{}
	for _, s := range sources {
		if _, known := t.Rooms[s.room()]; !known && !seen[s.room()] {
			faults = append(faults, fmt.Sprintf("%s: a folder with Go files that is no room on the table", s.room()))
		}
		seen[s.room()] = true
	}
	return faults
}

// empty are names on the table that stand for no folder with Go files, or for no room.
func (t Table) empty(sources []source) (faults []string) {
	exists := map[string]bool{}
	for _, s := range sources {
		exists[s.room()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(t.Rooms)) {
		if !exists[name] {
			faults = append(faults, fmt.Sprintf("%s: a room on the table without Go files", name))
		}
		faults = append(faults, t.nowhere("room "+name, t.Rooms[name].Opens+" "+t.Rooms[name].Tests)...)
	}
	for _, fence := range t.Fences {
		faults = append(faults, t.nowhere("fence of "+fence.Library, fence.Rooms+" "+fence.Tests)...)
	}
	return append(faults, t.nowhere("list of rooms for tests", t.Tests)...)
}

func (t Table) nowhere(who, rooms string) (faults []string) {
	for _, room := range strings.Fields(rooms) {
		if _, known := t.Rooms[room]; !known && room != "*" {
			faults = append(faults, fmt.Sprintf("%s names %s, which is no room on the table", who, room))
		}
	}
	return faults
}

// uncommented are rooms in which no file opens with a package comment in Go's form.
func (t Table) uncommented(sources []source) (faults []string) {
	good, packages := map[string]bool{}, map[string]string{}
	for _, s := range sources {
		packages[s.room()] = s.pkg
		if s.comment != "" && (s.pkg == "main" || strings.HasPrefix(s.comment, "Package "+s.pkg+" ")) {
			good[s.room()] = true
		}
	}
	for _, room := range slices.Sorted(maps.Keys(packages)) {
		if !good[room] {
			faults = append(faults, fmt.Sprintf("%s: no package comment that begins with %q", room, "Package "+packages[room]))
		}
	}
	return faults
}

// in tells whether name is one of a list written with spaces.
func in(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
