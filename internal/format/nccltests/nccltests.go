// Package nccltests reads what the programs of nccl-tests and rccl-tests print, of all
// ages and however they were started, and what PyTorch scripts that measure the same
// print. Pure: bytes in, values and line-numbered errors out.
package nccltests

import (
	"time"

	"weft/internal/unit"
)

// Report is what one run printed. A zero value was not printed.
type Report struct {
	Op      string // "all_reduce"; where a text has several, the first: see the rows
	Version string // of nccl-tests: "2.17.6"
	NCCL    string // of the library: "2.28.3"; of RCCL where that runs
	Torch   string // of a PyTorch script
	GPU     string // the first GPU's name

	Threads       int // of each process
	GPUsPerThread int
	Min, Max      unit.Size // of the sizes asked for
	Warmup        int
	Iterations    int
	Checked       *bool // whether the data was looked at

	Ranks   int
	Nodes   int // 0 where the list of devices was cut
	Devices []Device

	Rows        []Row
	AverageBus  *unit.Rate // over all rows, small ones too: of little use
	OutOfBounds *int       // wrong results, of all rows

	Problem  *Problem // why there is no number, or why it is not to be trusted
	Warnings []Problem
}

// Device is one line of the list of devices: a rank and its GPU.
type Device struct {
	Rank   int
	Group  int
	PID    int
	Host   string
	Number int    // of the GPU, on its host
	Bus    string // PCI: "000f:01:00", "0x1a" (the bus alone) of older versions
	Name   string
}

// Row is one size.
type Row struct {
	Line  int
	Op    string
	Size  unit.Size
	Count int64 // elements of each rank
	Type  string
	RedOp string // "sum", "none"
	Root  *int   // nil where there is none

	Out *Result // from one buffer to another
	In  *Result // within one buffer

	Samples []time.Duration // where each iteration was told: of weft's own script
}

// Result is what one size took.
type Result struct {
	Time  time.Duration
	Alg   unit.Rate // the size by the time
	Bus   unit.Rate // what the links had to carry: see BusBW
	Wrong *int64    // elements; nil where it was not looked at
	Delta *float64  // the largest error, as programs before 2022 print instead

	Min, Max, P99 time.Duration // of the iterations, where the program tells
}

// Bounds of what is read.
const (
	maxRows     = 1 << 16
	maxDevices  = 1 << 17
	maxSamples  = 1 << 16
	maxWarnings = 50
)
