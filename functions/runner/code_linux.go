package runner

import (
	"io/fs"
	"syscall"
	"time"
)

// inode distinguishes a file from another one in its place, and from itself after any change: no
// system call sets a ctime.
type inode struct {
	device, number uint64
	changed        syscall.Timespec
}

// since returns how long ago the file was changed; 0 if that is unknown.
func (i inode) since() time.Duration {
	if i == (inode{}) {
		return 0
	}
	return time.Since(time.Unix(i.changed.Unix()))
}

func changed(info fs.FileInfo) inode {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{uint64(stat.Dev), stat.Ino, stat.Ctim}
}
