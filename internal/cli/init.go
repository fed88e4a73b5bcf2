package cli

import (
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
	cmd := &cobra.Command{
		Use:   "init HOST...",
		Short: "Look at hosts over ssh and write a small weft.yaml",
		Long: `Looks at each host with your own ssh (its configuration, keys, jump hosts and
host-key checks) and writes weft.yaml: nodes, management and data plane, link
layer, addresses and MTU. Nothing on the hosts is changed. HOST is what you would
give to ssh; spark[1-2] is two hosts; local is this machine.`,
		Example: "  weft init spark1 spark2\n  weft init me@gpu[01-04] -o lab.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(file); err == nil {
				return fail("weft check", "%s is there already; to start anew, move it away first", file)
			}
			asks, ssh, err := asksOf(args)
			if err != nil {
				return err
			}
			if err := a.sshFlag(); err != nil {
				return err
			}
			d, err := a.ask(cmd.Context(), asks)
			if err != nil {
				return err
			}
			kase := &check.Case{Cluster: format.Facts(d)}
			if err := a.reached(kase, asks); err != nil {
				return err
			}
			text := intent.Draft(kase, ssh, a.besideSpec(file), time.Now().Format(time.DateOnly))
			if _, err := spec.Parse([]byte(text)); err != nil {
				return fail("", "the draft is wrong, which is a bug in weft: %v", err)
			}
			if err := writeNew(file, text); err != nil {
				return fail("", "%v", err)
			}
			next := "weft check"
			if file != "weft.yaml" {
				next += " -c " + shellWord(file)
			}
			fmt.Fprintf(a.err, "weft: wrote %s: %d nodes\n      next:\n          %s\n", file, len(kase.Nodes), next)
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "weft.yaml", "file to write")
	return cmd
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
func (a *app) reached(c *check.Case, asks []collect.Ask) error {
	down := 0
	for _, n := range c.Nodes {
		if n.Down != "" {
			down++
			a.sayDown(n.Down)
		}
	}
	if down == len(asks) {
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
