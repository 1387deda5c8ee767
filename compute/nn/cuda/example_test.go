package cuda_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
	"github.com/stoker-ml/stoker/compute/nn/cuda/fake"
)

// A GPU is opened with a share of its memory: here one that the tests imitate on the CPU;
// compute/nn/cuda/driver opens NVIDIA's.
func ExampleOpen() {
	limit, err := cuda.MemoryLimit("8GiB")
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu, err := cuda.Open(&fake.Device{}, limit)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(gpu.Name() != "", gpu.Used() < limit, gpu.Close())
	// Output: true true <nil>
}

func ExampleMemoryLimit() {
	for _, text := range []string{"8GiB", "", "8GB"} {
		fmt.Println(cuda.MemoryLimit(text))
	}
	// Output:
	// 8589934592 <nil>
	// 0 <nil>
	// 0 STOKER_GPU_MEMORY=8GB: expected a number of bytes, alone or with KiB, MiB, GiB or TiB behind it
}
