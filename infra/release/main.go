// Package main makes the parts of a release that goreleaser, whose configuration is
// goreleaser.yaml, does not make: the list of changes, from the files in infra/changelog/, and an
// SBOM for each archive, from the information that Go's linker wrote into the binary.
//
//	stoker-release changes infra/changelog v0.1.0 >CHANGELOG.md
//	stoker-release sbom stoker_v0.1.0_linux_amd64.tar.gz v0.1.0 \
//	    stoker_v0.1.0_linux_amd64.tar.gz.cdx.json
//
// It is a Go module of its own, because goreleaser, which it pins as a tool, brings some hundred
// modules. Read goreleaser.yaml first.
package main

import (
	"fmt"
	"io"
	"os"
)

const usage = `usage:
  stoker-release changes FOLDER VERSION          print what has changed in VERSION; where no release is named so, what is unreleased
  stoker-release sbom ARCHIVE VERSION DOCUMENT   write what an archive is made of, as CycloneDX`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stoker-release:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	switch {
	case len(args) == 3 && args[0] == "changes":
		return changes(stdout, os.DirFS(args[1]), args[2])
	case len(args) == 4 && args[0] == "sbom":
		return sbom(args[1], args[2], args[3])
	}
	return fmt.Errorf("not understood: %q\n%s", args, usage)
}
