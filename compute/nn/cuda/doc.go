// Package cuda runs whole steps of a plan.Plan on a GPU: forward, backward, clipping and the
// optimizer's update, with kernels of ours that are embedded as PTX, and with cuBLAS's matrix
// product if the device offers it.
//
// Start with GPU. It uses a Device, which compute/nn/cuda/driver implements with NVIDIA's driver
// and compute/nn/cuda/fake for tests: this package itself links neither cgo nor CUDA. kernels/ has
// the kernels' source, table.go defines how they are called.
//
// None of this has been run on a GPU yet. NVIDIA's compiler compiles the kernels, and tests execute
// their source on the CPU and compare the results; their speed is not known.
package cuda
