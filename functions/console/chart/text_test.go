package chart

import "testing"

func TestADigestIsCutAndANameIsNot(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"sha256:0123456789abcdef0123": "0123456789ab", "0123456789abcdef0123": "0123456789ab", "sha256:01": "01", "": "", "builtin:dnn@7": "builtin:dnn@7",
	} {
		if got := ShortDigest(given); got != want {
			t.Errorf("%s: got %q, want %q", given, got, want)
		}
	}
}
