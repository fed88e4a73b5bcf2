// Package networkd writes systemd's .network files. Pure: text in, text out.
package networkd

import (
	"errors"

	"weft/internal/edit"
)

// New returns a whole new file for one interface.
func New(want edit.Netdev) (string, error) { return "", errors.New("not yet") }

// Set changes a file.
func Set(text string, want edit.Netdev) (string, error) { return "", errors.New("not yet") }

// Matches says whether the file is for exactly this interface, or may be for it among others.
func Matches(text, name string) (exact, glob bool) { return false, false }
