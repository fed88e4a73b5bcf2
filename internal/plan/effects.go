package plan

import "slices"

// effects lists every fact that a step can change.
var effects = slices.Concat(hostEffects, netEffects, tuneEffects, bootEffects)
