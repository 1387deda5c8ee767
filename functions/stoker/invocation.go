package main

import (
	"path/filepath"
	"strings"
)

// command is how a user types a command of this program so that it finds the same data: called as this one was.
func (a *app) command(args string) string {
	words := []string{invocation(a.self), args}
	if a.dataDir != defaultDataDir() {
		words = append(words, "--data", quoted(a.dataDir))
	}
	return strings.Join(words, " ")
}

// commandOf is command for words that are not quoted yet.
func (a *app) commandOf(words ...string) string {
	quotedWords := make([]string, len(words))
	for i, word := range words {
		quotedWords[i] = quoted(word)
	}
	return a.command(strings.Join(quotedWords, " "))
}

// invocation is what to type for a program that was called as self. go run starts one that lies in a folder of its own
// making, or in its cache, where nobody would look for it.
func invocation(self string) string {
	if strings.Contains(filepath.ToSlash(self), "/go-build") {
		return "go run ./functions/stoker"
	}
	return quoted(self)
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+@%,"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
