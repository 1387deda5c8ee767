package tfevents

import "math"

// Bucket counts values from Left up to, not including, Right; the last bucket of a histogram has
// its right edge too.
type Bucket struct {
	Left, Right float64
	Count       float64
}

// bucketCount is tf.summary.histogram's.
const bucketCount = 30

// Buckets spreads values over n buckets of equal width, as tf.summary.histogram does
// (tensorboard/plugins/histogram/summary_v2.py):
//
//	width = (max - min) / n
//	i     = min(floor((x - min) / width), n - 1)
//
// Values that are all the same are in the last bucket, and every edge is that value; without values
// all is zero. NaN and infinities, of which TensorFlow makes a histogram without a meaning, are
// left out.
func Buckets(values []float32, n int) []Bucket {
	buckets := make([]Bucket, n)
	low, high, count := span(values)
	if n == 0 || count == 0 {
		return buckets
	}
	width := (high - low) / float64(n)
	for i := range buckets {
		buckets[i].Left, buckets[i].Right = low+float64(i)*width, low+float64(i+1)*width
	}
	buckets[n-1].Right = high
	if width == 0 {
		buckets[n-1].Count = float64(count)
		return buckets
	}
	for _, v := range values {
		if x := float64(v); finite(x) {
			buckets[min(int((x-low)/width), n-1)].Count++
		}
	}
	return buckets
}

// span is the least and the greatest of the finite values, and how many those are.
func span(values []float32) (low, high float64, count int) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if x := float64(v); finite(x) {
			low, high = min(low, x), max(high, x)
			count++
		}
	}
	return low, high, count
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
