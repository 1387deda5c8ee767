package tfrecord

import "testing"

func TestTheLimitOfAProcessIsThatOfItsEnvironment(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]int{"": DefaultLimit, "1": 1 << 20, "512": 512 << 20, "2047": 2047 << 20} {
		if got, err := chooseLimit(asked), checkLimit(asked); got != want || err != nil {
			t.Errorf("%q is a limit of %d bytes, want %d; %v", asked, got, want, err)
		}
	}
	for _, asked := range []string{"0", "-1", "2048", "1GiB", "1e3", " 1", "99999999999999999999"} {
		if got, err := chooseLimit(asked), checkLimit(asked); got != DefaultLimit || err == nil {
			t.Errorf("%q is a limit of %d bytes; %v", asked, got, err)
		}
	}
}
