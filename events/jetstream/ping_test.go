package jetstream

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// See infra/hosts: functions whose server lost its network were stuck for five minutes, although
// the cluster was well.
func TestASilentServerIsLeftWithinALease(t *testing.T) {
	t.Parallel()
	options, err := connectOptions(Options{})
	if err != nil {
		t.Fatal(err)
	}
	set := nats.GetDefaultOptions()
	for _, option := range options {
		if err := option(&set); err != nil {
			t.Fatal(err)
		}
	}
	lease := Options{}.withDefaults().Lease
	if left := time.Duration(set.MaxPingsOut+1) * set.PingInterval; left > lease {
		t.Errorf("a silent server is left after %s, a lease is %s", left, lease)
	}
}
