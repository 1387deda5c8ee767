package snapshot

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Bounds of what LeftBehind reads.
const (
	maxSearched      = 200     // files of Python
	maxSearchedBytes = 1 << 20 // of each
)

// LeftBehind names the files and folders beside a module file that its Python code names and that do not come along: of a module file
// only the .py files of its folder do. It is empty for folders and archives, of which all comes. What it finds is likely, not certain: it
// searches the text.
func LeftBehind(path string) ([]string, error) {
	if !isModuleFile(path) {
		return nil, nil
	}
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
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
					return nil, err
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
	var left []string
	for name, mention := range candidates {
		if mention.MatchString(code.String()) {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left, nil
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
