package lab

import (
	"context"

	"weft/internal/lab/wire"
)

// Faults lists every fault. To heal is to make things as they should be, whatever was
// done in between: a machine may have restarted, or have several faults. Scripts know id, the machine's number, other, that of
// another machine, and mtu, which the lab was made with.
var Faults = []Fault{
	{Name: "port-down", What: "the cable of rail0 is pulled", Check: "port.up", Says: "fail", act: setLink},
	{Name: "mtu", What: "rail0 has MTU 1500", Check: "roce.mtu", Says: "fail",
		Break: "ip link set rail0 mtu 1500",
		Heal:  "ip link set rail0 mtu $mtu"},
	{Name: "mtu-path", What: "both ends have the full MTU, the switch port carries 1500", Check: "roce.mtu.path", Says: "fail", act: narrowPath},
	{Name: "no-ipv4", What: "rail0 has no IPv4 address, so no IPv4 GID", Check: "roce.gid", Says: "fail",
		Break: "ip address del 10.20.0.$id/24 dev rail0",
		Heal:  address},
	{Name: "gid-index", What: "the IPv4 address of rail0 is at another GID index than elsewhere", Check: "roce.gid.index", Says: "warn",
		Break: "ip address del 10.20.0.$id/24 dev rail0; sleep 0.5; ip address add 2001:db8::$id/64 dev rail0 nodad; sleep 0.5; ip address add 10.20.0.$id/24 dev rail0",
		Heal:  address},
	{Name: "subnet", What: "rail0 is in another subnet than its peers", Check: "roce.subnets", Says: "fail",
		Break: "ip address del 10.20.0.$id/24 dev rail0; sleep 0.5; ip address add 10.99.0.$id/24 dev rail0",
		Heal:  address},
	{Name: "duplicate-address", What: "rail0 has the address of another machine", Check: "roce.subnets", Says: "fail",
		Break: "ip address del 10.20.0.$id/24 dev rail0; ip address add 10.20.0.$other/24 dev rail0",
		Heal:  address},
	{Name: "default-route", What: "the default route leaves by rail0", Check: "plane.separate", Says: "warn",
		Break: "ip route add default via 10.20.0.254 dev rail0",
		Heal:  "ip route del default dev rail0 || true"},
	{Name: "module-boot", What: "rdma_rxe is loaded now, but will not be after the next boot", Check: "node.modules", Says: "warn",
		Break: "sed -i /rdma_rxe/d /etc/modules-load.d/rdma.conf; echo 'install rdma_rxe /bin/false' > /etc/modprobe.d/lab-fault.conf",
		Heal:  "rm -f /etc/modprobe.d/lab-fault.conf; sed -i /rdma_rxe/d /etc/modules-load.d/rdma.conf; echo rdma_rxe >> /etc/modules-load.d/rdma.conf"},
	{Name: "devices", What: "/dev/infiniband may be used by root alone", Check: "node.devices", Says: "fail",
		Break: "chmod 0600 /dev/infiniband/uverbs* /dev/infiniband/rdma_cm",
		Heal:  "chmod 0666 /dev/infiniband/uverbs* /dev/infiniband/rdma_cm"},
	{Name: "memlock", What: "logins may lock 64 KiB", Check: "node.memlock", Says: "fail",
		Break: "sed -i 's/unlimited/64/' /etc/security/limits.d/rdma.conf; " + dropLogins,
		Heal:  "sed -i 's/64$/unlimited/' /etc/security/limits.d/rdma.conf; " + dropLogins},
	{Name: "memlock-service", What: "a service that starts Ray may lock 64 KiB (a stand-in for Ray: it sleeps)", Check: "node.memlock", Says: "fail",
		Break: "printf '[Service]\\nExecStart=/bin/sleep infinity\\nLimitMEMLOCK=64K\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/ray-head.service; systemctl daemon-reload; systemctl enable -q --now ray-head",
		Heal:  "systemctl disable -q --now ray-head || true; rm -f /etc/systemd/system/ray-head.service; systemctl daemon-reload"},
	{Name: "clock", What: "the clock is 30 s ahead, and nothing sets it", Check: "node.clock", Says: "fail",
		Break: "systemctl stop systemd-timesyncd; date -s '+30 seconds' >/dev/null",
		Heal:  "systemctl start systemd-timesyncd; for i in $(seq 100); do timedatectl show | grep -q NTPSynchronized=yes && exit 0; sleep 0.1; done; exit 1"},
	{Name: "package", What: "the package ibverbs-providers is missing", Check: "node.packages", Says: "fail",
		Break: "p=ibverbs-providers; cd /; { dpkg -L $p; ls /var/lib/dpkg/info/$p[.:]*; echo /var/lib/dpkg/status; } | while read -r f; do [ ! -e \"$f\" ] || echo \"$f\"; done | tar --no-recursion -cf /var/lib/lab-package.tar -T - 2>/dev/null; dpkg --purge --force-depends $p >/dev/null 2>&1",
		Heal:  "cd /; f=/var/lib/lab-package.tar; [ ! -e $f ] || { tar xf $f; rm $f; }"},
	{Name: "firewall-roce", What: "the firewall drops RoCE, 4791/udp, on rail0", Check: "node.firewall", Says: "fail",
		Break: drop("roce", "udp dport 4791"), Heal: pass("roce")},
	{Name: "firewall-ray", What: "the firewall drops Ray, 6379/tcp, on rail0", Check: "node.firewall", Says: "fail",
		Break: drop("ray", "tcp dport 6379"), Heal: pass("ray")},
	{Name: "iwarp", What: "rail0 speaks iWARP (siw), its peers RoCE", Check: "roce.mixed", Says: "fail", act: iwarp},
	{Name: "pcie-narrow", What: "the card sits in a slot of 16 lanes and runs on one (the machine restarts)", Check: "pcie.path", Says: "warn", act: moveCard("narrow")},
	{Name: "pcie-slow", What: "the card sits in a slot of 16 GT/s and runs at 2.5 (the machine restarts)", Check: "pcie.path", Says: "warn", act: moveCard("slow")},
	{Name: "numa-far", What: "the card hangs at a NUMA node without processors (the machine restarts)", Check: "pcie.numa", Says: "warn", act: moveCard("far")},
	{Name: "loss", What: "rail0 loses one packet in a hundred (netem)", Check: "port.shaping", Says: "fail",
		Break: "tc qdisc replace dev rail0 root netem loss 1%", Heal: noQdisc},
	{Name: "delay", What: "rail0 holds every packet for 5 ms (netem)", Check: "port.shaping", Says: "fail",
		Break: "tc qdisc replace dev rail0 root netem delay 5ms", Heal: noQdisc},
	{Name: "slow-link", What: "rail0 carries 100 Mb/s (netem)", Check: "port.shaping", Says: "fail",
		Break: "tc qdisc replace dev rail0 root netem rate 100mbit", Heal: noQdisc},
	{Name: "off", What: "the machine has no power", Check: "node.read", Says: "fail", act: powerOff},
	{Name: "frozen", What: "the machine stands still", Check: "node.read", Says: "fail", act: freeze},
	{Name: "reboot", What: "the machine is reset", Check: "node.read", Says: "fail", act: reboot},
}

const (
	// dropLogins ends the logins of the lab's user: limits hold from the login on, and
	// connections are shared.
	dropLogins = "pkill -u lab sshd || true"
	noQdisc    = "tc qdisc del dev rail0 root 2>/dev/null || true"

	// address gives rail0 its own address and no other, at the first free GID index.
	address = "ip address flush dev rail0 scope global; sleep 0.5; ip address add 10.20.0.$id/24 dev rail0"
)

// drop makes the firewall drop something, in a table of its own; pass takes it away.
func drop(table, what string) string {
	return "nft 'add table inet " + table + "; add chain inet " + table + " input { type filter hook input priority 0; }; add rule inet " + table + " input iifname rail0 " + what + " drop'"
}

func pass(table string) string {
	return "! nft list table inet " + table + " >/dev/null 2>&1 || nft delete table inet " + table
}

// narrowPath makes the switch port of a machine carry no jumbo frames.
func narrowPath(ctx context.Context, l Lab, _ *State, n *Node, heal bool) error {
	mtu := 1500
	if heal {
		mtu = 0
	}
	return wire.Set(ctx, l.run(), wire.Limit{Net: "rail0", Port: n.Name, MTU: mtu})
}
