package plan

var bootTries = []try{}
