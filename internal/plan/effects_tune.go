package plan

var tuneEffects = []effect{}

var clusterEffects = []clusterEffect{}
