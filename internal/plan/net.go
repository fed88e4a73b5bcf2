package plan

var netRemedies = []Remedy{}
