package ops

import (
	"maps"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Find returns the op with TensorFlow's name for it, and whether it is known.
func Find(name string) (Op, bool) {
	for _, group := range groupsOfOps {
		if o, ok := group[name]; ok {
			return o, true
		}
	}
	return Op{}, false
}

// Names lists the known ops, sorted.
func Names() []string {
	var names []string
	for _, group := range groupsOfOps {
		names = append(names, slices.Collect(maps.Keys(group))...)
	}
	slices.Sort(names)
	return names
}

func built(f func(n *Node) (Kernel, error), outputs ...string) Op {
	return Op{Build: f, Outputs: outputs}
}

var shapeOps = map[string]Op{
	"BroadcastArgs":            built(buildBroadcastArgs),
	"BroadcastTo":              built(buildBroadcastTo),
	"CheckNumerics":            built(buildCheckNumerics),
	"Const":                    built(buildConst),
	"ConcatV2":                 built(buildConcat),
	"EnsureShape":              built(buildEnsureShape),
	"ExpandDims":               built(buildExpandDims),
	"Fill":                     built(buildFill),
	"GatherNd":                 built(buildGatherNd),
	"GatherV2":                 built(buildGather),
	"Identity":                 built(buildIdentity),
	"IdentityN":                built(buildIdentityN),
	"OneHot":                   built(buildOneHot),
	"OnesLike":                 built(buildOnesLike),
	"Pack":                     built(buildPack),
	"Pad":                      built(buildPad),
	"PadV2":                    built(buildPad),
	"PreventGradient":          built(buildIdentity),
	"Range":                    built(buildRange),
	"Rank":                     built(buildRank),
	"Reshape":                  built(buildReshape),
	"ReverseV2":                built(buildReverse),
	"Shape":                    built(buildShape),
	"Size":                     built(buildSize),
	"Slice":                    built(buildSlice),
	"Snapshot":                 built(buildIdentity),
	"Split":                    built(buildSplit),
	"SplitV":                   built(buildSplitV),
	"Squeeze":                  built(buildSqueeze),
	"StopGradient":             built(buildIdentity),
	"StridedSlice":             built(buildStridedSlice),
	"Tile":                     built(buildTile),
	"Transpose":                built(buildTranspose),
	"Unpack":                   built(buildUnpack),
	"ZerosLike":                built(buildZerosLike),
	"Unique":                   uniqueOp(false),
	"UniqueWithCounts":         uniqueOp(true),
	"Where":                    built(buildWhere),
	"TopKV2":                   built(buildTopK, "values", "indices"),
	"Bucketize":                built(buildBucketize),
	"UpperBound":               searchOp(upperBound, upperBound, upperBound, upperBound),
	"LowerBound":               searchOp(lowerBound, lowerBound, lowerBound, lowerBound),
	"DenseBincount":            built(buildBincount),
	"MatMul":                   built(buildMatMul),
	"Softmax":                  built(buildSoftmax),
	"Cast":                     built(buildCast),
	"SelectV2":                 built(buildSelect),
	"ClipByValue":              built(buildClip),
	"If":                       built(buildIf),
	"StatelessIf":              built(buildIf),
	"While":                    built(buildWhile),
	"StatelessWhile":           built(buildWhile),
	"LookupTableFindV2":        built(buildFind),
	"LookupTableSizeV2":        built(buildTableSize),
	"TensorListReserve":        built(buildListReserve),
	"TensorListSetItem":        built(buildListSet),
	"TensorListGetItem":        built(buildListGet),
	"TensorListStack":          built(buildListStack),
	"TensorListConcatV2":       built(buildListConcat, "tensor", "lengths"),
	"TensorListFromTensor":     built(buildListFromTensor),
	"DenseToDenseSetOperation": built(buildSetOperation, "result_indices", "result_values", "result_shape"),
}

var numberOps = map[string]Op{
	"Add":               numbers(add, add, add, add).sameOut(2),
	"AddV2":             numbers(add, add, add, add).sameOut(2),
	"Sub":               numbers(sub, sub, sub, sub).sameOut(2),
	"Mul":               numbers(mul, mul, mul, mul).sameOut(2),
	"Maximum":           numbers(larger, larger, larger, larger).sameOut(2),
	"Minimum":           numbers(smaller, smaller, smaller, smaller).sameOut(2),
	"SquaredDifference": numbers(squaredDifference, squaredDifference, squaredDifference, squaredDifference).sameOut(2),
	"RealDiv":           floats(div, div).sameOut(2),
	"Div":               floats(div, div).sameOut(2),
	"DivNoNan":          floats(of(divideNoNaN[float32]), of(divideNoNaN[float64])).sameOut(2),
	"MulNoNan":          floats(of(mulNoNaN[float32]), of(mulNoNaN[float64])).sameOut(2),
	"Atan2":             wide(math.Atan2).sameOut(2),
	"AddN":              built(buildAddN),

	"FloorDiv": withInts(floats(of(floorDivFloat[float32]), of(floorDivFloat[float64])),
		divisor(floorDivInt[int32]), divisor(floorDivInt[int64])).sameOut(2),
	"FloorMod": withInts(floats(of(floorModFloat[float32]), of(floorModFloat[float64])),
		divisor(floorModInt[int32]), divisor(floorModInt[int64])).sameOut(2),
	"TruncateDiv": withInts(byType{}, divisor(truncateDiv[int32]), divisor(truncateDiv[int64])).sameOut(2),
	"TruncateMod": withInts(floats(of(truncateModFloat[float32]), of(truncateModFloat[float64])),
		divisor(truncateMod[int32]), divisor(truncateMod[int64])).sameOut(2),
	"Pow": withInts(wide(math.Pow), power[int32], power[int64]).sameOut(2),

	"Abs":        signed(math.Abs, absolute[int32], absolute[int64]).sameOut(1),
	"Neg":        signed(negateFloat, negate[int32], negate[int64]).sameOut(1),
	"Sign":       signed(signFloat, signOf[int32], signOf[int64]).sameOut(1),
	"Square":     signed(squareFloat, square[int32], square[int64]).sameOut(1),
	"Round":      float(math.RoundToEven).sameOut(1),
	"Rint":       float(math.RoundToEven).sameOut(1),
	"Floor":      float(math.Floor).sameOut(1),
	"Ceil":       float(math.Ceil).sameOut(1),
	"Sqrt":       float(math.Sqrt).sameOut(1),
	"Rsqrt":      float(rsqrt).sameOut(1),
	"Reciprocal": float(reciprocal).sameOut(1),
	"Inv":        float(reciprocal).sameOut(1),
	"Exp":        float(math.Exp).sameOut(1),
	"Expm1":      float(math.Expm1).sameOut(1),
	"Log":        float(math.Log).sameOut(1),
	"Log1p":      float(math.Log1p).sameOut(1),
	"Sin":        float(math.Sin).sameOut(1),
	"Cos":        float(math.Cos).sameOut(1),
	"Tan":        float(math.Tan).sameOut(1),
	"Asin":       float(math.Asin).sameOut(1),
	"Acos":       float(math.Acos).sameOut(1),
	"Atan":       float(math.Atan).sameOut(1),
	"Sinh":       float(math.Sinh).sameOut(1),
	"Cosh":       float(math.Cosh).sameOut(1),
	"Tanh":       float(math.Tanh).sameOut(1),
	"Asinh":      float(math.Asinh).sameOut(1),
	"Acosh":      float(math.Acosh).sameOut(1),
	"Atanh":      float(math.Atanh).sameOut(1),
	"Erf":        float(math.Erf).sameOut(1),
	"Erfc":       float(math.Erfc).sameOut(1),
	"Sigmoid":    float(sigmoid).sameOut(1),
	"Softplus":   float(softplus).sameOut(1),
	"Softsign":   float(softsign).sameOut(1),
	"Relu":       float(relu).sameOut(1),
	"Relu6":      float(relu6).sameOut(1),
	"Elu":        rounded(elu[float32], elu[float64]).sameOut(1),
	"Selu":       rounded(selu[float32], selu[float64]).sameOut(1),

	"Equal":        equality(ordered(equal, equal, equal, equal), equal, equal).boolOut(2),
	"NotEqual":     equality(ordered(notEqual, notEqual, notEqual, notEqual), notEqual, notEqual).boolOut(2),
	"Less":         ordered(less, less, less, less).boolOut(2),
	"LessEqual":    ordered(lessEqual, lessEqual, lessEqual, lessEqual).boolOut(2),
	"Greater":      ordered(greater, greater, greater, greater).boolOut(2),
	"GreaterEqual": ordered(greaterEqual, greaterEqual, greaterEqual, greaterEqual).boolOut(2),
	"LogicalAnd":   byType{tensor.Bool: pairwise(of(both))}.sameOut(2),
	"LogicalOr":    byType{tensor.Bool: pairwise(of(either))}.sameOut(2),
	"LogicalNot":   byType{tensor.Bool: each(not)}.sameOut(1),
	"IsNan":        byType{tensor.Float32: each(mapping(isNaN[float32])), tensor.Float64: each(mapping(isNaN[float64]))}.boolOut(1),
	"IsInf":        byType{tensor.Float32: each(mapping(isInf[float32])), tensor.Float64: each(mapping(isInf[float64]))}.boolOut(1),
	"IsFinite":     byType{tensor.Float32: each(mapping(isFinite[float32])), tensor.Float64: each(mapping(isFinite[float64]))}.boolOut(1),

	"Sum":  reduction(reduceNumbers(folding(0, plus[float32]), folding(0, plus[float64]), folding(0, plus[int32]), folding(0, plus[int64]))),
	"Prod": reduction(reduceNumbers(folding(1, times[float32]), folding(1, times[float64]), folding(1, times[int32]), folding(1, times[int64]))),
	"Max": reduction(reduceNumbers(folding(-infinity32, greatest), folding(-infinity64, greatest),
		folding(math.MinInt32, greatest[int32]), folding(math.MinInt64, greatest[int64]))),
	"Min": reduction(reduceNumbers(folding(infinity32, least), folding(infinity64, least),
		folding(math.MaxInt32, least[int32]), folding(math.MaxInt64, least[int64]))),
	"Mean":    reduction(reduceNumbers(mean, mean, meanInt, meanInt)),
	"Any":     reduction(map[tensor.DType]func(bool) Kernel{tensor.Bool: reduced(anyOf)}),
	"All":     reduction(map[tensor.DType]func(bool) Kernel{tensor.Bool: reduced(allOf)}),
	"ArgMax":  extreme(-math.MaxFloat32, isMore, -math.MaxFloat64, isMore, math.MinInt64, isMore),
	"ArgMin":  extreme(math.MaxFloat32, isLess, math.MaxFloat64, isLess, math.MaxInt64, isLess),
	"Cumsum":  cumulated(cumulateSum),
	"Cumprod": cumulated(cumulateProduct),

	"SegmentSum": sortedSegments(unsortedNumbers(addSegments[float32], addSegments[float64], addSegments[int32], addSegments[int64])),
	"UnsortedSegmentSum": unsorted(unsortedNumbers(intoSegments(0, plus[float32]), intoSegments(0, plus[float64]),
		intoSegments(0, plus[int32]), intoSegments(0, plus[int64]))),
	"UnsortedSegmentProd": unsorted(unsortedNumbers(intoSegments(1, times[float32]), intoSegments(1, times[float64]),
		intoSegments(1, times[int32]), intoSegments(1, times[int64]))),
	"UnsortedSegmentMax": unsorted(unsortedNumbers(intoSegments(-math.MaxFloat32, above[float32]),
		intoSegments(-math.MaxFloat64, above[float64]), intoSegments(math.MinInt32, above[int32]), intoSegments(math.MinInt64, above[int64]))),
	"UnsortedSegmentMin": unsorted(unsortedNumbers(intoSegments(math.MaxFloat32, under[float32]),
		intoSegments(math.MaxFloat64, under[float64]), intoSegments(math.MaxInt32, under[int32]), intoSegments(math.MaxInt64, under[int64]))),
}

var (
	infinity64 = math.Inf(1)
	infinity32 = float32(infinity64)
)

var stringOps = map[string]Op{
	"AsString":                 built(buildAsString),
	"RegexFullMatch":           built(buildFullMatch),
	"RegexReplace":             built(buildRegexReplace),
	"StaticRegexFullMatch":     built(buildStaticFullMatch),
	"StaticRegexReplace":       built(buildStaticRegexReplace),
	"StringJoin":               built(buildStringJoin),
	"StringLength":             built(buildStringLength),
	"StringLower":              built(buildLower),
	"StringSplit":              built(buildSplitAtAny, "indices", "values", "shape"),
	"StringSplitV2":            built(buildSplitStrings, "indices", "values", "shape"),
	"StringStrip":              built(buildStrip),
	"StringToHashBucket":       built(buildHashLegacy),
	"StringToHashBucketFast":   built(buildHashFast),
	"StringToHashBucketStrong": built(buildHashStrong),
	"StringToNumber":           built(buildToNumber),
	"StringUpper":              built(buildUpper),
	"Substr":                   built(buildSubstr),
	"UnsortedSegmentJoin":      built(buildSegmentJoin),
}

var sparseOps = map[string]Op{
	"RaggedRange":           built(buildRaggedRange, "rt_nested_splits", "rt_dense_values"),
	"RaggedTensorToSparse":  built(buildRaggedToSparse, "sparse_indices", "sparse_values", "sparse_dense_shape"),
	"RaggedTensorToTensor":  built(buildRaggedToTensor),
	"SparseConcat":          built(buildSparseConcat, sparseOutputs...),
	"SparseCross":           built(buildSparseCross, sparseOutputs...),
	"SparseCrossV2":         built(buildSparseCrossV2, sparseOutputs...),
	"SparseFillEmptyRows":   built(buildFillEmptyRows, "output_indices", "output_values", "empty_row_indicator", "reverse_index_map"),
	"SparseReduceMax":       sparseReduction(sparseMaxima, false),
	"SparseReduceSum":       sparseReduction(sparseSums, false),
	"SparseReduceSumSparse": sparseReduction(sparseSums, true),
	"SparseReorder":         built(buildSparseReorder, sparseOutputs[:2]...),
	"SparseSlice":           built(buildSparseSlice, sparseOutputs...),
	"SparseToDense":         built(buildSparseToDense),
}

// modelOps are the ops of models that transform graphs don't have.
var modelOps = map[string]Op{
	"BatchMatMul":             built(buildBatchMatMul),
	"BatchMatMulV2":           built(buildBatchMatMul),
	"BiasAdd":                 built(buildBiasAdd),
	"Gather":                  built(buildGatherFirst),
	"LeakyRelu":               built(buildLeakyRelu),
	"LogSoftmax":              built(buildLogSoftmax),
	"LookupTableFind":         built(buildFind),
	"LookupTableSize":         built(buildTableSize),
	"ParseExample":            {Build: buildParseExample1, Outputs: parsedOutputs[:4], widths: parsedWidths},
	"ParseExampleV2":          {Build: buildParseExample, Outputs: parsedOutputs, widths: parsedWidths},
	"ParseSequenceExampleV2":  {Build: buildParseSequence, Outputs: parsedSequenceOutputs, widths: parsedSequenceWidths},
	"PlaceholderWithDefault":  built(buildIdentity),
	"ReadVariableOp":          built(buildReadVariable),
	"ResourceGather":          built(buildResourceGather),
	"Select":                  built(buildSelectRows),
	"SparseReshape":           built(buildSparseReshape, "output_indices", "output_shape"),
	"SparseSegmentMean":       sparseSegments(ofMean, false),
	"SparseSegmentSqrtN":      sparseSegments(ofSqrtN, false),
	"SparseSegmentSum":        sparseSegments(ofSum, false),
	"SparseTensorDenseMatMul": built(buildSparseMatMul),

	"SparseSegmentMeanWithNumSegments":  sparseSegments(ofMean, true),
	"SparseSegmentSqrtNWithNumSegments": sparseSegments(ofSqrtN, true),
	"SparseSegmentSumWithNumSegments":   sparseSegments(ofSum, true),
}

var groupsOfOps = []map[string]Op{shapeOps, numberOps, stringOps, sparseOps, modelOps}
