// Package main collects the licenses of everything that Stoker's programs are linked from: Go
// modules and Go itself.
//
//	licenses FILE   write components, their licenses (SPDX) and addresses, all texts and notices
//
// The file is functions/stoker/third_party.txt, made by `go generate ./functions/stoker`. Programs
// have it within them (`stoker version --licenses`), archives and images as THIRD_PARTY.txt, and
// SBOMs take the licenses from it. A test of this package fails when it is not current.
//
// Components are those that `go list` finds for every platform of a release and for stoker-cuda;
// texts are files of their modules in Go's module cache. A component without a text, with a text
// that is no known license, or with a license that is not on the list allowed, is an error. Read
// collect first.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const usage = "usage, in the folder of the repository or below it: licenses FILE   write what programs are linked from, and the licenses of that"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("not understood: %q\n%s", args, usage)
	}
	root, err := repository()
	if err != nil {
		return err
	}
	components, err := collect(root)
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], texts(components), 0o644)
}

// repository returns the folder of go.mod, here or above.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "architecture_test.go")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("this is not below the folder of Stoker's repository")
		}
		dir = filepath.Dir(dir)
	}
}
