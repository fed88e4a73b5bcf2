package spec

import (
	"path"
	"strings"
	"testing"
	"time"

	"weft/internal/nodeset"
)

const whole = `
name: desk
purpose: inference
ssh_config: lab/ssh.conf
data:
  layer: roce
  mtu: 9000
  switch: none
  nccl_conf: true
nodes:
  - name: spark1
    ssh: me@spark1
    data:
      - port: rocep1s0f0/1
        netdev: enp1s0f0np0
        address: 192.168.200.1/24
  - name: gpu[01-03]
cables:
  - a: spark1:rocep1s0f0/1
    b: gpu01:mlx5_0/1
accept:
  - check: node.iommu
    nodes: spark1
    reason: virtual machines run here
    until: 2027-01-01
workload:
  model: Qwen/Qwen3-32B
  quant: awq
  features: [nvlink]
sysctl:
  vm.swappiness: 10
  net.ipv4.tcp_rmem: 4096  131072 6291456
  net/ipv4/conf/eth0.100/rp_filter: "2"
`

func TestParse(t *testing.T) {
	s, err := Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Nodes) != 4 || s.Nodes[3].Name != "gpu03" || s.Node("spark1").Data[0].Address != "192.168.200.1/24" {
		t.Errorf("nodes %+v", s.Nodes)
	}
	if s.SSHConfig != "lab/ssh.conf" {
		t.Errorf("ssh_config %q", s.SSHConfig)
	}
	if s.Data.MTU != 9000 || !s.Data.NCCLConf || s.Workload.Features[0] != "nvlink" {
		t.Errorf("got %+v", s)
	}
	if len(s.Sysctl) != 3 || s.Sysctl["vm.swappiness"] != "10" || SysctlValue(s.Sysctl["net.ipv4.tcp_rmem"]) != "4096 131072 6291456" {
		t.Errorf("sysctl %q", s.Sysctl)
	}
	last := time.Date(2027, 1, 1, 23, 0, 0, 0, time.UTC)
	if a := s.Accept[0]; a.Over(last) || !a.Over(last.Add(2*time.Hour)) {
		t.Errorf("accepted until %v is over at the wrong time", a.Until)
	}
}

func TestEmptyFileWantsNothing(t *testing.T) {
	for _, in := range []string{"", "\n", "# nothing\n"} {
		if s, err := Parse([]byte(in)); err != nil || len(s.Nodes) != 0 {
			t.Errorf("Parse(%q) = %+v, %v", in, s, err)
		}
	}
}

func TestParseSaysWhatAndWhere(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"unknown key":    {"name: a\nnoodles: []\n", `2:1: unknown field "noodles"`},
		"unknown in":     {"data:\n  mtuu: 9000\n", `2:3: unknown field "mtuu"`},
		"no ssh file":    {"name: a\nssh_config:\nnodes: []\n", "2:12: ssh_config is empty: want an ssh configuration file"},
		"empty ssh file": {"ssh_config: \"\"\n", "1:13: ssh_config is empty"},
		"blank ssh file": {"ssh_config: '  '\n", "1:13: ssh_config is empty"},
		"ssh file list":  {"ssh_config: [a]\n", "1:13: "},
		"ssh file twice": {"ssh_config: a\nssh_config: b\n", "2:1: "},
		"wrong type":     {"data:\n  mtu: big\n", "2:8: "},
		"conf no bool":   {"data:\n  nccl_conf: /etc/nccl.conf\n", "2:14: "},
		"bad yaml":       {"nodes:\n  - name: [\n", "2:11: "},
		"key twice":      {"name: a\nname: b\n", "2:1: "},
		"node twice":     {"nodes:\n  - name: a\n  - name: b\n  - name: a\n", `4:11: node "a" is there twice`},
		"twice in a set": {"nodes:\n  - name: n[1-3]\n  - name: n2\n", `3:11: node "n2" is there twice`},
		"wrong word":     {"purpose: fun\n", `1:10: "fun" is not one of training, inference, both`},
		"wrong mtu":      {"data:\n  mtu: 9\n", "2:8: 9 is not an MTU"},
		"wrong address":  {"nodes:\n  - name: a\n    data:\n      - port: mlx5_0/1\n        address: 300.1.1.1\n", `5:18: "300.1.1.1" is not an address`},
		"address twice":  {"nodes:\n  - name: a\n    data:\n      - {port: m/1, address: 10.0.0.1/24}\n  - name: b\n    data:\n      - {port: m/1, address: 10.0.0.1/24}\n", "7:30: address 10.0.0.1 is a's already"},
		"port twice":     {"nodes:\n  - name: a\n    data:\n      - port: m/1\n      - port: m/1\n", `5:15: port "m/1" is there twice on a`},
		"bad name":       {"nodes:\n  - name: a b\n", `2:11: "a b" is not a node name`},
		"no name":        {"nodes:\n  - ssh: a\n", "2:8: a node needs a name"},
		"huge set":       {"nodes:\n  - name: n[1-999999999]\n", "2:11: "},
		"bad cable":      {"nodes:\n  - name: a\ncables:\n  - a: a:m/1\n    b: z:m/1\n", `5:8: "z:m/1" is not NODE:PORT`},
		"no reason":      {"accept:\n  - check: node.iommu\n", "an accepted finding needs"},
		"bad date":       {"accept:\n  - check: x\n    reason: y\n    until: someday\n", "4:12: "},
		"setting path":   {"sysctl:\n  ../../etc/passwd: x\n", `2:19: "../../etc/passwd" is not a kernel setting`},
		"setting dots":   {"sysctl:\n  net..x: 1\n", `"net..x" is not a kernel setting`},
		"setting spaces": {"sysctl:\n  'vm.x y': 1\n", `"vm.x y" is not a kernel setting`},
		"setting twice":  {"sysctl:\n  vm.swappiness: 1\n  vm/swappiness: 2\n", `"vm.swappiness" and "vm/swappiness" are one setting`},
		"setting empty":  {"sysctl:\n  vm.swappiness:\n", "vm.swappiness is empty"},
		"setting lines":  {"sysctl:\n  vm.swappiness: \"1\\n2\"\n", `2:18: "1\n2" is not a value of one line`},
		"setting tabs":   {"sysctl:\n  net.ipv4.tcp_rmem: 4096\t131072\n", "2:22: a tab in the value"},
		"setting list":   {"sysctl: [a]\n", "1:9: "},
		"binary":         {"\x00\xff\x01", "1:"},
		"deep":           {"name: " + strings.Repeat("[", 5000), "1:"},
	} {
		_, err := Parse([]byte(c.in))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("nodes: [{name: a}, {name: 'n[1-3]'}]\naccept: [{check: a, reason: b}]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse(b)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, n := range s.Nodes {
			if seen[n.Name] || !nodeset.ValidName(n.Name) {
				t.Fatalf("node %q got through", n.Name)
			}
			seen[n.Name] = true
		}
		for key, value := range s.Sysctl {
			if file := SysctlFile(key); path.Clean(file) != file || !strings.HasPrefix(file, "/proc/sys/") || strings.ContainsAny(value, "\n\x00") {
				t.Fatalf("setting %q = %q got through", key, value)
			}
		}
	})
}

func TestSysctlFile(t *testing.T) {
	for key, want := range map[string]string{
		"vm.swappiness":                    "/proc/sys/vm/swappiness",
		"vm/swappiness":                    "/proc/sys/vm/swappiness",
		"net.ipv4.conf.eth0/100.rp_filter": "/proc/sys/net/ipv4/conf/eth0.100/rp_filter",
		"net/ipv4/conf/eth0.100/rp_filter": "/proc/sys/net/ipv4/conf/eth0.100/rp_filter",
	} {
		if got := SysctlFile(key); got != want {
			t.Errorf("SysctlFile(%s) = %s, want %s", key, got, want)
		}
	}
}
