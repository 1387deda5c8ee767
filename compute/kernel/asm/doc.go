// Command asm writes the assembly of compute/kernel, by avo. It is a module of its own, so that who
// uses Stoker doesn't need avo:
//
//	go generate ./compute/kernel
//
// A family is a file: what Go calls by one switch. Each family says once what is computed, in terms
// of a register of any width, and is written for AVX2 and for AVX-512. Its test fails where a
// committed file isn't what the command writes.
package main
