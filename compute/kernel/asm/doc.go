// Command asm generates the assembly of compute/kernel, with avo. It is a separate module, so that
// users of Stoker don't need avo:
//
//	go generate ./compute/kernel
//
// A family is a file: the functions that one switch in Go selects from. Each family describes the
// computation once, for a register of any width, and is generated for AVX2 and for AVX-512. A test
// fails if a committed file differs from the command's output.
package main
