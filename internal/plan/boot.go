package plan

var bootRemedies = []Remedy{}
