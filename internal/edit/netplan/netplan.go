// Package netplan writes netplan's YAML. Pure: text in, text out.
package netplan

import (
	"errors"

	"weft/internal/edit"
)

// New returns a whole new file for these interfaces; renderer "" leaves the choice to
// other files.
func New(wants []edit.Netdev, renderer string) (string, error) { return "", errors.New("not yet") }

// Set changes the block of one interface, or appends one.
func Set(text string, want edit.Netdev) (string, error) { return "", errors.New("not yet") }

// Names lists the interfaces that the text defines.
func Names(text string) ([]string, error) { return nil, errors.New("not yet") }
