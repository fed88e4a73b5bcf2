// Package forecast says how long one token takes, and why: memory, kernels, host
// dispatch, synchronisation, wires and pipeline hops, for a model on a layout of
// ranks. Pure: tables and arguments in, a waterfall out.
//
// The model is small on purpose. A token costs the reading of the weights that it
// uses at the part of the stated memory bandwidth that engines reach, a little for
// each layer, two collectives for each layer when a layer is split over ranks, and a
// hop for each place where layers are handed on. What is fitted and to what is said
// beside each constant and in docs/forecast.md.
package forecast

// Ms is milliseconds.
type Ms float64

// Case is one thing to forecast: a model in a format, served by an engine, on ranks.
type Case struct {
	Model   Model
	Format  Format
	Engine  Engine
	Ranks   []Rank // in the order that the engine numbers them: stage by stage
	Layout  Layout
	Fabric  Fabric
	Batch   int // sequences decoded together; 0 is 1
	Context int // tokens in the KV cache of each sequence
	Prompt  int // tokens of a prompt, for the time to the first token
	Spec    Spec
	Local   float64 // what everything but the fabric is multiplied with, from a measured row; 0 is 1

	bits float64 // of a row: its average
}

// Rank is one GPU of one node.
type Rank struct {
	Node string
	HW   Hardware
}

// Layout is how the layers are spread: each layer over TP ranks, the layers over PP
// stages, the whole Replicas times (each replica has ranks of its own).
type Layout struct {
	TP       int   `json:"tp"`
	PP       int   `json:"pp"`
	Replicas int   `json:"replicas"`
	Layers   []int `json:"layers,omitempty"` // of each stage; nil is even
}

// Ranks is how many ranks one replica takes.
func (l Layout) Ranks() int { return l.TP * l.PP }

// Spec is speculative decoding: each step checks Draft guessed tokens and, on
// average, Accepted tokens come out of it (the one that is always right included).
type Spec struct {
	Draft    int     `json:"draft"`
	Accepted float64 `json:"accepted"`
}

// On reports whether there is speculation.
func (s Spec) On() bool { return s.Draft > 0 }
