package plan

var hostTries = []try{}
