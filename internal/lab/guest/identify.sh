#!/bin/sh
# lab-identify: gives a machine that was restored from the template its own identity,
# and makes its soft RDMA devices.
#
#   lab-identify node NAME ID RAILS MTU MACHINE_ID SEED < hosts
#   lab-identify rdma NETDEV
set -eu

# soft NETDEV: rail0 carries rdma0, RoCE; iWARP where /etc/lab-siw names the rail.
soft() {
	kind=rxe
	if [ -e /etc/lab-siw ] && grep -qx "$1" /etc/lab-siw; then kind=siw; fi
	dev=rdma${1#rail}
	[ -e "/sys/class/infiniband/$dev" ] || rdma link add "$dev" type "$kind" netdev "$1"
}

# network NETDEV ADDRESS MTU: what the owner of the network would write.
network() {
	case $net in
	networkd)
		printf '[Match]\nName=%s\n[Link]\nMTUBytes=%s\n[Network]\nAddress=%s\nIPv6AcceptRA=no\n' "$1" "$3" "$2" > "/etc/systemd/network/20-$1.network"
		;;
	netplan)
		printf 'network:\n  version: 2\n  renderer: networkd\n  ethernets:\n    %s:\n      addresses: [%s]\n      mtu: %s\n      accept-ra: false\n' "$1" "$2" "$3" > "/etc/netplan/20-$1.yaml"
		chmod 600 "/etc/netplan/20-$1.yaml"
		;;
	networkmanager)
		f=/etc/NetworkManager/system-connections/$1.nmconnection
		printf '[connection]\nid=%s\ntype=ethernet\ninterface-name=%s\n[ethernet]\nmtu=%s\n[ipv4]\nmethod=manual\naddress1=%s\n[ipv6]\nmethod=link-local\n' "$1" "$1" "$3" "$2" > "$f"
		chmod 600 "$f"
		;;
	esac
}

case $1 in
rdma) soft "$2" ;;
node)
	name=$2 id=$3 rails=$4 mtu=$5 machine=$6 seed=$7
	net=$(cat /etc/lab-net)
	echo "$seed" > /dev/urandom
	cat > /etc/hosts
	echo "$name" > /etc/hostname
	hostname "$name"
	echo "$machine" > /etc/machine-id
	rm -rf /var/log/journal/*
	systemctl restart systemd-journald
	network mgmt0 "10.90.0.$id/24" 1500
	r=0
	while [ $r -lt "$rails" ]; do
		ip link set "rail$r" down
		ip link set "rail$r" address "$(printf '52:54:00:01:%02x:%02x' $r "$id")"
		network "rail$r" "10.20.$r.$id/24" "$mtu"
		r=$((r + 1))
	done
	ip link set mgmt0 address "$(printf '52:54:00:00:00:%02x' "$id")"
	case $net in
	networkd) networkctl reload ;;
	netplan) netplan generate; networkctl reload ;;
	networkmanager) nmcli connection reload ;; # which brings them up
	esac
	: > /etc/lab-node
	r=0
	while [ $r -lt "$rails" ]; do
		ip link set "rail$r" up mtu "$mtu"
		i=0
		until ip -4 -o address show dev "rail$r" | grep -q .; do
			[ $((i += 1)) -lt 100 ] || { echo "rail$r has no address" >&2; exit 1; }
			sleep 0.1
		done
		systemctl restart "lab-rdma@rail$r" || { journalctl -o cat -u "lab-rdma@rail$r" >&2; exit 1; }
		r=$((r + 1))
	done
	sync # its power may be cut at any moment
	;;
*) echo "lab-identify: $1?" >&2; exit 2 ;;
esac
