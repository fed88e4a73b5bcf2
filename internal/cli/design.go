package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weft/internal/design"
	"weft/internal/report"
	"weft/internal/term"
)

func (a *app) design() *cobra.Command {
	var ask design.Ask
	var svg, folder string
	bmc := true
	cmd := &cobra.Command{
		Use:   "design --nodes N --gpus G --workload WORKLOAD",
		Short: "Work out a cluster before it is bought: uplink, switches, cables, addresses, FRR",
		Long: `Works out the network of a cluster from its size and what it does, and prints every
figure with its arithmetic: the uplink by what is read (never by the fabric), what one
flow gets and what all get, how long weights and checkpoints take, how many switches,
ports and cables, AS numbers and addresses, the management plane, the lossless class,
and the bill of materials. Nothing is read from a machine and nothing is changed.

Two or three nodes are joined by cables, up to eight by one switch, more by a routed
Clos of leaves and spines: BGP unnumbered, ECMP, one AS for each switch (RFC 7938).
-o DIR writes what is needed to build it: cabling.csv, addresses.csv, devices.csv,
bom.csv, the settings of the lossless class, and a complete frr.conf for each switch.

--fabric takes words, together or alone: direct, switch or clos; roce or infiniband;
a rate (100g, hdr). What is not said is assumed, and listed first with its source.

A card that is faster than its slot is refused, with the number it would get; --accept
slot designs with that number.`,
		Example: `  weft design --nodes 4 --gpus 4 --workload pretrain
  weft design --nodes 2 --gpus 1 --workload inference --slot spark --bmc=false
  weft design --nodes 64 --gpus 8 --workload vision --nic ConnectX-7 --slot "pcie5 x16" --oversubscription 2
  weft design --nodes 16 --gpus 8 --workload finetune --inference-nodes 4 -o cluster --svg cluster.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"nodes", "gpus", "workload"} {
				if !cmd.Flags().Changed(name) {
					return fail("weft design --nodes 4 --gpus 4 --workload pretrain", "--%s is needed: how many nodes with how many GPUs each, and what for (%s)", name, strings.Join(design.Workloads(), ", "))
				}
			}
			for _, name := range []string{"from", "config", "ssh-config"} {
				if cmd.Flags().Changed(name) {
					return fail("weft design --help", "--%s: a design reads no machine", name)
				}
			}
			if err := zeroes(cmd); err != nil {
				return err
			}
			ask.NoBMC = !bmc
			d, err := design.Make(ask)
			var bad *design.Bad
			if errors.As(err, &bad) {
				next := "weft design --help"
				if bad.Flag != "" {
					next = designCommand(cmd, bad.Flag) + " --" + bad.Flag + " " + bad.To
				}
				return fail(next, "%v", err)
			}
			if err != nil {
				return err
			}
			r := report.Design{Design: d}
			if svg != "" {
				if err := a.writeDesign("", []design.File{{Name: svg, Text: report.DesignSVG(d)}}); err != nil {
					return err
				}
			}
			if folder != "" {
				if err := a.writeDesign(folder, d.Files()); err != nil {
					return err
				}
			} else {
				r.Next = designCommand(cmd) + " -o cluster"
			}
			if a.json || a.jsonl {
				d.Configure()
				if a.jsonl {
					return report.Event(a.out, "design", r)
				}
				return report.JSON(a.out, "design", r)
			}
			return r.Text(a.out, report.Options{Width: term.Width(a.out)})
		},
	}
	f := cmd.Flags()
	f.IntVarP(&ask.Nodes, "nodes", "n", 0, "nodes; beside --inference-nodes, those that train")
	f.IntVar(&ask.GPUs, "gpus", 0, "GPUs in a node")
	f.StringVar(&ask.Workload, "workload", "", strings.Join(design.Workloads(), ", "))
	f.StringVar(&ask.Fabric, "fabric", "", "words: direct, switch, clos; roce, infiniband; a rate (default: by the number of nodes, roce)")
	f.StringVar(&ask.NIC, "nic", "", "rate or model of the NICs: 100g, hdr, ConnectX-6 (default 200g)")
	f.StringVar(&ask.Slot, "slot", "", `PCIe slot of a NIC: "pcie3 x4", "2x pcie5 x4", spark, strix-halo`)
	f.IntVar(&ask.Rails, "rails", 0, "data ports in a node (default: one for two GPUs; one for inference)")
	f.IntVar(&ask.Ports, "ports", 0, "ports of a data switch, its radix (default: the smallest known that fits)")
	f.Float64Var(&ask.Oversubscription, "oversubscription", 0, "node ports that share a spine port: 3 is 3:1 (default 1)")
	f.StringVar(&ask.PerGPU, "per-gpu-rate", "", "what one GPU reads: 62.5Mb/s (bits), 1GB/s (bytes) (default: by workload)")
	f.StringVar(&ask.ModelSize, "model-size", "", "parameters of two bytes, 70B, or bytes, 140GB (default 70B)")
	f.StringVar(&ask.Checkpoint, "checkpoint", "", "size of a checkpoint, 280GB (default: twice the weights)")
	f.Float64Var(&ask.BurstTime, "burst-time", 0, "seconds that a checkpoint, or new weights, may take through the uplink (default: by workload)")
	f.IntVar(&ask.InferenceNodes, "inference-nodes", 0, "inference nodes beside, on a fabric of their own")
	f.IntVar(&ask.InferenceGPUs, "inference-gpus", 0, "GPUs in an inference node (default: as --gpus)")
	f.Float64Var(&ask.HostLength, "host-length", 0, "metres from a node to its switch (default 2; 20 above 16 nodes)")
	f.Float64Var(&ask.SpineLength, "spine-length", 0, "metres from leaf to spine and to the router (default 3; 30 above 16 nodes)")
	f.BoolVar(&ask.BFD, "bfd", false, "BFD between switches: finds links that are up and dead; needs bfdd")
	f.BoolVar(&bmc, "bmc", true, "nodes have a BMC with a port of its own")
	f.StringVar(&ask.Net, "net", "", "IPv4 block for all addresses, a /12 (default 10.16.0.0/12)")
	f.StringVar(&ask.Name, "name", "", "name of nodes before their number (default node)")
	f.StringVar(&ask.PortName, "port-name", "", "name of switch ports before their number (default swp)")
	f.StringSliceVar(&ask.Accept, "accept", nil, "slot: live with a slot that is slower than its card")
	f.StringVar(&svg, "svg", "", "write a drawing to this file")
	f.StringVarP(&folder, "output", "o", "", "write tables and configurations into this folder")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "switch-radix" || name == "switch-ports" {
			name = "ports"
		}
		return pflag.NormalizedName(name)
	})
	cmd.RegisterFlagCompletionFunc("workload", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return design.Workloads(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// zeroes refuses a number that was said and is none: 0 means "take the default" to
// the noun, and nobody says 0 for that.
func zeroes(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if t := f.Value.Type(); err == nil && (t == "int" || t == "float64" || t == "string" && f.Name != "from") && (f.Value.String() == "0" || f.Value.String() == "") {
			err = fail("weft design --help", "--%s %s: leave it out to take the default", f.Name, f.Value)
		}
	})
	return err
}

// designCommand is what was asked, to be asked again, but for some flags.
func designCommand(cmd *cobra.Command, but ...string) string {
	line := "weft design"
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		switch {
		case f.Name == "json" || f.Name == "jsonl" || f.Name == "output" || slices.Contains(but, f.Name):
			return
		case f.Value.Type() == "bool":
			line += " --" + f.Name + map[string]string{"false": "=false"}[value]
			return
		case f.Value.Type() == "stringSlice":
			value = strings.Trim(value, "[]")
		case strings.ContainsAny(value, " ,;&|<>$`\"'\\()*?[]#~"):
			value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		line += " --" + f.Name + " " + value
	})
	return line
}

// writeDesign writes files that must not be there yet: somebody may have edited them.
func (a *app) writeDesign(folder string, files []design.File) error {
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(folder, f.Name)); err == nil {
			return fail("weft design --help", "%s is there already: weft overwrites no design; name another, or remove it", filepath.Join(folder, f.Name))
		}
	}
	made := map[string]bool{}
	for _, f := range files {
		path := filepath.Join(folder, f.Name)
		if dir := filepath.Dir(path); folder != "" && !made[dir] {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fail("", "%v", err)
			}
			made[dir] = true
		}
		if err := os.WriteFile(path, []byte(f.Text), 0o644); err != nil {
			return fail("", "%v", err)
		}
	}
	if folder != "" {
		fmt.Fprintf(a.err, "weft: wrote %d files into %s\n", len(files), folder)
	} else {
		fmt.Fprintf(a.err, "weft: wrote %s\n", files[0].Name)
	}
	return nil
}
