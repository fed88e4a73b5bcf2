// Package keyfile writes NetworkManager's connection files. Pure: text in, text out.
package keyfile

import (
	"errors"

	"weft/internal/edit"
)

// New returns a whole new connection for one interface.
func New(want edit.Netdev, uuid string) (string, error) { return "", errors.New("not yet") }

// Set changes a connection.
func Set(text string, want edit.Netdev) (string, error) { return "", errors.New("not yet") }
