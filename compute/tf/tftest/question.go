package tftest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// question is a request whose paths are replaced by the contents of their files, so that it has the
// same digest in every directory.
type question struct {
	key   string
	paths []string // the existing files and folders that the input names
	trees []map[string][32]byte
}

func questionOf(r request) (question, error) {
	text, err := json.Marshal(r.Input)
	if err != nil {
		return question{}, fmt.Errorf("encode input of script: %w", err)
	}
	var input any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&input); err != nil {
		return question{}, fmt.Errorf("decode input of script: %w", err)
	}
	q := question{}
	plain, err := json.Marshal(q.withoutPaths(input))
	if err != nil {
		return question{}, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", r.Script, plain)
	for i, path := range q.paths {
		tree, err := digestTree(path)
		if err != nil {
			return question{}, err
		}
		q.trees = append(q.trees, tree)
		sorted, err := json.Marshal(tree)
		if err != nil {
			return question{}, err
		}
		fmt.Fprintf(h, "%d %s\n", i, sorted)
	}
	q.key = fmt.Sprintf("%x", h.Sum(nil)[:16])
	return q, nil
}

// withoutPaths replaces each string that begins with an existing path by that path's number.
func (q *question) withoutPaths(v any) any {
	switch v := v.(type) {
	case map[string]any:
		plain := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			plain[name] = q.withoutPaths(v[name])
		}
		return plain
	case []any:
		plain := make([]any, len(v))
		for i, e := range v {
			plain[i] = q.withoutPaths(e)
		}
		return plain
	case string:
		if path, ok := existing(v); ok {
			return q.placeholder(path) + strings.TrimPrefix(v, path)
		}
	}
	return v
}

func (q *question) placeholder(path string) string {
	for i, p := range q.paths {
		if p == path {
			return placeholder(i)
		}
	}
	q.paths = append(q.paths, path)
	return placeholder(len(q.paths) - 1)
}

func placeholder(i int) string { return fmt.Sprintf("{path:%d}", i) }

// existing returns the longest beginning of an absolute path that exists, below the folder of
// temporary files or the module.
func existing(s string) (string, bool) {
	if !filepath.IsAbs(s) || strings.ContainsAny(s, "\n\x00") {
		return "", false
	}
	for path := filepath.Clean(s); ; path = filepath.Dir(path) {
		if path == filepath.Clean(os.TempDir()) || path == filepath.Dir(path) {
			return "", false
		}
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
	}
}

// digestTree returns the SHA-256 of each file at or below a path, by its name there; the path
// itself has the name ".".
func digestTree(root string) (map[string][32]byte, error) {
	tree := map[string][32]byte{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		tree[filepath.ToSlash(name)] = sha256.Sum256(data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("digest %s: %w", root, err)
	}
	return tree, nil
}

// pack returns an answer in the form that is kept: without paths, and with the files that the
// script wrote or changed.
func (q question) pack(a answer) (kept, error) {
	k := kept{Output: json.RawMessage(q.hidePaths(string(a.Output))), Error: q.hidePaths(a.Error)}
	wrote := false
	for i, path := range q.paths {
		files := map[string][]byte{}
		tree, err := digestTree(path)
		if err != nil {
			return kept{}, err
		}
		for name, sum := range tree {
			if q.trees[i][name] == sum {
				continue
			}
			data, err := os.ReadFile(filepath.Join(path, filepath.FromSlash(name)))
			if err != nil {
				return kept{}, err
			}
			files[name], wrote = data, true
		}
		k.Files = append(k.Files, files)
	}
	if !wrote {
		k.Files = nil
	}
	return k, nil
}

func (q question) hidePaths(text string) string {
	if python, err := installed(); err == nil { // tracebacks name it
		text = strings.ReplaceAll(text, filepath.Dir(filepath.Dir(python)), "{python}")
	}
	// A folder's files first: their paths begin with the folder's.
	order := make([]int, len(q.paths))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return len(q.paths[j]) - len(q.paths[i]) })
	for _, i := range order {
		text = strings.ReplaceAll(text, q.paths[i], placeholder(i))
	}
	return text
}

// unpack writes the files of a kept answer and returns the answer as the script would have given it
// here.
func (q question) unpack(k kept) (answer, error) {
	output, text := string(k.Output), k.Error
	for i, path := range q.paths {
		output = strings.ReplaceAll(output, placeholder(i), path)
		text = strings.ReplaceAll(text, placeholder(i), path)
	}
	for i, files := range k.Files {
		for name, data := range files {
			path := filepath.Join(q.paths[i], filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return answer{}, err
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				return answer{}, err
			}
		}
	}
	return answer{Output: json.RawMessage(output), Error: text}, nil
}
