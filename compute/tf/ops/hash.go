package ops

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/dchest/siphash"

	"github.com/stoker-ml/stoker/compute/fingerprint"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buckets returns an op that hashes strings into buckets.
func buckets(n *Node, hash func(s string) uint64) (Kernel, error) {
	number := n.Integer("num_buckets", 0)
	n.Out = []tensor.DType{tensor.Int64}
	if number < 1 {
		return nil, fmt.Errorf("%d buckets", number)
	}
	return each(mapping(func(s string) int64 { return int64(hash(s) % uint64(number)) })), n.want(tensor.String)
}

func buildHashFast(n *Node) (Kernel, error) { return buckets(n, farmHash) }

// farmHash returns the fingerprint of a string.
func farmHash(s string) uint64 { return fingerprint.Of(bytesOf(s)) }

// bytesOf returns s without a copy, for libraries that take bytes and only read them: hashing is a
// large part of the work of a graph.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// buildHashStrong hashes with SipHash and a key of two numbers.
func buildHashStrong(n *Node) (Kernel, error) {
	key := n.ints("key")
	if len(key) != 2 {
		return nil, fmt.Errorf("key has %d numbers, wants 2", len(key))
	}
	return buckets(n, func(s string) uint64 { return siphash.Hash(uint64(key[0]), uint64(key[1]), bytesOf(s)) })
}

func buildHashLegacy(n *Node) (Kernel, error) { return buckets(n, hash64) }

// hash64 returns the Hash64 of tensorflow/core/lib/hash, a MurmurHash64A with a seed of its own.
func hash64(s string) uint64 {
	const m, r, seed = 0xc6a4a7935bd1e995, 47, 0xDECAFCAFFE
	b := []byte(s)
	h := seed ^ uint64(len(b))*m
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * m
		k ^= k >> r
		h = (h ^ k*m) * m
	}
	if len(b) > 0 {
		for i, c := range b {
			h ^= uint64(c) << (8 * i)
		}
		h *= m
	}
	h ^= h >> r
	h *= m
	return h ^ h>>r
}
