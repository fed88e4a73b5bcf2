package ib

// Fault is something that can be broken in a fabric, and what weft should say.
type Fault struct {
	Name  string `json:"name"`
	What  string `json:"what"`
	Whole string `json:"whole,omitempty"` // the check that fails when it is the whole fabric's
	Host  string `json:"host,omitempty"`  // … when it is at a host
	Trunk string `json:"trunk,omitempty"` // … when it is at a link between switches
}

// Faults lists what can be broken.
var Faults = []Fault{
	{Name: "no-sm", What: "no subnet manager runs", Whole: "ib.sm"},
	{Name: "two-sms", What: "two subnet managers are MASTER and ignore each other", Whole: "ib.sm"},
	{Name: "host-gone", What: "a host's cable is pulled", Host: "port.up"},
	{Name: "narrow-link", What: "one of four lanes is left", Host: "port.rate", Trunk: "fabric.switch"},
	{Name: "slow-link", What: "a link runs at EDR, though both ends can do HDR", Host: "port.rate", Trunk: "fabric.switch"},
	{Name: "errors", What: "error counters grow, symbol and receive errors, 40 a second each", Host: "port.errors", Trunk: "fabric.switch"},
}
