package prove

import (
	"weft/internal/check"
	"weft/internal/trial"
)

// Paths is what facts say of every end of rails: how RDMA and IP leave by it. weft watch
// pings by them.
func Paths(c *check.Case, rails []trial.Rail) map[trial.End]Path { return paths(c, rails) }
