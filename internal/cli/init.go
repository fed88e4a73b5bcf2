package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/check"
	"weft/internal/collect"
	"weft/internal/exec"
	"weft/internal/format"
	"weft/internal/intent"
	"weft/internal/nodeset"
	"weft/internal/spec"
)

func (a *app) init() *cobra.Command {
	var file string
	var given intent.Given
	cmd := &cobra.Command{
		Use:   "init HOST...",
		Short: "Look at hosts over ssh and write a small weft.yaml",
		Long: `Looks at each host with your own ssh (its configuration, keys, jump hosts and
host-key checks) and writes weft.yaml: nodes, management and data plane, link
layer, addresses and MTU. Nothing on the hosts is changed. HOST is what you would
give to ssh; spark[1-2] is two hosts; local is this machine. With -F it writes from
a dump, and no host is asked.

For a new cluster, say what it should be: a subnet for each data port (the first
host gets address 1, the second 2, and one that is in the subnet already keeps its
own), the MTU, RoCE or InfiniBand, the mode of IPoIB, what is between the nodes. The
data ports are those with a cable that do not carry management, unless you name them:
--port mlx5_0/1 on every host that has it, --port spark1:rocep1s0f0/1 on one. Then
weft check tells what differs from that, and weft plan what would change it.`,
		Example: `  weft init spark1 spark2
  weft init me@gpu[01-04] -o lab.yaml
  weft init spark1 ws --subnet 192.168.200.0/24 --switch none
  weft init spark[1-2] --subnet 192.168.200.0/24,192.168.201.0/24 --mtu 9000
  weft init lab[1-3] --layer infiniband --subnet 192.168.40.0/24 --ipoib datagram`,
		Args: func(cmd *cobra.Command, args []string) error {
			if a.from != "" {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(file); err == nil {
				return fail("weft check", "%s is there already; to start anew, move it away first", file)
			}
			wish, err := intent.Parse(given)
			if err != nil {
				return refused(cmd, args, nil, err)
			}
			kase, ssh, err := a.first(cmd.Context(), args)
			if err != nil {
				return err
			}
			text, err := intent.Draft(kase, wish, ssh, a.besideSpec(file), time.Now().Format(time.DateOnly))
			if err != nil {
				return refused(cmd, args, ssh, err)
			}
			if _, err := spec.Parse([]byte(text)); err != nil {
				return fail("", "the draft is wrong, which is a bug in weft: %v", err)
			}
			if err := writeNew(file, text); err != nil {
				return fail("", "%v", err)
			}
			next := "weft check"
			if given.Any() {
				next = "weft plan"
			}
			if a.from != "" {
				next += " -F " + shellWord(a.from)
			}
			if file != "weft.yaml" || a.from != "" {
				next += " -c " + shellWord(file)
			}
			fmt.Fprintf(a.err, "weft: wrote %s: %d nodes\n      next:\n          %s\n", file, len(kase.Nodes), next)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&file, "output", "o", "weft.yaml", "file to write")
	f.StringSliceVar(&given.Subnets, "subnet", nil, "give every node an address in these `subnets`, one for each of its data ports")
	f.StringSliceVar(&given.Ports, "port", nil, "the data `ports`, in the order of the subnets (default: those with a cable)")
	f.StringVar(&given.Layer, "layer", "", "what the data ports should speak: roce or infiniband")
	f.StringVar(&given.MTU, "mtu", "", "MTU of their network interfaces, in `bytes`")
	f.StringVar(&given.IPoIB, "ipoib", "", "mode of IPoIB interfaces: datagram or connected")
	f.StringVar(&given.Switch, "switch", "", "what is between the nodes: none, plain, or lossless (PFC and ECN)")
	f.StringVar(&given.Purpose, "purpose", "", "what the cluster is for: training, inference or both")
	return cmd
}

// first looks at hosts that no weft.yaml names yet, or at the nodes of a dump, and
// returns what ssh is given for each.
func (a *app) first(ctx context.Context, args []string) (*check.Case, map[string]string, error) {
	if a.from != "" {
		d, notes, err := a.readFrom(a.from)
		if err == nil {
			err = a.only(d)
		}
		if err != nil {
			return nil, nil, err
		}
		for _, note := range notes {
			fmt.Fprintf(a.err, "weft: %s\n", exec.Sanitise(note))
		}
		kase, ssh := &check.Case{Cluster: format.Facts(d)}, map[string]string{}
		for _, n := range kase.Nodes {
			ssh[n.Name] = n.Name
		}
		return kase, ssh, a.reached(kase)
	}
	asks, ssh, err := asksOf(args)
	if err != nil {
		return nil, nil, err
	}
	if err := a.sshFlag(); err != nil {
		return nil, nil, err
	}
	d, err := a.ask(ctx, asks)
	if err != nil {
		return nil, nil, err
	}
	kase := &check.Case{Cluster: format.Facts(d)}
	return kase, ssh, a.reached(kase)
}

// refused says why a wish cannot be had, and the same command with one that can.
func refused(cmd *cobra.Command, args []string, ssh map[string]string, err error) error {
	var e *intent.Error
	if !errors.As(err, &e) {
		return err
	}
	next := "weft help init"
	switch {
	case e.Node != "" && cmd.Flag("from").Changed:
		next = fmt.Sprintf("weft check -F %s -n %s", shellWord(cmd.Flag("from").Value.String()), shellWord(e.Node))
	case e.Node != "":
		file := shellWord(e.Node + ".yaml")
		next = fmt.Sprintf("weft init %s -o %s && weft check -c %s", shellWord(ssh[e.Node]), file, file)
	case e.Flag != "":
		next = again(cmd, args, e.Flag, e.Try)
	}
	return fail(next, "%s", e.What)
}

// again is the command that a person gave, with another value for one flag; "" leaves
// the flag out.
func again(cmd *cobra.Command, args []string, flag, value string) string {
	words := []string{cmd.CommandPath()}
	for _, arg := range args {
		words = append(words, shellWord(arg))
	}
	for _, name := range []string{"from", "nodes", "ssh-config", "output", "subnet", "port", "layer", "mtu", "ipoib", "switch", "purpose"} {
		f := cmd.Flags().Lookup(name)
		v := f.Value.String()
		if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
			v = strings.Join(list.GetSlice(), ",")
		}
		if name == flag {
			v = value
		}
		if (name == flag || f.Changed) && v != "" {
			words = append(words, "--"+name, shellWord(v))
		}
	}
	return strings.Join(words, " ")
}

// asksOf turns what a person would give to ssh into nodes and targets.
func asksOf(args []string) ([]collect.Ask, map[string]string, error) {
	ssh := map[string]string{}
	var asks []collect.Ask
	for _, arg := range args {
		hosts, err := nodeset.Expand(arg)
		if err != nil {
			return nil, nil, fail("weft help init", "%v", err)
		}
		for _, host := range hosts {
			if strings.HasPrefix(host, "-") {
				return nil, nil, fail("weft help init", "%q is not a host", host)
			}
			t := exec.Target{Name: nodeName(host), SSH: host}
			if host == "local" {
				t.SSH = ""
				if name, err := os.Hostname(); err == nil {
					t.Name = nodeName(name)
				}
			}
			if !nodeset.ValidName(t.Name) {
				return nil, nil, fail("weft help init", "%q gives no node name", host)
			}
			if _, twice := ssh[t.Name]; twice {
				return nil, nil, fail("weft help init", "%q is there twice", t.Name)
			}
			ssh[t.Name] = host
			asks = append(asks, collect.Ask{Target: t, Readers: format.Readers})
		}
	}
	return asks, ssh, nil
}

// nodeName is the short name of a host: no user, scheme, port or domain. An
// address stays whole.
func nodeName(host string) string {
	host = strings.TrimPrefix(host, "ssh://")
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	host, _, _ = strings.Cut(host, ":")
	if strings.Trim(host, "0123456789.") == "" {
		return host
	}
	host, _, _ = strings.Cut(host, ".")
	return host
}

// reached says which hosts did not answer. It is an error only when none did.
func (a *app) reached(c *check.Case) error {
	down := 0
	for _, n := range c.Nodes {
		if n.Down != "" {
			down++
			a.sayDown(n.Down)
		}
	}
	if down == len(c.Nodes) {
		return &trouble{what: "no host answered, so nothing was written", code: exitIncomplete}
	}
	return nil
}

// writeNew writes a file that must not be there yet.
func writeNew(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, werr := f.WriteString(text)
	return errors.Join(werr, f.Close())
}
