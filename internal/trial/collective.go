package trial

// Collective is one run of a collective over all GPUs of all nodes.
type Collective struct {
	Nodes     int             `json:"nodes"`
	Ranks     int             `json:"ranks"`
	Program   string          `json:"program"`             // "PyTorch", "nccl-tests"
	Versions  string          `json:"versions,omitempty"`  // "NCCL 2.28.3, PyTorch 2.9.0, NVIDIA H200"
	Transport string          `json:"transport,omitempty"` // what NCCL really used between nodes: "NET/IB/GDRDMA", "NET/Socket"
	Socket    bool            `json:"socket,omitempty"`    // it was TCP although there are RDMA ports
	Says      []string        `json:"says,omitempty"`      // what NCCL's log has to say
	Rows      []CollectiveRow `json:"rows,omitempty"`      // by size
}

// CollectiveRow is one size of message.
type CollectiveRow struct {
	Bytes   int64     `json:"bytes"`
	Seconds []float64 `json:"seconds"` // of one call, by the slowest rank
	Bus     []Amount  `json:"bus"`     // bus bandwidth of each, bit/s, as nccl-tests define it
}

// Largest is the row that shows bandwidth; nil when there is none.
func (c *Collective) Largest() *CollectiveRow {
	if c == nil || len(c.Rows) == 0 {
		return nil
	}
	best := &c.Rows[0]
	for i := range c.Rows {
		if c.Rows[i].Bytes > best.Bytes {
			best = &c.Rows[i]
		}
	}
	return best
}
