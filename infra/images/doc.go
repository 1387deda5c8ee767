// Package main makes Stoker's container image without Docker: an OCI layout of the static binary,
// with the user, entry point, environment and labels of the Containerfile's target stoker. It also
// makes the base, a handful of files, since the one that the Containerfile names comes from a
// registry. The same binary gives the same digest.
//
//	go -C infra/images run . -binary ../../bin/stoker -version v0.1.0 -to ../../bin/image
//	skopeo copy oci:bin/image docker://ghcr.io/stoker-ml/stoker:v0.1.0
//
// ko would compile the program itself and take a base from a registry, and apko takes Alpine's
// packages: both need a network, and here the image is two layers of local files. Targets with
// Python and C are built by targets.sh, with buildah, from the Containerfile as it is (task
// test:images:targets).
//
// It is a Go module of its own, because Stoker has no other use for image libraries. Read Build
// first.
package main
