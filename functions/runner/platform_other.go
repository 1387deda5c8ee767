//go:build !linux

package runner

import (
	"io/fs"
	"time"
)

// inode is not available here.
type inode struct{}

// since is unknown here.
func (inode) since() time.Duration { return 0 }

func changed(fs.FileInfo) inode { return inode{} }

// canFork is false: libraries of other systems start threads that a fork loses without notice.
const canFork = false

func newForkPool(*Runner, warmRules) warmProcesses { return coldProcesses{} }
