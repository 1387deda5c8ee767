// Package driver is a cuda.Device on NVIDIA's driver, by gorgonia.org/cu, and on cuBLAS where that
// is installed. Start with Open. It is compiled by cgo, only with the tag stoker_cuda; see `task
// cuda:build`. (The tag cuda is Gorgonia's: it would include an engine of its own, which needs
// headers and libraries that few have.)
//
// A program that links this package ends at its start, with status 1 and a line on standard output,
// on a computer whose driver finds no GPU: gorgonia.org/cu does that. So only functions/stoker-cuda
// links it.
//
// None of this has been run on a GPU yet. Its test runs on a libcuda.so.1 of ours, whose GPU is the
// processor.
package driver
