package why

import "weft/internal/rehearsal"

// Names of package rehearsal, until all who use them do so there.
type Rehearsal = rehearsal.Rehearsal

const MaxRehearsal = rehearsal.MaxFile

var ParseRehearsal = rehearsal.Parse
