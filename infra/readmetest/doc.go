// Package readmetest runs the commands that the README and other pages show, as a new user on a
// fresh machine would type them, and compares their output with the output that the page shows.
//
// # Format of a page
//
// Commands are in blocks fenced as console. A line that begins with "$ " is a command; lines that
// begin with "> " directly below it continue it. The other lines, up to the next command, are the
// expected output, including standard error: "..." within a line stands for any text, and a line of
// "..." alone for any number of lines. A command with no output below it may print anything. Every
// command must end with exit status 0.
//
// All blocks are typed into one shell, one after another, so that cd and export have effect on
// later blocks. An HTML comment before a block changes how it is run:
//
//	<!-- ci: background -->        the block has one command, which runs until the last block is
//	                               done, in a separate terminal and in the shell's working
//	                               directory. It is then ended as by Ctrl-C. The block must show
//	                               its first output: the next block waits for that
//	<!-- ci: skip because ... -->  the block is not run, for the reason given
//
// A block fenced as sh, bash, shell or zsh is an error, because its commands would not be run.
//
// Read Block first, then Run. Machine is the fresh machine.
package readmetest
