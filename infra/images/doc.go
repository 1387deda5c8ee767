// Package main makes Stoker's container image without docker: an OCI layout of the static binary,
// with what the Containerfile's target stoker says of user, entry point, environment and labels.
// Its base is made here too, a handful of files, since the one that the Containerfile names comes
// from a registry. The same binary gives the same digest.
//
//	go -C infra/images run . -binary ../../bin/stoker -version v0.1.0 -to ../../bin/image
//	skopeo copy oci:bin/image docker://ghcr.io/stoker-ml/stoker:v0.1.0
//
// ko would compile the program itself and take a base from a registry, apko takes Alpine's
// packages: neither is had without a network that has them, and here the image is two layers of
// files that are at hand. Targets with Python and C are built by targets.sh, with buildah, from the
// Containerfile as it stands (task test:images:targets).
//
// It is a Go module of its own, because Stoker has no other use for image libraries. Read Build
// first.
package main
