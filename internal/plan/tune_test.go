package plan

var tuneTries = []try{}
