package process

import "os"

// IsScript reports whether the kernel runs a program by an interpreter that its first line names.
func IsScript(program *os.File) bool {
	var first [2]byte
	_, err := program.ReadAt(first[:], 0)
	return err == nil && string(first[:]) == "#!"
}
