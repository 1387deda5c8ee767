// Package main collects the licences of everything that Stoker's programs are linked from: Go
// modules, Go itself, and the parts of others' work that this repository holds copies of.
//
//	licenses FILE     write components, their licences (SPDX) and addresses, and all texts and notices, once each
//
// The file is functions/stoker/third_party.txt, made by `go generate ./functions/stoker`. Programs
// have it within them (`stoker version --licenses`), archives and images as THIRD_PARTY.txt, and
// SBOMs take the licences from it. A test of this package fails when it is not current.
//
// Components are those that `go list` finds for every platform of a release and for stoker-cuda;
// texts are files of their modules in Go's module cache. A component without a text, with a text
// that is no known licence, or with a licence that is not on the list allowed, is an error. Read
// collect first.
package main
