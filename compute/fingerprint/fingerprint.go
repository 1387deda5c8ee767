// Package fingerprint computes the 64-bit fingerprints that TensorFlow stores in graphs and models.
// They never change between versions or machines.
package fingerprint

import "github.com/dgryski/go-farm"

// Of returns FarmHash's Fingerprint64 of data.
func Of(data []byte) uint64 { return farm.Fingerprint64(data) }

// Join returns a fingerprint of two fingerprints in their order: FingerprintCat64 of
// tensorflow/tsl/platform/fingerprint.h.
func Join(a, b uint64) uint64 {
	const m = 0xc6a4a7935bd1e995
	mix := func(v uint64) uint64 { return v ^ v>>47 }
	h := (a ^ m ^ mix(b*m)*m) * m
	return mix(mix(h) * m)
}
