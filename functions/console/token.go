package console

import "crypto/rand"

// NewToken makes a random token: 26 letters and digits.
func NewToken() string { return rand.Text() }
