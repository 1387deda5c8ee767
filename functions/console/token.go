package console

import "crypto/rand"

// NewToken makes a token that nobody guesses: 26 letters and digits.
func NewToken() string { return rand.Text() }
