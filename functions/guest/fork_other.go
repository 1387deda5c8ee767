//go:build unix && !linux

package guest

// canFork: libraries of other systems start threads that a fork can't know of, and nothing tells.
const canFork = false

func newForkPool(*Host, warmRules) warmProcesses { return coldProcesses{} }
