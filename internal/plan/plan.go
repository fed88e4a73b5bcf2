// Package plan turns findings and the owner's wishes into exact changes: every step
// says what, from, to, the commands and files, the undo, the risk and the check that
// passes afterwards. Pure: a plan is data, and nothing here changes a machine.
package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Plan is what would make a cluster right.
type Plan struct {
	ID     string         `json:"id"`               // when it was made: "20261115-093412"
	Source string         `json:"source"`           // what was looked at: "weft.yaml", "this machine"
	Nodes  []Node         `json:"nodes"`            // what the plan was made from, a node each
	Steps  []Step         `json:"steps"`            // in the order in which a node takes them
	Hand   []Hand         `json:"hand"`             // what only a person can do
	After  map[string]int `json:"after"`            // how many findings of each status should be left
	Unseen int            `json:"unseen,omitempty"` // how many more can be judged only when the steps are done
}

// Node is a node of a plan and the facts that the plan rests on.
type Node struct {
	Name string `json:"name"`
	Hash string `json:"hash"` // of all its facts below

	// Facts are those that must not have moved when the plan is applied: path → value.
	Facts map[string]string `json:"facts"`
}

// Step is one change on one node. On the node its files come first and then its
// commands, both when it is done and when it is undone; steps are undone in reverse.
type Step struct {
	Node string `json:"node"`
	What string `json:"what"` // the fact that changes: "net/rail0/mtu"; see Set
	From string `json:"from"`
	To   string `json:"to"`

	Files []File `json:"files,omitempty"` // for the next boot: written whole, put back whole

	// Do and Undo are shell lines, run as root, for now. Every line may be run again and
	// succeeds again, so that an undo works whether the step was done, half done or not
	// done at all. Shows is a line that prints the value at stake and nothing else: it
	// is kept before the change, and must print the same after an undo.
	Do    []string `json:"do,omitempty"`
	Undo  []string `json:"undo,omitempty"`
	Shows string   `json:"shows,omitempty"`

	Keeps   []string `json:"keeps,omitempty"`   // files that Do rewrites: kept before, put back byte for byte
	Lasts   bool     `json:"lasts,omitempty"`   // Do changes more than the running kernel, Files and Keeps: Undo is needed after a reboot, too
	Seconds int      `json:"seconds,omitempty"` // how long Do or Undo may take; 0 is 60

	Risk Risk     `json:"risk,omitempty"`
	When When     `json:"when,omitempty"` // from when on it holds
	Note string   `json:"note,omitempty"` // what a person should know before saying yes
	Then []string `json:"then"`           // the checks that pass afterwards
}

// File is a file that a step writes or removes. A symbolic link holds its target.
type File struct {
	Path string  `json:"path"`
	Old  *string `json:"old"`            // what it holds now; null when it is not there
	New  *string `json:"new"`            // null when it goes
	Mode uint32  `json:"mode,omitempty"` // of a file that is new, 0 is 0644; one that is there keeps its own
	Link bool    `json:"link,omitempty"` // it is a symbolic link
}

// Risk is what can go wrong for others while a step is made. It is accepted by name.
type Risk string

// The risks, from none to the worst.
const (
	RiskNone Risk = ""
	RiskLink Risk = "link" // a data link drops for a moment
	RiskSSH  Risk = "ssh"  // weft itself may lose the node
	RiskBoot Risk = "boot" // the next boot is different
)

// RiskOf is a risk and what it means.
type RiskOf struct {
	Risk Risk
	What string
}

// Risks lists the risks that must be accepted, with what they mean.
var Risks = []RiskOf{
	{RiskLink, "a data link drops for a moment: RDMA connections over it end"},
	{RiskSSH, "the management network changes: weft may lose the node, and the node comes back by itself"},
	{RiskBoot, "the next boot is different: a kernel parameter or an initial ramdisk"},
}

// When says from when on a step holds.
type When string

// The times.
const (
	Now   When = ""
	Login When = "login" // from the next login on
	Boot  When = "boot"  // from the next boot on
)

// Hand is what only a person can do: a cable, a slot, a BIOS setting, a reboot.
type Hand struct {
	Node  string   `json:"node,omitempty"` // "" is the cluster
	Part  string   `json:"part,omitempty"`
	Check string   `json:"check"`
	What  string   `json:"what"`          // what is wrong
	Do    []string `json:"do"`            // in order
	Why   string   `json:"why,omitempty"` // why weft does not do it
}

// hash is of a node's facts.
func hash(facts map[string]string) string {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(facts)) {
		b, _ := json.Marshal([]string{k, facts[k]}) // strings always marshal
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Seconds is how long a step may take, each way.
func (s *Step) Limit() int { return cmp.Or(s.Seconds, 60) }

// Risks returns the risks of a plan, each once, in the order of the table.
func (p *Plan) Risks() (out []Risk) {
	for _, r := range Risks {
		if slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Risk == r.Risk }) {
			out = append(out, r.Risk)
		}
	}
	return out
}

// Of returns the steps of one node, in order.
func (p *Plan) Of(node string) (steps []Step) {
	for _, s := range p.Steps {
		if s.Node == node {
			steps = append(steps, s)
		}
	}
	return steps
}
