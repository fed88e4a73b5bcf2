#!/bin/sh
# As place.sh, with a real systemd in each node (boot.sh): for WEFT_SERVE_SYSTEMD=1.
exec unshare -n -m -p -f --mount-proc --kill-child sh -c '
ip link set lo up
ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up || exit 77
for n in 1 2 9; do ip addr add 10.99.0.$n/24 dev v0; done
for h in vm1 vm2; do unshare -m -p -f -C -i -u --mount-proc --kill-child sh "$SIM/bin/boot" $h >"$SIM/$h.log" 2>&1 & echo $! >"$SIM/$h.unshare"; done
i=0
for h in vm1 vm2; do
	while :; do
		p=$(pgrep -P "$(cat "$SIM/$h.unshare")") && nsenter -t $p -m -p -C systemctl is-system-running 2>/dev/null | grep -q running && break
		i=$((i+1)); [ $i -lt 300 ] || { cat "$SIM/$h.log"; exit 77; }; sleep 0.2
	done
	echo $p >"$SIM/$h.pid"
done
"$@"; e=$?
for h in vm1 vm2; do kill -9 $(pgrep -P "$(cat "$SIM/$h.unshare")"); done
exit $e' sh "$@"
