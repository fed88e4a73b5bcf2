package plan

var bootEffects = []effect{}
