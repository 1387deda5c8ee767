package kernel

import (
	"fmt"
	"os"

	"golang.org/x/sys/cpu"
)

// Level is what the kernels of a process are made of.
type Level int

// The levels, from the slowest.
const (
	Portable Level = iota // Go, on any processor
	AVX2                  // amd64 with AVX2 and FMA: 8 numbers at once
	AVX512                // amd64 with AVX-512 F, BW, DQ and VL: 16 numbers at once
)

// EnvLevel is the environment variable that asks for a lower level than the processor's: portable, avx2 or avx512. It is for
// tests, and for those who compare two machines to the last bit.
const EnvLevel = "STOKER_KERNELS"

// level is chosen once, at start.
var level = chooseLevel(os.Getenv(EnvLevel), processorLevel())

// CurrentLevel is the Level of this process.
func CurrentLevel() Level { return level }

func (l Level) String() string {
	switch l {
	case Portable:
		return "portable"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return fmt.Sprintf("Level(%d)", int(l))
}

func processorLevel() Level {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX2 && x.HasFMA:
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	}
	return Portable
}

// chooseLevel is the level that was asked for where the processor has it, else the processor's.
func chooseLevel(asked string, processor Level) Level {
	for l := Portable; l <= processor; l++ {
		if l.String() == asked {
			return l
		}
	}
	return processor
}
