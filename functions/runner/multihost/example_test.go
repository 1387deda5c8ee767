package multihost_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/functions/runner/multihost"
)

// Each host of a group has the same list of hosts, and its own rank in it.
func ExampleOptions_Check() {
	o := multihost.Options{Class: "gpu", Hosts: []string{"trainer-0:2222", "trainer-1:2222"}, Rank: 1}
	fmt.Println(o.Check())
	o.Rank = 2
	fmt.Println(o.Check())
	// Output:
	// <nil>
	// rank: expected 0 to 1, the index of this host in hosts, got 2
}
