// Package main makes Stoker's container image without docker: an OCI layout of the static binary, with what the Containerfile's
// target stoker says of user, entry point, environment and labels. Its base is made here too, a handful of files, since the one
// that the Containerfile names comes from a registry. The same binary gives the same digest.
//
//	go -C infra/images run . -binary ../../bin/stoker -version v0.1.0 -to ../../bin/image
//	skopeo copy oci:bin/image docker://ghcr.io/stoker-ml/stoker:v0.1.0
//
// It is a Go module of its own, because Stoker has no other use for image libraries. Read Build first.
package main
