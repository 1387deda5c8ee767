//go:build unix && !linux

package runner

// canFork: libraries of other systems start threads that a fork can't know of, and nothing tells.
const canFork = false

func newForkPool(*Runner, warmRules) warmProcesses { return coldProcesses{} }
