package runner

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// verifyModules compares the modules that packages come from with their sums in go.sum. The go command does so when it fetches one, and
// not when it builds from what it has fetched, which others may have changed since.
func verifyModules(packages []goPackage) error {
	seen := map[goModule]bool{}
	for _, p := range packages {
		m := p.Module.actual()
		if m.Sum == "" || m.Dir == "" || seen[m] {
			continue
		}
		seen[m] = true
		sum, err := moduleSum(m)
		if err != nil {
			return fmt.Errorf("verify module %s@%s: %w", m.Path, m.Version, err)
		}
		if sum != m.Sum {
			return fmt.Errorf("module %s@%s in %s was changed since it was fetched: its sum is %s, expected %s: go clean -modcache removes it",
				m.Path, m.Version, m.Dir, sum, m.Sum)
		}
	}
	return nil
}

// moduleSum is the sum of a module's files as go.sum has it: "Hash1" of golang.org/x/mod/sumdb/dirhash.
func moduleSum(m goModule) (string, error) {
	sums := map[string][]byte{}
	err := filepath.WalkDir(m.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(m.Dir, path)
		if err != nil {
			return err
		}
		sum := sha256.New()
		if err := addFile(sum, path); err != nil {
			return err
		}
		sums[m.Path+"@"+m.Version+"/"+filepath.ToSlash(name)] = sum.Sum(nil)
		return nil
	})
	if err != nil {
		return "", err
	}
	return hash1(sums), nil
}

// hash1 is the sum of a list of files, as sha256sum prints it, in the order of their names.
func hash1(sums map[string][]byte) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(all, "%x  %s\n", sums[name], name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(all.Sum(nil))
}
