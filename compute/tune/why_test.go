package tune

import "testing"

// Each reason has a text; one of a newer version is printed as it is.
func TestWhyASearchIsOverIsSaidInWords(t *testing.T) {
	t.Parallel()
	for _, why := range []Why{Exhausted, MaxTrials, OutOfTime, GoalReached, NoBetter, Failing, Stopped, Cancelled} {
		if words := why.InWords(); words == string(why) {
			t.Errorf("%s has no words", why)
		}
	}
	if words := Why("moon_is_full").InWords(); words != "moon_is_full" {
		t.Errorf("an unknown reason is described as %q", words)
	}
}
