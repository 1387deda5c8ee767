package cuda

// Pointer is an address in a device's memory; 0 is none. Addresses within an allocation are
// computed as on the CPU.
type Pointer uint64

// Device is one GPU, or a replacement. It executes calls in their order, but may do so later: only
// Download and Sync wait. An error may therefore belong to an earlier call. It may be used by
// several goroutines at once.
type Device interface {
	// Name returns the device's name, such as "NVIDIA L4".
	Name() string

	// Memory returns how many bytes of the device's memory are free, and how many it has.
	Memory() (free, total int64, err error)

	// Alloc allocates at least 1 byte, aligned for any kernel; its content is undefined.
	Alloc(bytes int64) (Pointer, error)
	Free(Pointer) error

	// AllocHost allocates memory of this computer that the device copies fast from and to, filled
	// with zeros. FreeHost frees it, given the same slice.
	AllocHost(bytes int64) ([]byte, error)
	FreeHost([]byte) error

	// Upload copies from this computer to the device. from must not change before the next Download
	// or Sync.
	Upload(to Pointer, from []byte) error
	// Download waits for all earlier calls, and copies from the device to this computer.
	Download(to []byte, from Pointer) error

	// Load compiles a module of PTX, and finds each kernel in it.
	Load(ptx string, kernels []Kernel) error
	// Launch starts a loaded kernel.
	Launch(*Launch) error

	// Multiplier returns the device's own matrix product; nil if it has none.
	Multiplier() Multiplier

	// Sync waits for all earlier calls.
	Sync() error
	Close() error
}

// Multiplier multiplies matrices: c[m,n] = op(a) op(b), added to c if add is set; op(a) is [m,k],
// op(b) [k,n]. All are row major without gaps; a is [k,m] if it is transposed, b is [n,k]. The same
// call gives the same bits each time.
type Multiplier interface {
	Multiply(p Product) error
}

// Product is one call of a Multiplier.
type Product struct {
	C, A, B                Pointer
	M, N, K                int
	TransA, TransB, AddToC bool
}

// Dim is a number of blocks, or of threads in a block.
type Dim struct{ X, Y, Z int }

// Launch is one call of a kernel.
type Launch struct {
	Kernel      KernelID
	Grid, Block Dim
	Args        []Arg // in the order of the kernel's parameters

	Node string // of the expression that it belongs to, for messages
}

// Arg is the value of a parameter of a kernel: as many of Bits, from the lowest, as the parameter's
// Kind is wide.
type Arg struct {
	Kind ParamKind
	Bits uint64
}
