// Package logs reads what the module of a run prints: while it runs, the end that the bus keeps;
// once it has ended, the whole log from the store. Read Printer first.
package logs
