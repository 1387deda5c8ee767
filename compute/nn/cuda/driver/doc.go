// Package driver is a cuda.Device on NVIDIA's driver, by gorgonia.org/cu, and on cuBLAS where that
// is installed. Start with Open. It is compiled by cgo with the tag stoker_cuda alone, and `task
// cuda:build` says how. (The tag cuda is Gorgonia's: it would bring an engine of its own, with
// headers and libraries that few have.)
//
// A program that links this package ends at its start, with status 1 and a line on standard output,
// on a computer whose driver finds no GPU: gorgonia.org/cu does that. So no other binary than
// functions/stoker-cuda links it.
//
// Nothing here has been run on a GPU yet. Its test runs on a libcuda.so.1 of ours, whose GPU is the
// processor, as on a real one.
package driver
