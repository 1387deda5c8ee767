// Package logs reads the output of a run's module: while it runs, the end of it that the bus keeps;
// once it has ended, the whole log from the store. Read Printer first.
package logs
