package snapshot

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Limits of what LeftBehind reads.
const (
	maxSearched      = 200     // Python files
	maxSearchedBytes = 1 << 20 // bytes of each
)

// Left are the files and directories next to a module file that are not copied. Names of
// directories end with a slash.
type Left struct {
	Named []string // by its Python code
	// The rest, if the code finds files in another way: by a name that it assembles, or in a
	// directory.
	Other []string
}

// looks matches code that finds files other than by their names.
var looks = regexp.MustCompile(`\b(?:i?glob|rglob|listdir|scandir|iterdir|walk|list_directory|getcwd|cwd|__file__|__path__|get_data|importlib[._]resources|importlib import resources)\b`)

// LeftBehind returns the files next to a module file that its Python code may read and that are not
// copied: of a module file only the .py files of its directory are. It is empty for directories and
// archives, which are copied whole. The result is likely, not certain, because it comes from a
// search of the text.
func LeftBehind(path string) (left Left, err error) {
	if !isModuleFile(path) {
		return left, nil
	}
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return left, err
	}
	var code strings.Builder
	candidates := map[string]*regexp.Regexp{}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case name == filepath.Base(path), strings.HasSuffix(name, python) && !isLeftOut(name) && isFile(dir, entry):
			if code.Len() < maxSearched*maxSearchedBytes {
				text, err := readStart(filepath.Join(dir, name))
				if err != nil {
					return left, err
				}
				code.WriteString(text)
			}
		case isLeftOut(name):
		case entry.IsDir(): // "data", "data/words.txt", from data import x
			quoted := regexp.QuoteMeta(name)
			candidates[name+"/"] = regexp.MustCompile(fmt.Sprintf(`["'/]%s["'/]|(?m)^\s*(?:from|import)\s+\.?%s\b`, quoted, quoted))
		case isFile(dir, entry):
			candidates[name] = regexp.MustCompile(`["'/]` + regexp.QuoteMeta(name) + `["']`)
		}
	}
	text := code.String()
	open := looks.MatchString(text)
	for _, name := range slices.Sorted(maps.Keys(candidates)) {
		switch {
		case candidates[name].MatchString(text):
			left.Named = append(left.Named, name)
		case open || puts(text, name):
			left.Other = append(left.Other, name)
		}
	}
	return left, nil
}

// puts reports whether code may assemble the name of a file: it contains a string with the name's
// end, like ".txt" or "%s.txt", or only with its beginning.
func puts(code, name string) bool {
	extension := filepath.Ext(name)
	if extension == "" {
		return false
	}
	return regexp.MustCompile(fmt.Sprintf(`%s["']|["'/]%s\.?["']`, regexp.QuoteMeta(extension), regexp.QuoteMeta(strings.TrimSuffix(name, extension)))).MatchString(code)
}

func readStart(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSearchedBytes))
	return string(text) + "\n", err
}
