// Package bustest holds what every bus must do (Run), and a bus in memory (Memory) for fast tests of what
// stands on one.
package bustest
