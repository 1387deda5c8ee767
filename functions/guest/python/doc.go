// Package python holds what it takes to run a TFX module file: the environments that TensorFlow is in, the driver that runs the
// module in a process, and the shim that stands in for the tfx package. It starts no modules itself: functions/guest does.
//
// # The driver
//
// driver/ is Python, embedded here and laid out in the cache folder. The command is
//
//	<interpreter> -m stoker_guest <mode>
//
// Mode job reads two lines from standard input, a Setup and an Assignment of functions/module, works on that one assignment, and
// leaves. Progress, "done" and "error" go to STOKER_PROGRESS_FD as of any module. Mode idle imports what modules need first, and reads
// then: a process that waits warm and is used once. Mode fork imports the same, and forks a process in mode job for each request
// on its socket.
//
// driver/stoker is the package that a module may import: stoker.report, stoker.checkpoint.
package python
