#!/bin/sh
# One node: real systemd and its journal; everything of this machine is read-only for it.
set -e
mount --make-rprivate /
mount -t tmpfs t /srv; mkdir -p /srv/sim /srv/home /srv/units
mount --bind "$SIM" /srv/sim
for u in sysinit.target basic.target shutdown.target umount.target final.target; do printf '[Unit]\nDefaultDependencies=no\n' >/srv/units/$u; done
cp /usr/lib/systemd/system/systemd-journald.service /usr/lib/systemd/system/systemd-journald.socket /srv/units/
printf '[Unit]\nRequires=systemd-journald.socket\nAfter=systemd-journald.socket\nDefaultDependencies=no\n' >/srv/units/sim.target
for d in /tmp /run /var/lib /var/log /var/tmp /opt /etc/systemd /usr/lib/systemd/system-generators /usr/lib/systemd/system; do mount -t tmpfs t $d; done
cp /srv/units/* /usr/lib/systemd/system/
mkdir -p /etc/systemd/system /run/systemd /var/log/journal /opt/standin
od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >/run/machine-id
mount --bind /run/machine-id /etc/machine-id
cp /srv/sim/stand-in /opt/standin/
for n in ray vllm rpc-server llama-server; do ln -s stand-in /opt/standin/$n; done
hostname "$1"
mount -t tmpfs t /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys
mount -o remount,bind,ro /dev
mount -o remount,bind,ro /sys
mount -o remount,bind,ro /
# nothing of this machine can be written, or this ends here
if touch /weft-sim-probe 2>/dev/null || touch /root/weft-sim-probe 2>/dev/null || touch /dev/weft-sim-probe 2>/dev/null || echo 1 2>/dev/null >/proc/sys/kernel/core_uses_pid; then echo "not confined"; exit 1; fi
export container=weft
exec /usr/lib/systemd/systemd --system --unit=sim.target --log-target=journal --show-status=no
