package fingerprint_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/fingerprint"
)

// TensorFlow puts these strings into these of 10 buckets (tf.strings.to_hash_bucket_fast).
func TestFingerprintsAreTensorFlows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"": 3, "a": 9, "Taxi": 0} {
		if got := fingerprint.Of([]byte(text)) % 10; got != want {
			t.Errorf("%q is in bucket %d, want %d", text, got, want)
		}
	}
}

// The values are those of the graph op and of the model, which agreed with TensorFlow's crosses
// before they shared Join.
func TestJoinedFingerprintsStayTheSame(t *testing.T) {
	t.Parallel()
	for want, pair := range map[uint64][2]uint64{14454907135238785252: {1, 2}, 16352861392781929902: {0xDECAFCAFFE, 7}} {
		if got := fingerprint.Join(pair[0], pair[1]); got != want {
			t.Errorf("%v are joined to %d, want %d", pair, got, want)
		}
	}
}
