package kernel

import "fmt"

// job is a kernel's work, as the threads of a Team share it: a function, since a closure would be
// allocated, and what it needs.
type job struct {
	do    func(j *job, from, to int)
	level Level

	y, x, z    []float32
	ids        []int
	rows, cols int
	places     int
	f          Func
	binary     Binary
	rowwise    rowwise
	shape      Shape
	swapped    bool
	add        bool
	step       step
	mask       mask
	gemm       gemm
}

// How many elements are worth a thread: of what is as fast as memory, and of what thinks about
// each.
const (
	grainFast = 32768
	grainSlow = 4096
)

// alone says whether n things are too few for a second thread.
func (t *Team) alone(n, grain int) bool { return n < 2*grain || t.Threads() == 1 }

// rowsOf is how many rows of so many columns have that many elements.
func rowsOf(elements, cols int) int { return max(1, elements/max(cols, 1)) }

// first is the first n of x; it panics where x is shorter, whatever its capacity.
func first[T any](what string, x []T, n int) []T {
	if len(x) < n {
		tooShort(what, len(x), n)
	}
	return x[:n]
}

func tooShort(what string, have, want int) {
	panic(fmt.Sprintf("kernel: %s has %d elements, %d are needed", what, have, want))
}
