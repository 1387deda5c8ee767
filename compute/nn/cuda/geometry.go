package cuda

// How many threads a kernel is launched with. The numbers are those that its source says.
const (
	elementBlock = 256 // threads of a block where each has one element
	lanes        = 32  // threads for a row of a matrix
	rowsOfBlock  = 8   // rows of a block
	tile         = 64  // rows and columns of a product that a block makes
	side         = 16  // threads along each of them
	crowd        = 128 // threads of a block of scatter
	maxParts     = 256 // blocks of sum_parts
)

// geometry is the blocks of a launch, and their threads.
type geometry struct{ grid, block Dim }

// elements is a thread for each of n elements.
func elements(n int) geometry {
	return geometry{Dim{ceil(n, elementBlock), 1, 1}, Dim{elementBlock, 1, 1}}
}

// rows is a row of threads for each row.
func rows(n int) geometry {
	return geometry{Dim{ceil(n, rowsOfBlock), 1, 1}, Dim{lanes, rowsOfBlock, 1}}
}

// columns is a column of threads for each column.
func columns(n int) geometry {
	return geometry{Dim{ceil(n, lanes), 1, 1}, Dim{lanes, rowsOfBlock, 1}}
}

// tiles is a block for each square of 32 x 32 numbers.
func tiles(rows, cols int) geometry {
	return geometry{Dim{ceil(cols, lanes), ceil(rows, lanes), 1}, Dim{lanes, rowsOfBlock, 1}}
}

// productTiles is a block for each tile of a product.
func productTiles(m, n int) geometry {
	return geometry{Dim{ceil(n, tile), ceil(m, tile), 1}, Dim{side, side, 1}}
}

// crowds is a block for each of n ids.
func crowds(n int) geometry { return geometry{Dim{n, 1, 1}, Dim{crowd, 1, 1}} }

// parts is how a sum over n elements is divided: by n alone.
func parts(n int) geometry {
	return geometry{Dim{min(ceil(n, 8*elementBlock), maxParts), 1, 1}, Dim{elementBlock, 1, 1}}
}

// oneBlock does what one block can.
func oneBlock(threads int) geometry { return geometry{Dim{1, 1, 1}, Dim{threads, 1, 1}} }

func ceil(n, by int) int { return (n + by - 1) / by }
