// Package terminal prints results and progress: results as tables, JSON or YAML on standard output,
// progress as a bar on a terminal and as lines elsewhere. Much of that text comes from publishers,
// modules and servers. Stream makes all of it safe, by means of Safe, Line and Lines. Read Stream,
// Print and Display first.
package terminal
