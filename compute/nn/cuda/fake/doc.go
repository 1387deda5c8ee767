// Package fake is a GPU on the CPU, for tests: it does what the kernels of compute/nn/cuda mean, in
// plain Go, and checks each call as a careful reader of CUDA's documentation would. Start with
// Device.
//
// An error is what a GPU would say or, worse, would not say: an address outside of what was
// allocated or after it was freed, a read of what nobody has written, arguments that are not the
// kernel's parameters, too few or too many threads, a result written over an operand that other
// threads still read, memory here that changes while it is copied, and at Close what was never
// freed.
package fake
