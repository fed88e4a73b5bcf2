package plan

var tuneEffects = []effect{}
