package prove

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format/nccllog"
	"weft/internal/format/nccltests"
	"weft/internal/meter"
	"weft/internal/transport"
	"weft/internal/trial"
	"weft/internal/unit"
)

//go:embed collective.py
var collectiveScript string

// operations are the collectives by their trial, as PyTorch's script and nccl-tests call
// them.
var operations = map[string]struct{ torch, tests string }{
	"nccl.allreduce":     {"all_reduce", "all_reduce_perf"},
	"nccl.allgather":     {"all_gather", "all_gather_perf"},
	"nccl.reducescatter": {"reduce_scatter", "reduce_scatter_perf"},
	"nccl.alltoall":      {"alltoall", "alltoall_perf"},
	"nccl.broadcast":     {"broadcast", "broadcast_perf"},
	"nccl.reduce":        {"reduce", "reduce_perf"},
	"nccl.sendrecv":      {"sendrecv", "sendrecv_perf"},
}

// seat is one rank of a collective.
type seat struct {
	node  string
	local int
}

// collective runs one collective over all GPUs of all nodes.
func (p *prover) collective(ctx context.Context, t trial.Trial) {
	cell := trial.Cell{Trial: t.ID, Round: 1, Tests: 1}
	run, err := p.collect(ctx, t)
	var skip *Skip
	switch {
	case errors.As(err, &skip):
		cell.Missing, cell.Skipped = skip.Why, true
	case err != nil:
		cell.Missing = why(err)
	}
	if run != nil {
		cell.Collective = run
		if row := run.Largest(); row != nil && err == nil { // a run that failed has no number
			cell.Samples, cell.Note = row.Bus, fmt.Sprintf("%s, %s, %s", run.Program, unit.Size(row.Bytes), run.Transport)
		}
		cell = cell.Filled()
	}
	p.keep(cell)
}

// seats are the ranks: one for each GPU, nodes in their order.
func (p *prover) seats() (seats []seat, nodes []string, err error) {
	for _, n := range p.Case.Up() {
		if p.sessions[n.Name] == nil && p.out[n.Name] == "" {
			continue // not asked for
		}
		if busy := p.res.Busy[n.Name]; busy != "" {
			return nil, nil, &Skip{n.Name + " is " + busy}
		}
		if p.out[n.Name] != "" {
			return nil, nil, fmt.Errorf("%s: %s", n.Name, p.out[n.Name])
		}
		if len(n.GPUs) == 0 {
			return nil, nil, &Skip{n.Name + " has no GPU"}
		}
		nodes = append(nodes, n.Name)
		for i := range n.GPUs {
			seats = append(seats, seat{n.Name, i})
		}
	}
	if len(seats) < 2 {
		return nil, nil, &Skip{"a collective needs at least two GPUs"}
	}
	return seats, nodes, nil
}

// collect launches a collective the way that is there: PyTorch on every node, started by
// weft itself, else nccl-tests through mpirun on the first.
func (p *prover) collect(ctx context.Context, t trial.Trial) (*trial.Collective, error) {
	seats, nodes, err := p.seats()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted before it was measured")
	}
	torch := p.allHave(ctx, nodes, []string{"python3", "-c", "import torch.distributed as d, torch; exit(not (d.is_nccl_available() and torch.cuda.is_available()))"})
	if torch == nil {
		return p.torch(ctx, t, seats, nodes)
	}
	var lost *Lost
	if errors.As(torch, &lost) || ctx.Err() != nil {
		return nil, torch
	}
	mpi := p.allHave(ctx, nodes[:1], []string{"sh", "-c", "command -v mpirun && command -v " + operations[t.ID].tests})
	if mpi == nil {
		return p.mpirun(ctx, t, seats, nodes)
	}
	return nil, &Skip{fmt.Sprintf("neither PyTorch with NCCL on every node (%v) nor mpirun and %s on %s (%v)", torch, operations[t.ID].tests, nodes[0], mpi)}
}

// allHave runs a command on nodes and says where it does not succeed.
func (p *prover) allHave(ctx context.Context, nodes []string, argv []string) error {
	lacks := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			ans, err := p.child(ctx, n, meter.Ask{Argv: slices.Clone(argv), Within: 60})
			if err == nil && ans.Exit != 0 {
				err = fmt.Errorf("%s: not there", n)
			}
			lacks[i] = err
		})
	}
	wg.Wait()
	return errors.Join(lacks...)
}

// child runs a program on a node to its end.
func (p *prover) child(ctx context.Context, node string, a meter.Ask) (meter.Answer, error) {
	s := p.sessions[node]
	a.Conn = p.name()
	within := a.Within
	a.Do, a.Within = "start", 0
	defer func() { // also when ctx ended while it was starting
		after, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		s.Ask(after, meter.Ask{Do: "close", Conn: a.Conn})
	}()
	if _, err := s.Ask(ctx, a); err != nil {
		return meter.Answer{}, err
	}
	return s.Ask(ctx, meter.Ask{Do: "wait", Conn: a.Conn, Within: within})
}

// collectiveSizes are the messages that are measured, in bytes: small ones show what a
// decode step waits for, large ones the bandwidth.
var collectiveSizes = []int64{16 << 10, 1 << 20, 16 << 20, 256 << 20}

// launchTime is how long ranks may take to find each other.
const launchTime = 150

// torch starts one rank a GPU with PyTorch.
func (p *prover) torch(ctx context.Context, t trial.Trial, seats []seat, nodes []string) (*trial.Collective, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	port := 29500 + p.number()%500
	var sizes []string
	for _, b := range collectiveSizes {
		sizes = append(sizes, fmt.Sprint(b))
	}
	head := p.meeting(nodes[0])
	outs := make([]string, len(seats))
	errs := make([]error, len(seats))
	var wg sync.WaitGroup
	for rank, at := range seats {
		wg.Go(func() {
			env := append(p.env(at.node),
				fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("WORLD_SIZE=%d", len(seats)), fmt.Sprintf("LOCAL_RANK=%d", at.local),
				"MASTER_ADDR="+head, fmt.Sprintf("MASTER_PORT=%d", port),
				"WEFT_OP="+operations[t.ID].torch, "WEFT_SIZES="+strings.Join(sizes, ","),
				fmt.Sprintf("WEFT_SECONDS=%g", p.Effort.Seconds), fmt.Sprintf("WEFT_NODES=%d", len(nodes)))
			ans, err := p.child(ctx, at.node, meter.Ask{Argv: []string{"python3", "-u", "-"}, Text: collectiveScript, Env: env,
				Within: launchTime + 3*p.Effort.Seconds*float64(len(collectiveSizes))})
			outs[rank] = ans.Out
			if err == nil && ans.Exit != 0 {
				err = fmt.Errorf("%s, rank %d ended with %d: %s", at.node, rank, ans.Exit, lastLine(ans.Out))
			}
			if errs[rank] = err; err != nil {
				cancel() // the others would wait for it
			}
		})
	}
	wg.Wait()
	return p.collected(strings.Join(outs, "\n"), nodes, len(seats), "PyTorch", firstReal(errs))
}

// mpirun starts nccl-tests from the first node, which must reach the others by ssh.
func (p *prover) mpirun(ctx context.Context, t trial.Trial, seats []seat, nodes []string) (*trial.Collective, error) {
	argv := []string{"mpirun", "--allow-run-as-root"}
	for i, n := range nodes { // each node with its own environment
		if i > 0 {
			argv = append(argv, ":")
		}
		gpus := len(p.Case.Node(n).GPUs)
		argv = append(argv, "-np", fmt.Sprint(gpus), "-H", fmt.Sprintf("%s:%d", p.meeting(n), gpus))
		for _, v := range p.env(n) {
			argv = append(argv, "-x", v)
		}
		argv = append(argv, operations[t.ID].tests, "-b", "16K", "-e", "256M", "-f", "4", "-g", "1")
	}
	ans, err := p.child(ctx, nodes[0], meter.Ask{Argv: argv, Within: launchTime + 60})
	if err == nil && ans.Exit != 0 {
		err = fmt.Errorf("mpirun on %s ended with %d: %s", nodes[0], ans.Exit, lastLine(ans.Out))
	}
	return p.collected(ans.Out, nodes, len(seats), "nccl-tests", err)
}

// env is NCCL's environment on a node. NCCL_HOSTID tells nodes apart by their names, also
// where two of them are one machine.
func (p *prover) env(node string) []string {
	env := []string{"NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,ENV", "NCCL_HOSTID=" + node}
	if p.Env != nil {
		env = append(p.Env(node), env...)
	}
	return env
}

// meeting is an address of a node that the others reach.
func (p *prover) meeting(node string) string {
	for _, r := range p.rails {
		for _, e := range r.Ends {
			if at := p.paths[e]; e.Node == node && at.Addr != "" {
				return at.Addr
			}
		}
	}
	if to := p.Case.Node(node).Host.SSHTo; to != "" {
		return to
	}
	return "127.0.0.1"
}

// collected reads what ranks printed: the numbers, and NCCL's own log.
func (p *prover) collected(out string, nodes []string, ranks int, program string, failed error) (*trial.Collective, error) {
	c := &trial.Collective{Nodes: len(nodes), Ranks: ranks, Program: program}
	if log, err := nccllog.Read(strings.NewReader(out)); err == nil {
		judged(c, transport.Judge(log, p.expect(nodes)))
	}
	r, err := nccltests.Read([]byte(out))
	for _, v := range []string{after("NCCL ", r.NCCL), after("PyTorch ", r.Torch), r.GPU} {
		c.Versions = strings.TrimPrefix(c.Versions+after(", ", v), ", ")
	}
	for _, row := range r.Rows {
		c.Rows = append(c.Rows, rowOf(row, ranks))
	}
	switch {
	case failed != nil && len(c.Says) > 0:
		return c, fmt.Errorf("%w; %s", failed, c.Says[0])
	case failed != nil:
		return c, failed
	case r.Problem != nil:
		return c, fmt.Errorf("%s: %s (%s)", r.Problem.Why, r.Problem.Next, r.Problem.Said)
	case err != nil:
		return c, err
	case len(c.Rows) == 0:
		return c, errors.New("no number was printed")
	}
	return c, nil
}

func after(word, value string) string {
	if value == "" {
		return ""
	}
	return word + value
}

// rowOf is one size with the bus bandwidth of each call, or of them all where only that
// was printed.
func rowOf(row nccltests.Row, ranks int) trial.CollectiveRow {
	out := trial.CollectiveRow{Bytes: int64(row.Size)}
	for _, d := range row.Samples {
		if _, bus, err := nccltests.BusBW(row.Op, int64(row.Size), d.Seconds(), ranks); err == nil {
			out.Seconds, out.Bus = append(out.Seconds, d.Seconds()), append(out.Bus, trial.Amount(bus))
		}
	}
	if r := cmp.Or(row.Out, row.In); len(out.Bus) == 0 && r != nil {
		out.Seconds, out.Bus = []float64{r.Time.Seconds()}, []trial.Amount{trial.Amount(r.Bus)}
	}
	return out
}

// judged takes what NCCL's log shows.
func judged(c *trial.Collective, v transport.Verdict) {
	c.Transport = v.Between
	if v.Direct == transport.DirectYes {
		c.Transport += "/GDRDMA"
	}
	if v.Between == "" {
		c.Transport = strings.Join(v.Inside, ", ")
	}
	for _, f := range v.Findings {
		if f.Status == check.Fail || f.Status == check.Warn {
			c.Says = append(c.Says, fmt.Sprintf("%s  %s: %s, want %s: %s", f.Status, f.ID, f.Got, f.Want, f.Why))
		}
		c.Socket = c.Socket || f.ID == "nccl.socket" && f.Status == check.Fail
	}
}

// expect is what NCCL should have used: RDMA where all nodes have it.
func (p *prover) expect(nodes []string) transport.Expect {
	e := transport.Expect{Want: "rdma", Why: "every node has an RDMA port that is up", Facts: &p.Case.Cluster}
	for _, n := range nodes {
		if !slices.ContainsFunc(p.Case.Node(n).Ports, func(port *fact.Port) bool { return port.Up() && !port.Soft() }) {
			return transport.Expect{Want: "any", Why: n + " has no RDMA port that is up", Facts: &p.Case.Cluster}
		}
	}
	for _, at := range p.paths {
		if at.Netdev != "" && !slices.Contains(e.Netdevs, at.Netdev) {
			e.Netdevs = append(e.Netdevs, at.Netdev)
		}
	}
	return e
}

func (p *prover) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serial++
	return p.serial
}

// firstReal is the error that came first, not those of ranks that were ended because of it.
func firstReal(errs []error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// lastLine is the last line of an output that tells of an error, else the last of all.
func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, l := range slices.Backward(lines) {
		if strings.HasPrefix(l, "weft: ") || strings.Contains(l, "Error") {
			return l
		}
	}
	return lines[len(lines)-1]
}
