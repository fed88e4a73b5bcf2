package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/format/nccllog"
	"weft/internal/report"
	"weft/internal/term"
	"weft/internal/transport"
)

func (a *app) nccl() *cobra.Command {
	var expect string
	var all, ranks bool
	cmd := &cobra.Command{
		Use:   "nccl [LOGFILE...]",
		Short: "Say from an NCCL or RCCL log what carried the job, and what went wrong",
		Long: `Reads the debug logs of NCCL or RCCL, of any release, from files or standard input,
and says for every rank which transport its channels used, whether the NIC reached
GPU memory (GPUDirect RDMA), what failed, why, and what to do. Sockets where RDMA
was expected are a failure.

The log needs NCCL_DEBUG=INFO; NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH says most. Give the
logs of all ranks together: NCCL_DEBUG_FILE=nccl.%h.%p.log writes one for each. An
answer of NCCL's health service (ncclras, rcclras) is read, too.

RDMA is expected when the log shows RDMA ports, or weft.yaml in this folder or -F
does; --expect says otherwise.

Exit codes: 0 fine, 1 a failure, 2 not an NCCL log, 3 the log does not tell.`,
		Example: "  weft nccl job.log\n  NCCL_DEBUG=INFO torchrun train.py 2>&1 | tee job.log | weft nccl\n  weft nccl --expect rdma nccl.*.log --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.expected(cmd, expect)
			if err != nil {
				return err
			}
			log, source, err := a.readLogs(cmd.Context(), args)
			if err != nil {
				return err
			}
			t := report.Transport{Source: source, Verdict: transport.Judge(log, e)}
			if a.from != "" && strings.HasPrefix(t.Next, "weft check ") {
				t.Next += " -F " + a.from
			}
			a.code = exitOf(report.Findings{Counts: t.Counts})
			switch {
			case a.json:
				return report.JSON(a.out, "nccl", t)
			case a.jsonl:
				for _, f := range t.Findings {
					if err := report.Event(a.out, "finding", f); err != nil {
						return err
					}
				}
				t.Findings = nil
				return report.Event(a.out, "nccl", t)
			}
			return t.Text(a.out, report.Options{All: all, Colour: term.Colour(a.out), Width: term.Width(a.out)}, ranks)
		},
	}
	f := cmd.Flags()
	f.StringVar(&expect, "expect", "", "what the job should have used: rdma, socket or any (default: what the log or weft.yaml shows)")
	f.BoolVarP(&all, "all", "a", false, "show passes and skips too")
	f.BoolVar(&ranks, "ranks", false, "one row for each rank and transport, with its channels and peers")
	return cmd
}

// expected is what the job should have used: by the flag, by the facts of -F, by
// weft.yaml; else the log must show it.
func (a *app) expected(cmd *cobra.Command, flag string) (transport.Expect, error) {
	e := transport.Expect{Want: flag, Why: "--expect " + flag}
	if flag != "" && !slices.Contains(transport.Words, flag) {
		return e, fail("weft nccl --help", "--expect %s: want one of %s", flag, strings.Join(transport.Words, ", "))
	}
	if flag == "" {
		e.Why = ""
	}
	if a.from != "" {
		l, err := a.look(cmd.Context())
		if err != nil {
			return e, err
		}
		e.Facts = &l.kase.Cluster
		for _, pa := range l.kase.DataPorts() {
			if e.Want == "" && pa.Port.Up() {
				e.Want, e.Why = "rdma", a.from+": "+pa.Node.Name+" has "+pa.Port.Name
			}
			if pa.Port.Netdev != "" {
				e.Netdevs = append(e.Netdevs, pa.Port.Netdev)
			}
		}
		return e, nil
	}
	want, _, _, err := a.spec(nil)
	if err != nil {
		return e, err
	}
	if e.Want == "" && want.Data.Layer != "" {
		e.Want, e.Why = "rdma", "weft.yaml wants "+want.Data.Layer
	}
	for _, n := range want.Nodes {
		for _, d := range n.Data {
			if e.Want == "" {
				e.Want, e.Why = "rdma", "weft.yaml names "+n.Name+" "+d.Port
			}
			if d.Netdev != "" {
				e.Netdevs = append(e.Netdevs, d.Netdev)
			}
		}
	}
	return e, nil
}

// readLogs reads files, or standard input, as the logs of one job.
func (a *app) readLogs(ctx context.Context, paths []string) (log nccllog.Log, source string, err error) {
	source = fmt.Sprintf("%d files", len(paths))
	switch len(paths) {
	case 0:
		paths, source = []string{"-"}, "standard input"
	case 1:
		source = paths[0]
	}
	var p nccllog.Parser
	progress := term.Start(a.err, "reading logs (MB)", 0)
	defer progress.Done()
	read := make(chan error, 1)
	go func() { // a pipe may never end, and a person need not wait for it
		for _, path := range paths {
			if err := a.addLog(&p, path, len(paths) > 1, progress); err != nil {
				read <- err
				return
			}
		}
		read <- nil
	}()
	select {
	case <-ctx.Done():
		return log, source, ctx.Err()
	case err := <-read:
		if err != nil {
			return log, source, err
		}
	}
	log, err = p.Log()
	if errors.Is(err, nccllog.ErrNot) {
		err = fail(transport.More+" COMMAND 2>&1 | tee job.log", "%s: %v", source, err)
	}
	return log, source, err
}

func (a *app) addLog(p *nccllog.Parser, path string, several bool, progress *term.Progress) error {
	var in io.Reader = a.in
	name := path
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return fail("weft nccl --help", "%s: %v", path, plain(err))
		}
		defer f.Close()
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			return fail("weft nccl "+path+"/*", "%s: a folder", path)
		}
		in = f
		if err == nil && info.Mode().IsRegular() {
			in = &counted{r: f, total: int(info.Size() >> 20), progress: progress}
		}
	}
	if !several {
		name = "" // "line 12" says enough
	}
	if err := p.Add(name, in); err != nil {
		next := "weft nccl --help"
		if strings.HasPrefix(err.Error(), "compressed") {
			next = "zcat " + path + " | weft nccl"
		}
		return fail(next, "%s: %v", path, plain(err))
	}
	return nil
}

// counted shows how much of a file is read.
type counted struct {
	r        io.Reader
	n        int64
	total    int
	progress *term.Progress
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	c.progress.Set(int(c.n>>20), c.total)
	return n, err
}
