// All kernels of compute/nn/cuda, as one module. `task cuda:ptx` makes all.ptx of it. What each means stands at the operation in
// compute/nn/plan and compute/kernel; table.go beside this folder lists their names and parameters, and who launches how many threads.
//
// Every element of a result is computed by one thread, or by one block in a fixed order, and nothing is added atomically: the same
// step gives the same bits each time. Matrices are row major without gaps, ids are 64 bits wide, sizes fit into 31 bits.
#include "common.cuh"
#include "elements.cuh"
#include "product.cuh"
#include "rows.cuh"
#include "sums.cuh"
#include "tables.cuh"
#include "shapes.cuh"
#include "philox.cuh"
#include "rules.cuh"
