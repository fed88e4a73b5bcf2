package check

// All lists every check in the order people should read them: can we see, is it
// plugged, does it run, is it tuned.
var All = []Check{
	roceV2,
	roceGID,
	roceGIDIndex,
	roceMTU,
	roceMTUPath,
	rocePFC,
	roceTrust,
	roceTC,
	roceECN,
	rocePause,
	roceIRDMA,
	roceMixed,
	roceSubnets,
	planeSeparate,
	planeRoute,
}

// ByID returns the check with that ID.
func ByID(id string) (Check, bool) {
	for _, ck := range All {
		if ck.ID == id {
			return ck, true
		}
	}
	return Check{}, false
}
