// Package bustest holds the suite that every bus must pass (Run), and an in-memory bus (Memory) for
// fast tests of its users.
package bustest
