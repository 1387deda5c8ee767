// Package readmetest runs the commands that a README shows, as a newcomer on a fresh machine would
// type them, and compares what they print with what the README says they print.
//
// # What a README writes
//
// A block of commands is fenced as console. A line that begins with "$ " is a command, and lines
// right after it that begin with "> " go on with it. The other lines up to the next command are
// what it prints, standard error too: "..." inside a line stands for any text, a line of "..."
// alone for any number of lines. A command with nothing below it may print what it likes. Every
// command has to end well, with exit status 0.
//
// All blocks are typed into one shell, one after the other, so that cd and export last. An HTML
// comment before a block says what is different about it:
//
//	<!-- ci: background -->            its one command runs on, in a terminal of its own and in the folder where the
//	                                   shell then is, until the last block is done; it is then ended as Ctrl-C does.
//	                                   What it prints at first has to be shown: the next block waits for that
//	<!-- ci: skip because ... -->      not run, for the reason given
//
// A block fenced as sh, bash, shell or zsh is an error: nobody would notice when its commands stop
// working.
//
// Read Block first, then Run; Machine is the fresh machine.
package readmetest
