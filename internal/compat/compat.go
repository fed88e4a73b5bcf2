// Package compat is the matrix of what works with what: GPU and feature; GPU,
// quantisation and engine; kernel and ROCm; NIC and operating system. Every cell
// has a source and a date, and unknown is an answer. Pure: the tables are CSV
// files that come with the program.
package compat

import (
	"embed"
	"io/fs"
	"sync"
)

// The answers of a cell. Partly says how.
const (
	Yes     = "yes"
	Partly  = "partly"
	Unknown = "unknown"
	No      = "no"
)

// Answers lists them, best first.
var Answers = []string{Yes, Partly, Unknown, No}

// Tables are the names of the matrix's tables, in the order people read them.
const (
	GPUFeature = "gpu-feature"
	GPUQuant   = "gpu-quant"
	KernelROCm = "kernel-rocm"
	NICOS      = "nic-os"
	NICFeature = "nic-feature"
	Firmware   = "firmware"
)

// Cell is one answer of the matrix with where it comes from.
type Cell struct {
	Table   string `json:"table"`
	GPU     string `json:"gpu,omitempty"`
	NIC     string `json:"nic,omitempty"`
	Feature string `json:"feature,omitempty"`
	Engine  string `json:"engine,omitempty"`
	Quant   string `json:"quant,omitempty"`
	Model   string `json:"model,omitempty"` // "dense", "moe"
	OS      string `json:"os,omitempty"`
	Kernel  string `json:"kernel,omitempty"`
	ROCm    string `json:"rocm,omitempty"`
	Version string `json:"version,omitempty"` // firmware
	Nodes   string `json:"nodes,omitempty"`   // node set that it is about; "" when it is about no cluster

	Answer  string `json:"answer"`
	How     string `json:"how,omitempty"`
	Instead string `json:"instead,omitempty"`
	Source  string `json:"source"` // what the source is called; "" when nobody has said anything
	Where   string `json:"where"`
	Date    string `json:"date"`            // the day that the source carries, else the day it was read
	Asked   bool   `json:"asked,omitempty"` // counts for the verdict on a cluster
}

// said is what a rule says: the part that all tables share.
type said struct {
	answer, how, instead, source, date string
}

// fill puts what was said, and where, into a cell.
func (d *Data) fill(c Cell, s said, ok bool) Cell {
	if !ok {
		c.Answer, c.How = Unknown, "nobody has told weft"
		return c
	}
	src := d.sources[s.source]
	c.Answer, c.How, c.Instead, c.Source, c.Where, c.Date = s.answer, s.how, s.instead, src.Title, src.Where, s.date
	return c
}

// Source is where a cell comes from.
type Source struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Where string `json:"where"`
}

// Feature is something a GPU or a NIC can have.
type Feature struct {
	ID      string
	GPU     bool // asked of GPUs
	NIC     bool // asked of NICs
	What    string
	Instead string
}

// Name is something that people call by several names.
type Name struct {
	ID    string
	Also  []string
	Title string
}

// OS is a distribution and release.
type OS struct {
	Name
	distro, version string // os-release ID, or a word of ID_LIKE for "rhel"; beginning of VERSION_ID
}

// Data is the matrix.
type Data struct {
	sources  map[string]Source
	newest   map[string]string // source → the newest date that a row gives for it
	Features []Feature
	Engines  []Name
	Quants   []Name
	OSes     []OS
	GPUs     []Name // ID is platform.GPU's Match
	NICs     []string

	featureAlso map[string][]string
	features    []featureRule
	quants      []quantRule
	kernels     []kernelRule
	systems     []systemRule
	cards       []featureRule
	models      []modelRule
}

type featureRule struct {
	said
	feature string
	on      []string
}

type quantRule struct {
	said
	engines, quants, on []string
	model               string // "dense", "moe", "any"
}

type kernelRule struct {
	said
	on       []string
	from, to string // ROCm releases, both inside; "" is any
	kernel   string // "fixed", "older", "ubuntu-older"
}

type systemRule struct {
	said
	on, oses []string
}

type modelRule struct {
	match, kind, quant string
}

//go:embed data/*.csv
var files embed.FS

// The matrix that comes with weft. A test reads it; a broken one does not ship.
var whole = sync.OnceValue(func() *Data {
	sub, err := fs.Sub(files, "data")
	if err != nil {
		panic(err)
	}
	d, err := Read(sub)
	if err != nil {
		panic(err)
	}
	return d
})

// Matrix returns the matrix.
func Matrix() *Data { return whole() }
