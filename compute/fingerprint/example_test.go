package fingerprint_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/fingerprint"
)

// TensorFlow puts a string into a hash bucket by its fingerprint modulo the number of buckets.
func ExampleOf() {
	print := fingerprint.Of([]byte("Blue Ribbon"))
	fmt.Printf("%#016x is in bucket %d of 10\n", print, print%10)
	// Output: 0x79f04f1291def42d is in bucket 9 of 10
}

// The fingerprint of a cross of two features depends on their order.
func ExampleJoin() {
	a, b := fingerprint.Of([]byte("taxi")), fingerprint.Of([]byte("cash"))
	fmt.Println(fingerprint.Join(a, b) == fingerprint.Join(b, a))
	// Output: false
}
