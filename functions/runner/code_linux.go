package runner

import (
	"io/fs"
	"syscall"
)

// inode distinguishes a file from another one in its place, and from itself after any change: no
// system call sets a ctime.
type inode struct {
	device, number uint64
	changed        syscall.Timespec
}

func changed(info fs.FileInfo) inode {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{uint64(stat.Dev), stat.Ino, stat.Ctim}
}
