package ops

// The groups of element types that ops are made for.
type (
	integer interface {
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
	}
	floating interface{ float32 | float64 }
	number   interface{ integer | floating }
)
