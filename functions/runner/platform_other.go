//go:build !linux

package runner

import (
	"io/fs"
)

// inode is not available here.
type inode struct{}

func changed(fs.FileInfo) inode { return inode{} }

// canFork is false: libraries of other systems start threads that a fork loses without notice.
const canFork = false

func newForkPool(*Runner, warmRules) warmProcesses { return coldProcesses{} }
