// Package main is what a release needs in addition to goreleaser, whose configuration is
// goreleaser.yaml: the list of changes, made of the files in infra/changelog/, and an SBOM for each
// archive, made of what Go's linker wrote into the binary.
//
//	stoker-release changes infra/changelog v0.1.0 >CHANGELOG.md
//	stoker-release sbom stoker_v0.1.0_linux_amd64.tar.gz v0.1.0 stoker_v0.1.0_linux_amd64.tar.gz.cdx.json
//
// It is a Go module of its own, because goreleaser, which it pins as a tool, brings some hundred
// modules. Read goreleaser.yaml first.
package main
