package trial

import "time"

// Cost is what measuring takes, as it was measured.
type Cost struct {
	Open  time.Duration // to put a meter on a node that has weft already
	Width int           // nodes that are opened at the same time
	Round time.Duration // all trials over the pairs of one round, set-up included
}

// Clock is how long a proof of so many nodes takes at that cost: meters are put on nodes
// Width at a time, then round follows round. Suspects, which come on top, are not foreseen.
func (c Cost) Clock(nodes int, rounds []Round) time.Duration {
	opens := (nodes + c.Width - 1) / c.Width
	return time.Duration(opens)*c.Open + time.Duration(len(rounds))*c.Round
}
