package check

import "testing"

func TestFabricSharing(t *testing.T) {
	judge(t, fabricSharing, []row{
		{name: "nothing said", want: "cluster skip: weft.yaml does not say what the cluster is for"},
		{name: "training", do: func(c *Case) { c.Want.Purpose = "training" }, want: "cluster pass: training alone"},
		{name: "both", do: func(c *Case) { c.Want.Purpose = "both" }, fix: "L3 router",
			want: "cluster warn: training and inference on one fabric, want a fabric for each: a training run's bursts starve the small, steady messages of inference, and the two want different QoS"},
		{name: "both on one machine", do: func(c *Case) { c.Want.Purpose = "both"; c.Nodes = c.Nodes[:1] }, want: "cluster skip: one node has no fabric to share"},
	})
}
