package sample_test

import (
	"strings"
	"testing"

	"weft/internal/format/dcb"
	"weft/internal/format/ethtool"
	"weft/internal/format/firewall"
	"weft/internal/format/host"
	"weft/internal/format/ibdev"
	"weft/internal/format/ibnet"
	"weft/internal/format/images"
	"weft/internal/format/iproute"
	"weft/internal/format/nvsmi"
	"weft/internal/format/rocmsmi"
)

// parsers by the beginning of a member's name; readers forgive much, so that this
// test asks the parsers themselves whether anything in the text is odd.
var parsers = []struct {
	begins string
	parse  func([]byte) error
}{
	{"$ ip -j -d addr", one(iproute.ParseLinks)},
	{"$ ip -j route get ", one(iproute.ParseRouteGet)},
	{"$ ip -j route", one(iproute.ParseRoutes)},
	{"$ ip -j neigh", one(iproute.ParseNeigh)},
	{"$ tc -j qdisc", one(iproute.ParseQdiscs)},
	{"$ rdma -j link", one(iproute.ParseRDMALink)},
	{"$ ibv_devinfo", one(ibdev.ParseDevinfo)},
	{"$ ibnetdiscover", one(ibnet.ParseNetdiscover)},
	{"$ iblinkinfo", one(ibnet.ParseLinkinfo)},
	{"$ ibqueryerrors", one(ibnet.ParseQueryErrors)},
	{"$ sminfo", one(ibnet.ParseSminfo)},
	{"$ saquery", one(ibnet.ParseSaquery)},
	{"$ ethtool -i ", one(ethtool.ParseDriver)},
	{"$ ethtool -a ", one(ethtool.ParsePause)},
	{"$ ethtool -S ", one(ethtool.ParseStats)},
	{"$ ethtool -m ", one(ethtool.ParseModule)},
	{"$ ethtool ", one(ethtool.ParseSettings)},
	{"$ dcb -j pfc", one(dcb.ParsePFC)},
	{"$ dcb -j app", one(dcb.ParseApp)},
	{"$ mlnx_qos", one(dcb.ParseMlnxQoS)},
	{"$ firewall-cmd", one(firewall.ParseFirewalld)},
	{"$ ufw", one(firewall.ParseUFW)},
	{"$ nft", one(firewall.ParseNFT)},
	{"$ nvidia-smi", one(nvsmi.ParseXML)},
	{"$ podman images", one(images.ParsePodman)},
	{"$ docker images", one(images.ParseDocker)},
	{"$ systemctl show units", one(host.ParseUnits)},
	{"$ timedatectl", one(host.ParseTimeDate)},
	{"$ id", one(host.ParseID)},
	{"$ dkms", one(host.ParseDKMS)},
	{"$ ls -l device", one(host.ParseDevNodes)},
	{"/proc/modules", one(host.ParseModules)},
	{"/proc/self/limits", one(host.ParseLimits)},
	{"/proc/meminfo", one(host.ParseMeminfo)},
	{"/proc/driver/nvidia/version", one(nvsmi.ParseVersion)},
	{"/sys/class/kfd/kfd/topology/nodes/1/properties", one(rocmsmi.ParseNode)},
}

// one drops what a parser read and keeps its error.
func one[T any](parse func([]byte) (T, error)) func([]byte) error {
	return func(b []byte) error { _, err := parse(b); return err }
}

func TestParsersFindNothingOdd(t *testing.T) {
	seen := map[string]bool{}
	for name, c := range healthy() {
		for _, n := range c.Dump().Nodes {
			for key, text := range n.Text {
				for _, p := range parsers {
					if !strings.HasPrefix(key, p.begins) {
						continue
					}
					seen[p.begins] = true
					if err := p.parse([]byte(text)); err != nil {
						t.Errorf("%s: %s %s: %v", name, n.Name, key, err)
					}
					break
				}
			}
		}
	}
	for _, p := range parsers {
		if !seen[p.begins] {
			t.Errorf("no sample answers %s", p.begins)
		}
	}
}
