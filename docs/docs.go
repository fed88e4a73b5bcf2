// Package docs holds the pages that weft prints itself. Pure.
package docs

import "embed"

// Checks holds one page per check: checks/ID.md.
//
//go:embed checks/*.md
var Checks embed.FS

// Trials holds one page per trial: trials/ID.md.
//
//go:embed trials/*.md
var Trials embed.FS
