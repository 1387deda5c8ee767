// Package terminal is how results and progress look: results as tables, JSON or YAML on standard output, progress as a bar on a terminal
// and as lines elsewhere. It asks nobody anything. Read Print and Display first.
package terminal
