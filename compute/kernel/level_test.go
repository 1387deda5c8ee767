package kernel

import "testing"

func TestALevelThatCannotBeHadIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked     string
		processor Level
		want      string
	}{
		{"", AVX512, ""},
		{"portable", Portable, ""},
		{"avx2", AVX512, ""},
		{"avx512", AVX512, ""},
		{"avx", AVX512, `STOKER_KERNELS="avx": expected portable, avx2 or avx512, or nothing for what the processor has`},
		{"AVX2", AVX2, `STOKER_KERNELS="AVX2": expected portable, avx2 or avx512, or nothing for what the processor has`},
		{"avx512", AVX2, "STOKER_KERNELS=avx512: this processor has no more than avx2"},
		{"avx2", Portable, "STOKER_KERNELS=avx2: this processor has no more than portable"},
	} {
		got := ""
		if err := checkLevel(c.asked, c.processor); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q on a processor with %v: %q, expected %q", c.asked, c.processor, got, c.want)
		}
	}
}
