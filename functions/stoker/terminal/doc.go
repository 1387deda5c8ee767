// Package terminal prints results and progress: results as tables, JSON or YAML on standard output, progress as a bar on a terminal and as
// lines elsewhere. Others write much of that text: publishers, modules, servers. Stream makes all of it safe, and Safe, Line and Lines are
// how. Read Stream, Print and Display first.
package terminal
