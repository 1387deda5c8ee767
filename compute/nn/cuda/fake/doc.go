// Package fake is a GPU on the CPU, for tests: it does in plain Go what the kernels of
// compute/nn/cuda do, and checks each call against CUDA's documentation. Start with Device.
//
// It returns errors that a GPU would return, and also for mistakes that a GPU would not report: an
// address outside of allocated memory or after it was freed, a read of uninitialized memory,
// arguments that are not the kernel's parameters, too few or too many threads, a result written
// over an operand that other threads still read, memory of this computer that changes while it is
// copied, and at Close memory that was never freed.
package fake
