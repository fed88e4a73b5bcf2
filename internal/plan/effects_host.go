package plan

var hostEffects = []effect{}
