package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const usage = "usage, in the folder of the repository or below it: licenses FILE   write what programs are linked from, and the licences of that"

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

// repository is the folder of go.mod, here or above.
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
