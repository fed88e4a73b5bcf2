package plan

var hostRemedies = []Remedy{}
