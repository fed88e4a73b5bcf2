#!/bin/sh
# Runs a command where vm1 and vm2 are: two mount namespaces in one network namespace, each
# with units, /run and /opt of its own. $SIM is a folder with bin and the stand-in engine.
exec unshare -n -m -p -f --mount-proc --kill-child sh -c '
ip link set lo up
ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up || exit 77
for n in 1 2 9; do ip addr add 10.99.0.$n/24 dev v0; done
for h in vm1 vm2; do
	unshare -m sh -c "for d in /etc/systemd/system /etc/containers /var/lib /run /opt; do mkdir -p \$d; mount -t tmpfs t \$d || exit 1; done
		mkdir /opt/standin; cp $SIM/stand-in /opt/standin/; for n in ray vllm rpc-server llama-server; do ln -s stand-in /opt/standin/\$n; done; touch $SIM/$h.ready; exec sleep 600" &
	echo $! >$SIM/$h.pid
done
i=0; while [ ! -e $SIM/vm1.ready ] || [ ! -e $SIM/vm2.ready ]; do sleep 0.1; i=$((i+1)); [ $i -lt 100 ] || exit 77; done
"$@"; e=$?
for h in vm1 vm2; do
	for p in $(nsenter -t $(cat $SIM/$h.pid) -m sh -c "cat /run/sim/*.super /run/sim/*.pid" 2>/dev/null); do kill $p 2>/dev/null; done
	kill $(cat $SIM/$h.pid)
done
exit $e' sh "$@"
