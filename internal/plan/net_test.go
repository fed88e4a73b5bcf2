package plan

var netTries = []try{}
