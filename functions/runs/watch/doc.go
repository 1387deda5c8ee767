// Package watch tells what happens, line by line: facts, how runs move, and progress, from a bus that may go away in between. Read Lines
// first.
package watch
