// Package perftest reads what ib_write_bw, ib_send_lat and the other programs of
// perftest print, of every version, and writes their command lines. Pure: bytes in,
// values and line-numbered errors out.
package perftest

import (
	"net/netip"
	"time"

	"weft/internal/unit"
)

// Report is what one run printed. A zero value was not printed.
type Report struct {
	Test          string // the program: "ib_write_bw", "ib_atomic_lat", "raw_ethernet_bw"
	Bidirectional bool
	Events        bool // it slept on completion events instead of polling

	Device       string // "mlx5_0"
	Transport    string // "IB", "IW" (iWARP)
	Connection   string // "RC", "UC", "UD", "XRC", "DC", "SRD", "RawEth"
	LinkType     string // "IB", "Ethernet"
	MTU          int    // bytes
	GIDIndex     *int
	QPs          int
	TXDepth      int // of the client, and of both sides when bidirectional
	RXDepth      int // of a server that receives
	CQModeration int
	PostList     int
	Outstanding  int    // reads in flight
	Inline       *int   // bytes
	RDMACM       *bool  // rdma_cm connected the queue pairs
	Exchange     string // how the two sides met: "Ethernet" (a TCP socket), "rdma_cm"
	Memory       string // what the buffers are in: "cuda", "rocm"; "" is the host's, or was not said
	DMABuf       bool   // the GPU's memory was registered through dma-buf

	Local, Remote Address // of the first queue pair

	Rows     []Row
	Problem  *Problem // why there is no number, or why it is not to be trusted
	Warnings []Problem
}

// Address is one end of a queue pair.
type Address struct {
	LID  int
	QPN  int
	PSN  int
	RKey uint32
	GID  netip.Addr // not valid on InfiniBand without a GID index
}

// Row is one line of a table: one size, or one interval of a run without an end.
type Row struct {
	Line       int
	Size       unit.Size
	Iterations int64
	Side       string // "local" or "remote" where --report-both tells the directions apart

	// Of a bandwidth test. A bidirectional one prints the sum of both directions.
	Peak    unit.Rate // 0 when it was not measured, as in runs by duration
	Average unit.Rate
	MsgRate int64 // messages a second

	// Of a latency test: half the round trip, or the whole one of a read. A run by
	// duration prints the average alone, and how many there were.
	Min, Max, Typical, Avg, Stdev, P99, P999 time.Duration
	PerSecond                                float64

	CPUPercent float64 // with --cpu_util
}

// Bounds of what is read. A run without an end prints a row in five seconds: a week has
// 120,000.
const (
	maxRows     = 1 << 17
	maxWarnings = 50
)
