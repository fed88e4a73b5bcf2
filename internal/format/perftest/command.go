package perftest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/internal/unit"
)

// Options is one side of a run. Both sides are given the same, but for Host, Device, Port,
// GIDIndex, GPU and JSON.
type Options struct {
	Test string // the program: "ib_write_bw"
	Host string // the server's address; "": this is the server

	Device   string // "mlx5_0"
	Port     int    // of the device; 0: the first
	GIDIndex *int   // nil: perftest chooses, which on Ethernet it does badly
	TCPPort  int    // where the two sides meet; 0: 18515
	IPv6     bool   // they meet over IPv6
	CM       bool   // connect through rdma_cm, as iWARP needs

	Size       unit.Size     // 0: perftest's own, 64 KiB or 2 bytes
	Iterations int           // 0: perftest's own; not together with Duration
	Duration   time.Duration // whole seconds
	TXDepth    int
	MTU        int // bytes
	QPs        int
	SL         int // service level
	TClass     int // traffic class: four times the DSCP

	Bidirectional bool
	Events        bool // wait for completions instead of polling
	GPU           *GPU
	JSON          string // a file for the report

	// Offer is what the program has, of ReadHelp. nil: everything is believed to be there.
	Offer Offer
}

// GPU is the memory that the buffers are in.
type GPU struct {
	Kind   string // "cuda", "rocm"
	Number int
	DMABuf bool
}

// Tests are the programs that Command writes command lines for.
var Tests = []string{"ib_write_bw", "ib_write_lat", "ib_send_bw", "ib_send_lat", "ib_read_bw", "ib_read_lat"}

func (o Options) latency() bool { return strings.HasSuffix(o.Test, "_lat") }

// has reports whether the program has an option; where it is not known, it is believed.
func (o Options) has(name string) bool {
	_, ok := o.Offer[name]
	return ok || o.Offer == nil
}

// Command returns the program and its arguments. What a program does not have and the
// numbers do not need is left out; what it must have and does not, Check tells.
func Command(o Options) []string {
	argv := []string{o.Test}
	add := func(flag, value string) { argv = append(argv, flag, value) }
	number := func(flag string, n int) {
		if n > 0 {
			add(flag, strconv.Itoa(n))
		}
	}
	if o.Device != "" {
		add("-d", o.Device)
	}
	number("-i", o.Port)
	if o.GIDIndex != nil {
		add("-x", strconv.Itoa(*o.GIDIndex))
	}
	number("-p", o.TCPPort)
	if o.CM {
		argv = append(argv, "-R")
	}
	if o.Size > 0 {
		add("-s", strconv.FormatInt(int64(o.Size), 10))
	}
	if o.Duration > 0 {
		number("-D", int(o.Duration/time.Second))
	} else {
		number("-n", o.Iterations)
	}
	number("-t", o.TXDepth)
	number("-m", o.MTU)
	number("-q", o.QPs)
	number("-S", o.SL)
	if o.TClass > 0 {
		argv = append(argv, "--tclass="+strconv.Itoa(o.TClass))
	}
	if o.Bidirectional {
		argv = append(argv, "-b")
	}
	if o.Events {
		argv = append(argv, "-e")
	}
	argv = append(argv, "-F")
	if !o.latency() && o.has("report_gbits") {
		argv = append(argv, "--report_gbits")
	}
	argv = append(argv, o.gpu()...)
	if o.JSON != "" && o.has("out_json") && o.has("out_json_file") {
		argv = append(argv, "--out_json", "--out_json_file="+o.JSON)
	}
	if o.IPv6 && o.has("ipv6-addr") { // older versions take what the name gives
		argv = append(argv, "--ipv6-addr")
	}
	if o.Host != "" {
		argv = append(argv, o.Host)
	}
	return argv
}

// gpu writes --use_cuda before --use_cuda_dmabuf, which is refused the other way round.
// The first versions with CUDA take no number.
func (o Options) gpu() []string {
	if o.GPU == nil {
		return nil
	}
	use := "use_" + o.GPU.Kind
	argv := []string{"--" + use + "=" + strconv.Itoa(o.GPU.Number)}
	if takes, ok := o.Offer[use]; ok && !takes {
		argv = []string{"--" + use}
	}
	if o.GPU.DMABuf {
		argv = append(argv, "--"+use+"_dmabuf")
	}
	return argv
}

// Check tells why perftest would refuse the options, before it is started. The bounds are
// those of perftest_parameters.h, and of the program's own messages.
func (o Options) Check() error {
	use := ""
	if o.GPU != nil {
		use = "use_" + o.GPU.Kind
	}
	between := func(what string, n, low, high int) error {
		if n != 0 && (n < low || n > high) {
			return fmt.Errorf("%s %d is not between %d and %d", what, n, low, high)
		}
		return nil
	}
	for _, err := range []error{
		between("port", o.Port, 1, 254),
		between("TCP port", o.TCPPort, 1, 65535),
		between("size", int(o.Size), 1, 1<<31-1),
		between("number of iterations", o.Iterations, 5, 100_000_000),
		between("depth", o.TXDepth, 1, 15_000),
		between("number of queue pairs", o.QPs, 1, 16_384),
		between("service level", o.SL, 0, 15),
		between("traffic class", o.TClass, 0, 255),
	} {
		if err != nil {
			return err
		}
	}
	takes, offered := o.Offer[use]
	switch {
	case !known(o.Test):
		return fmt.Errorf("%q is not a test of perftest that weft runs", o.Test)
	case dash(o.Host) || dash(o.Device):
		return fmt.Errorf("host %q, device %q: a name may not begin with a dash", o.Host, o.Device)
	case o.GIDIndex != nil && (*o.GIDIndex < 0 || *o.GIDIndex > 64):
		return fmt.Errorf("GID index %d is not between 0 and 64", *o.GIDIndex)
	case o.MTU != 0 && (o.MTU < 256 || o.MTU > 4096 || o.MTU&(o.MTU-1) != 0):
		return fmt.Errorf("MTU %d is not 256, 512, 1024, 2048 or 4096", o.MTU)
	case o.Duration != 0 && (o.Duration < time.Second || o.Duration%time.Second != 0):
		return fmt.Errorf("duration %s is not whole seconds", o.Duration)
	case o.Duration != 0 && o.Iterations != 0:
		return fmt.Errorf("%s is run by duration or by iterations, not by both", o.Test)
	case o.Events && strings.HasPrefix(o.Test, "ib_write_"):
		return fmt.Errorf("%s cannot wait for events: nothing completes at the side that is written to", o.Test)
	case o.Events && o.Duration != 0:
		return fmt.Errorf("%s cannot wait for events in a run by duration", o.Test)
	case o.Bidirectional && o.latency():
		return fmt.Errorf("%s has one direction at a time", o.Test)
	case o.QPs > 1 && o.latency():
		return fmt.Errorf("%s has one queue pair", o.Test)
	case o.GPU == nil:
		return nil
	case o.GPU.Kind != "cuda" && o.GPU.Kind != "rocm" || o.GPU.Number < 0:
		return fmt.Errorf("%s %d is no GPU", o.GPU.Kind, o.GPU.Number)
	case o.GPU.Kind == "cuda" && o.Test == "ib_write_lat":
		return fmt.Errorf("ib_write_lat cannot poll the memory of a CUDA GPU; ib_send_lat and ib_read_lat need not")
	case !o.has(use):
		return fmt.Errorf("%s was built without --%s", o.Test, use)
	case offered && !takes && o.GPU.Number != 0:
		return fmt.Errorf("%s is old: its --%s takes the first GPU, not number %d", o.Test, use, o.GPU.Number)
	case o.GPU.DMABuf && !o.has(use+"_dmabuf"):
		return fmt.Errorf("%s was built without --%s_dmabuf", o.Test, use)
	}
	return nil
}

func dash(s string) bool { return strings.HasPrefix(s, "-") }

func known(test string) bool {
	for _, t := range Tests {
		if t == test {
			return true
		}
	}
	return false
}
