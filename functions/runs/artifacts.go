package runs

import (
	"hash/maphash"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// artifacts are those that a run reads and the executions that it has, as hashes: addresses are
// long, and only compared.
type artifacts struct {
	read []uint64 // addresses
	made []uint64 // executions that the run's own jobs have done
	used []uint64 // executions of earlier jobs whose results the run has
}

// maxArtifacts limits each of these lists.
const maxArtifacts = 64

var seed = maphash.MakeSeed()

func hashOf(text string) uint64 { return maphash.String(seed, strings.TrimSuffix(text, "/")) }

func note(list []uint64, text string) []uint64 {
	if text == "" || len(list) >= maxArtifacts {
		return list
	}
	if h := hashOf(text); !slices.Contains(list, h) {
		list = append(list, h)
	}
	return list
}

// reads adds an address. A split of Examples is also part of the artifact of all splits.
func (a *artifacts) reads(address string) {
	a.read = note(a.read, address)
	if strings.HasPrefix(path.Base(address), "Split-") {
		a.read = note(a.read, strings.TrimSuffix(address, "/"+path.Base(address)))
	}
}

func (a *artifacts) readsInputs(in events.Inputs) {
	for _, examples := range slices.Concat(in.Examples, in.TransformedExamples) {
		a.reads(strings.TrimSuffix(examples.URI, "/"))
	}
	for _, address := range []string{in.TransformGraph, in.Schema, in.Statistics, in.Hyperparameters, in.BaseModel} {
		a.reads(strings.TrimSuffix(address, "/"))
	}
}

func (a *artifacts) has(output events.Output) {
	if output.Cached {
		a.used = note(a.used, output.Execution)
	} else {
		a.made = note(a.made, output.Execution)
	}
}

// ReadBy returns the runs that read an artifact at one of the addresses, or are to read it, in no
// order. A run is found by what its events name, and by the inputs of its model.
func (x *Index) ReadBy(addresses ...string) iter.Seq[Key] {
	hashes := make([]uint64, 0, len(addresses))
	for _, address := range addresses {
		hashes = append(hashes, hashOf(address))
	}
	return x.having(func(a artifacts) bool {
		return slices.ContainsFunc(hashes, func(h uint64) bool { return slices.Contains(a.read, h) })
	})
}

// MadeBy returns the runs whose jobs have done an execution, in no order: several have done it if
// its result was lost.
func (x *Index) MadeBy(execution string) iter.Seq[Key] {
	h := hashOf(execution)
	return x.having(func(a artifacts) bool { return slices.Contains(a.made, h) })
}

// UsedBy returns the runs that have the result of an execution which another run has done, in no
// order.
func (x *Index) UsedBy(execution string) iter.Seq[Key] {
	h := hashOf(execution)
	return x.having(func(a artifacts) bool { return slices.Contains(a.used, h) && !slices.Contains(a.made, h) })
}

func (x *Index) having(holds func(artifacts) bool) iter.Seq[Key] {
	return func(yield func(Key) bool) {
		for key, r := range x.runs {
			if holds(r.artifacts) && !yield(key) {
				return
			}
		}
	}
}
