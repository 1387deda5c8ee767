// Package bustest holds what every letterbox must do (Run), and a letterbox in memory (Memory) for fast tests of what
// stands on one.
package bustest
