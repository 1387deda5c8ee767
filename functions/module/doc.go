// Package module is what a Go user implements to train with Stoker, and the protocol between a worker and the process in
// which a module runs.
//
// # Protocol, version 1
//
// The worker starts the process and writes one Assignment as one line of JSON to its standard input; a process that serves
// several writes "done" after each and reads the next, and leaves when standard input ends. Progress goes as lines of JSON
// (Message) to the file descriptor that STOKER_PROGRESS_FD names, 3. Standard output and error are the job's log. SIGTERM means:
// write a checkpoint and leave, with exit status 75 (EX_TEMPFAIL). Results are files in the folders that the assignment names.
package module
