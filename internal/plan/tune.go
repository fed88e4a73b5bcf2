package plan

var tuneRemedies = []Remedy{}
