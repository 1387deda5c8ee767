// Package watch prints what happens, line by line: events, state changes of runs, and progress,
// from a bus that may go away in between. Read Lines first.
package watch
