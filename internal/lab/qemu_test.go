package lab

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weft/internal/lab/wire"
)

// TestTemplateAndCloneAreTheSameMachine compares command lines: a saved state wakes
// up only in the machine that it was saved from.
func TestTemplateAndCloneAreTheSameMachine(t *testing.T) {
	l := Lab{Dir: "/lab"}
	// What a saved state does not depend on: names, paths, ports of this machine, MACs.
	own := regexp.MustCompile(`weft-lab-\w+|/lab/[^,]*|hostfwd=[^,]*|mac=[^,]*`)
	for _, accel := range []string{"kvm", "tcg"} {
		for rails := 1; rails <= 2; rails++ {
			s := State{Net: "networkd", Rails: rails, Accel: accel}
			clone := s.machine(l, Node{Name: "node2", ID: 2, Port: 40022})
			clone.saved = true
			template := machine{Node: Node{Name: "template", ID: 199}, image: l.image("networkd"), disk: l.image("x.new", "disk"), rails: rails, accel: accel}
			a, b := l.args(template), l.args(clone)
			if n := len(b) - 2; n != len(a) || !slices.Equal(b[n:], []string{"-incoming", "defer"}) {
				t.Fatalf("%s, %d rails: the clone has %q, want -incoming defer beside what the template has", accel, rails, b[min(len(a), len(b)):])
			}
			for i := range a {
				if x, y := own.ReplaceAllString(a[i], "*"), own.ReplaceAllString(b[i], "*"); x != y {
					t.Errorf("%s, %d rails: the template has %s, the clone %s", accel, rails, x, y)
				}
			}
			again := s.machine(l, Node{Name: "node2", ID: 2, Port: 40022})
			if c := l.args(again); !slices.Equal(c, b[:len(b)-2]) {
				t.Errorf("%s, %d rails: booting from its own disk, a machine is another", accel, rails)
			}
		}
	}
}

// TestMachinesDiffer looks for what two machines of a lab must not share.
func TestMachinesDiffer(t *testing.T) {
	l := Lab{Dir: "/lab"}
	s := State{Net: "netplan", Rails: 2, Accel: "tcg"}
	a := l.args(s.machine(l, Node{Name: "spark1", ID: 1, Port: 40001}))
	b := l.args(s.machine(l, Node{Name: "spark2", ID: 2, Port: 40002}))
	var got [][2]string
	for i := range a {
		if a[i] != b[i] {
			got = append(got, [2]string{a[i], b[i]})
		}
	}
	both := func(format string) [2]string {
		return [2]string{strings.ReplaceAll(format, "#", "1"), strings.ReplaceAll(format, "#", "2")}
	}
	dgram := func(id, net string) [2]string {
		return both("dgram,id=" + id + ",local.type=unix,local.path=" + wire.Socket("/lab/run", net, "spark#", "vm") +
			",remote.type=unix,remote.path=" + wire.Socket("/lab/run", net, "spark#", "sw"))
	}
	want := [][2]string{
		both("weft-lab-spark#"),
		both("file:/lab/run/spark#.console"),
		both("unix:/lab/run/spark#.qmp,server=on,wait=off"),
		both("file=/lab/run/spark#.disk,if=none,id=disk,format=qcow2,discard=unmap"),
		both("socket,id=agent,path=/lab/run/spark#.qga,server=on,wait=off"),
		both("user,id=ssh,restrict=on,ipv6=off,net=10.90.0.0/24,host=10.90.0.254,dhcpstart=10.90.0.200,dns=10.90.0.253,hostfwd=tcp:127.0.0.1:4000#-10.90.0.#:22"),
		dgram("others", "mgmt"),
		both("virtio-net-pci,id=card-mgmt,netdev=mgmt,mac=52:54:00:00:00:0#,romfile=,bus=pcie.0,addr=0x3"),
		dgram("rail0", "rail0"),
		both("virtio-net-pci,id=card-rail0,netdev=rail0,mac=52:54:00:01:00:0#,romfile=,bus=pcie.0,addr=0x4,speed=100000,duplex=full"),
		dgram("rail1", "rail1"),
		both("virtio-net-pci,id=card-rail1,netdev=rail1,mac=52:54:00:01:01:0#,romfile=,bus=pcie.0,addr=0x5,speed=100000,duplex=full"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("machines differ in\n%q\nwant\n%q", got, want)
	}
}

// TestEverySlotFits sees, for each place of the card, that whatever a device hangs at
// is there, that the card hangs at the place, and that no two devices share one.
func TestEverySlotFits(t *testing.T) {
	places := map[string]string{"": "pcie.0", "narrow": "above", "slow": "above", "far": "above"}
	if len(slots) != len(places) {
		t.Errorf("%d slots, want %d", len(slots), len(places))
	}
	l := Lab{Dir: "/lab"}
	for name, place := range places {
		s := State{Net: "networkd", Rails: 2, Accel: "tcg"}
		args := l.args(s.machine(l, Node{Name: "node1", ID: 1, Port: 40001, Slot: name}))
		there := map[string]string{"pcie.0": "bus"} // of -M q35
		taken := map[string]bool{}
		bus := ""
		for i := 1; i < len(args); i++ {
			kind, rest, _ := strings.Cut(args[i], ",")
			p := properties(rest)
			switch args[i-1] {
			case "-netdev", "-chardev", "-object", "-drive":
				if args[i-1] == "-drive" {
					p = properties(args[i])
				}
				there[p["id"]] = args[i-1]
			case "-numa":
				if at := p["memdev"]; at != "" && there[at] != "-object" {
					t.Errorf("slot %q: %s: no memory %s before it", name, args[i], at)
				}
			case "-device":
				for _, to := range []struct{ key, kind string }{{"netdev", "-netdev"}, {"chardev", "-chardev"}, {"drive", "-drive"}, {"bus", "bus"}} {
					if at := p[to.key]; at != "" && there[at] != to.kind {
						t.Errorf("slot %q: %s: no %s %s before it", name, args[i], to.key, at)
					}
				}
				if at := p["bus"] + " " + p["addr"]; p["addr"] != "" && taken[at] {
					t.Errorf("slot %q: %s: the address %s is taken", name, args[i], at)
				} else {
					taken[at] = true
				}
				if slices.Contains([]string{"pcie-root-port", "pxb-pcie", "i82801b11-bridge"}, kind) {
					there[p["id"]] = "bus"
				}
				if p["id"] == "card-rail0" {
					bus = p["bus"]
				}
			}
		}
		if bus != place {
			t.Errorf("slot %q: the card of rail0 is at bus %q, want %q", name, bus, place)
		}
	}
}

// properties reads key=value,key=value.
func properties(s string) map[string]string {
	p := map[string]string{}
	for word := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(word, "=")
		p[key] = value
	}
	return p
}

func TestFaultsMoveCardsToSlotsOfTheirOwn(t *testing.T) {
	seen := map[string]string{}
	for name, s := range slots {
		args := strings.Join(s.args, " ")
		if other, ok := seen[args]; ok {
			t.Errorf("slots %q and %q are the same", name, other)
		}
		seen[args] = name
	}
}

func TestHardware(t *testing.T) {
	for nodes, want := range map[int]string{
		1: "-M q35 -smp 1 -m 384",
		2: "-M q35 -smp 1 -m 384 -object memory-backend-ram,id=mem0,size=192M -numa node,nodeid=0,memdev=mem0" +
			" -object memory-backend-ram,id=mem1,size=192M -numa node,nodeid=1,memdev=mem1 -numa cpu,node-id=0,socket-id=0 -numa dist,src=0,dst=1,val=21",
	} {
		if got := strings.Join(hardware(nodes), " "); got != want {
			t.Errorf("%d NUMA nodes: %s, want %s", nodes, got, want)
		}
	}
}

func TestAccelerator(t *testing.T) {
	got := accelerator()
	if _, err := os.Stat("/dev/kvm"); err != nil && got != "tcg" {
		t.Errorf("%s without /dev/kvm, want tcg", got)
	}
	if got != "kvm" && got != "tcg" {
		t.Errorf("%s, want kvm or tcg", got)
	}
}
