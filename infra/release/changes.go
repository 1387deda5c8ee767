package main

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// kinds are the words that a file of infra/changelog/ begins with, in the order of the list.
var kinds = []string{"Added", "Changed", "Fixed", "Removed"}

// release matches the names of releases; every other version is a commit between them.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// commits matches the end of what git describe prints for a commit after a tag, and for files that
// are not committed: such a name is not a pre-release.
var commits = regexp.MustCompile(`(-\d+-g[0-9a-f]+|-dirty)$`)

// changes prints the folder of a version, or the folder unreleased of a commit that is no release,
// as Markdown. A release without a folder is an error: its files were not moved there.
func changes(w io.Writer, changelog fs.FS, version string) error {
	folder, isRelease := "unreleased", release.MatchString(version) && !commits.MatchString(version)
	if isRelease {
		folder = version
	}
	names, err := fs.Glob(changelog, path.Join(folder, "*.md"))
	if err != nil {
		return err
	}
	if isRelease && len(names) == 0 {
		return fmt.Errorf("infra/changelog/%s has no files: move those of infra/changelog/unreleased there before %s is tagged", folder, version)
	}
	byKind := map[string][]string{}
	for _, name := range names {
		kind, change, err := readChange(changelog, name)
		if err != nil {
			return err
		}
		byKind[kind] = append(byKind[kind], change)
	}
	fmt.Fprintf(w, "# Stoker %s\n", version)
	for _, kind := range kinds {
		if len(byKind[kind]) > 0 {
			fmt.Fprintf(w, "\n## %s\n\n%s\n", kind, strings.Join(byKind[kind], "\n"))
		}
	}
	return nil
}

// readChange reads a file: its kind, and the change as an item of a list, with what belongs to it
// below.
func readChange(changelog fs.FS, name string) (kind, change string, err error) {
	text, err := fs.ReadFile(changelog, name)
	if err != nil {
		return "", "", err
	}
	kind, change, _ = strings.Cut(strings.TrimSpace(string(text)), ": ")
	if !slices.Contains(kinds, kind) {
		return "", "", fmt.Errorf("infra/changelog/%s: line 1: expected one of %s and a colon", name, strings.Join(kinds, ", "))
	}
	lines := strings.Split(change, "\n")
	for i := range lines {
		switch {
		case i == 0:
			lines[i] = "- " + lines[i]
		case strings.TrimSpace(lines[i]) != "":
			lines[i] = "  " + lines[i]
		}
	}
	return kind, strings.Join(lines, "\n"), nil
}
