// Package cuda runs whole steps of a plan.Plan on a GPU: forward, back, clipping and the
// optimizer's rule, by kernels of ours that are embedded as PTX, and by cuBLAS's matrix product
// where the device offers one.
//
// Start with GPU. It speaks to a Device, which compute/nn/cuda/driver is on NVIDIA's driver and
// compute/nn/cuda/fake is for tests: this package itself links neither cgo nor CUDA. kernels/ has
// the kernels' source, table.go says how they are called.
//
// Nothing here has been run on a GPU yet. The kernels are compiled by NVIDIA's compiler, and their
// source is executed on the CPU and compared in tests; how fast they are, nobody knows.
package cuda
