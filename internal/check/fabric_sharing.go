package check

var fabricSharing = Check{
	ID:    "fabric.sharing",
	Title: "Training and inference do not share a fabric",
	Judge: func(c *Case) []Finding {
		switch {
		case c.Want.Purpose == "":
			return skip("weft.yaml does not say what the cluster is for")
		case c.Want.Purpose != "both":
			return []Finding{{Got: c.Want.Purpose + " alone"}}
		case len(c.Up()) < 2:
			return skip("one node has no fabric to share")
		}
		return []Finding{{Status: Warn, Got: "training and inference on one fabric", Want: "a fabric for each",
			Why: "a training run's bursts starve the small, steady messages of inference, and the two want different QoS",
			Fix: []string{"split the nodes into two clusters whose fabrics meet only at an L3 router, each with its own weft.yaml",
				"until then: run one of the two at a time, or accept fabric.sharing in weft.yaml"}}}
	},
}
