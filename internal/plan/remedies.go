package plan

import "slices"

// Remedies lists what weft can mend, in the order in which a node takes the steps: the
// host first, then links and addresses, then tuning, then what needs a boot.
var Remedies = slices.Concat(hostRemedies, netRemedies, tuneRemedies, bootRemedies)
