package cuda

// Pointer is an address in a device's memory; 0 is none. Addresses within an allocation are
// computed as on the CPU.
type Pointer uint64

// Device is one GPU, or what stands for it. What it is asked to do it does in that order, but maybe
// later: only Download and Sync wait. An error may therefore belong to an earlier call. Safe for
// concurrent use.
type Device interface {
	// Name is what people call the device, such as "NVIDIA L4".
	Name() string

	// Memory is how many bytes of the device's memory nobody uses, and how many it has.
	Memory() (free, total int64, err error)

	// Alloc reserves memory of at least 1 byte, aligned for any kernel; what it holds is not
	// defined.
	Alloc(bytes int64) (Pointer, error)
	Free(Pointer) error

	// AllocHost is memory of this computer that the device copies fast from and to, all zeros. It
	// is given back by FreeHost, as the same slice.
	AllocHost(bytes int64) ([]byte, error)
	FreeHost([]byte) error

	// Upload copies here to there. from must not change before the next Download or Sync.
	Upload(to Pointer, from []byte) error
	// Download waits for all that was asked before, and copies there to here.
	Download(to []byte, from Pointer) error

	// Load compiles a module of PTX, and finds each kernel in it.
	Load(ptx string, kernels []Kernel) error
	// Launch starts a kernel that was loaded.
	Launch(*Launch) error

	// Multiplier is the device's own matrix product; nil where it has none.
	Multiplier() Multiplier

	// Sync waits for all that was asked before.
	Sync() error
	Close() error
}

// Multiplier multiplies matrices: c[m,n] = op(a) op(b), added to c where add; op(a) is [m,k], op(b)
// [k,n]. All are row major without gaps, and a is [k,m] where it is transposed, b [n,k]. The same
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

	Node string // of the expression that it is for, for messages
}

// Arg is what a kernel gets for a parameter: as much of Bits, from the lowest, as the parameter's
// Kind is wide.
type Arg struct {
	Kind ParamKind
	Bits uint64
}
