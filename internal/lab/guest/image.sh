# Runs inside mmdebstrap when the packages are in place: $1 is the new root. It
# makes a machine of it and leaves vmlinuz, initrd and disk in $1/weft for weft to
# take out. weft puts assignments before it: NET, IDENTIFY, SSH_KEY, HOST_KEY, HOST_PUB.
set -eu
root=$1
inside() { chroot "$root" "$@"; }
trap 'rm -rf "$root.copy" "$root.raw" "$root.weft"' EXIT
put() { mkdir -p "$(dirname "$root$1")"; cat > "$root$1"; chmod "${2:-644}" "$root$1"; }

# The kernel: its package is unpacked, not installed, so that no initramfs is built
# for hardware that this machine does not have.
mkdir "$root/weft/k"
cd "$root/weft"
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
kernel=$(apt-cache depends -i linux-image-amd64 | sed -n 's/^ *Depends: *//p' | head -n 1)
version=${kernel#linux-image-}
apt-get -q -o APT::Sandbox::User=root download "$kernel"
dpkg-deb -x "$kernel"_*.deb k
rm -- *.deb
mv k/boot/vmlinuz-* vmlinuz
printf '%s\n' "$version" > version

# The modules such a machine can use. Compressed ones are slow to load under emulation.
from=k/lib/modules/$version to=$root/lib/modules/$version
mkdir -p "$to"
for d in arch crypto lib net fs/ext4 fs/jbd2 fs/mbcache.ko* fs/binfmt_misc.ko* fs/overlayfs fs/autofs fs/configfs fs/fuse \
	drivers/infiniband drivers/virtio drivers/block/virtio_blk.ko* drivers/char/hw_random drivers/char/virtio_console.ko* \
	drivers/firmware/qemu_fw_cfg.ko* drivers/net/virtio_net.ko* drivers/net/net_failover.ko* drivers/net/dummy.ko* \
	drivers/net/veth.ko* drivers/net/ifb.ko* drivers/net/bonding drivers/net/ethernet/mellanox drivers/net/ethernet/intel drivers/ptp \
	drivers/pps drivers/watchdog/softdog.ko* drivers/pci drivers/target drivers/scsi/scsi_common.ko* drivers/scsi/scsi_mod.ko* \
	drivers/scsi/libiscsi.ko* drivers/scsi/scsi_transport_iscsi.ko* drivers/scsi/scsi_transport_srp.ko*; do
	for f in "$from/kernel/"$d; do
		[ -e "$f" ] || continue
		t=$to/${f#"$from/"}
		mkdir -p "$(dirname "$t")"
		mv "$f" "$t"
	done
done
find "$to" -name '*.ko.xz' -exec xz -d {} +
find "$to" -name '*.ko.zst' -exec zstd -q --rm -d {} +
mv "$from"/modules.builtin* "$from/modules.order" "$to"
rm -r k
inside depmod "$version"

# A small initrd: busybox and what mounts the root.
mkdir -p initrd/bin initrd/m initrd/proc initrd/dev initrd/root
cp "$root/bin/busybox" initrd/bin/
n=10
for m in crc32c_generic virtio_pci virtio_blk ext4; do
	inside modprobe -S "$version" --show-depends "$m" | sed -n 's/^insmod //p'
done | awk '!seen[$1]++ { print $1 }' | while read -r f; do
	cp "$root$f" "initrd/m/$n-$(basename "$f")"
	n=$((n + 1))
done
cat > initrd/init <<'E'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
$b mount -t proc proc /proc
for m in /m/*.ko; do $b insmod $m; done
i=0
while ! [ -b /dev/vda ] && [ $i -lt 500 ]; do $b usleep 20000; i=$((i + 1)); done
$b mount -t ext4 -o ro /dev/vda /root || { echo 'weft lab: the root disk cannot be mounted'; exec $b sh; }
$b umount /proc
$b mount --move /dev /root/dev
exec $b switch_root /root /sbin/init
E
chmod 755 initrd/init
inside sh -c 'cd /weft/initrd && find . | busybox cpio -o -H newc > ../initrd.cpio' 2>/dev/null
rm -r initrd

# Who may come in: one key, made for this lab. Every machine has the same host key,
# which is the one in the lab's known_hosts.
inside useradd -m -s /bin/bash -G sudo lab
inside install -d -m 700 -o lab -g lab /home/lab/.ssh
install -d -m 700 "$root/root/.ssh"
printf '%s\n' "$SSH_KEY" | put /root/.ssh/authorized_keys 600
printf '%s\n' "$SSH_KEY" | put /home/lab/.ssh/authorized_keys 600
inside chown lab:lab /home/lab/.ssh/authorized_keys
mkdir -p "$root/var/lib/systemd/linger" # its user manager starts with the machine, not with the first login
: > "$root/var/lib/systemd/linger/lab"
echo 'LANG=C.UTF-8' | put /etc/default/locale
echo 'lab ALL=(ALL) NOPASSWD:ALL' | put /etc/sudoers.d/lab 440
rm -f "$root"/etc/ssh/ssh_host_*
printf '%s\n' "$HOST_KEY" | put /etc/ssh/ssh_host_ed25519_key 600
printf '%s\n' "$HOST_PUB" | put /etc/ssh/ssh_host_ed25519_key.pub
put /etc/ssh/sshd_config.d/lab.conf <<'E'
HostKey /etc/ssh/ssh_host_ed25519_key
PasswordAuthentication no
GSSAPIAuthentication no
UseDNS no
E

# What an RDMA machine should have.
put /etc/security/limits.d/rdma.conf <<'E'
* - memlock unlimited
root - memlock unlimited
E
printf '%s\n' rdma_rxe ib_uverbs rdma_ucm ib_umad | put /etc/modules-load.d/rdma.conf
echo 'lab' | put /etc/hostname
echo '127.0.0.1 localhost' | put /etc/hosts
echo '/dev/vda / ext4 rw,noatime,errors=remount-ro 0 1' | put /etc/fstab
: | put /etc/machine-id
mkdir -p "$root/var/log/journal"
put /etc/systemd/timesyncd.conf.d/lab.conf <<'E'
[Time]
NTP=10.90.0.250
E
put /usr/local/sbin/lab-identify 755 < /dev/null
printf '%s' "$IDENTIFY" > "$root/usr/local/sbin/lab-identify"
put /etc/systemd/system/lab-rdma@.service <<'E'
[Unit]
Description=Soft RDMA device on %i
ConditionPathExists=/etc/lab-node
BindsTo=sys-subsystem-net-devices-%i.device
After=sys-subsystem-net-devices-%i.device systemd-modules-load.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/lab-identify rdma %i
[Install]
WantedBy=sys-subsystem-net-devices-%i.device
E
# What machines say to each other on the management network QEMU's own network hears, too,
# and answers for everybody that nobody is there.
put /etc/systemd/system/lab-mgmt.service <<'E'
[Unit]
Description=TCP between the machines on mgmt0
BindsTo=sys-subsystem-net-devices-mgmt0.device
After=sys-subsystem-net-devices-mgmt0.device
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=tc qdisc replace dev mgmt0 clsact
ExecStart=tc filter replace dev mgmt0 ingress pref 1 handle 1 protocol ip flower src_mac 52:55:0a:5a:00:fe src_ip 10.90.0.0/25 ip_proto tcp tcp_flags 0x4/0x4 action drop
[Install]
WantedBy=sys-subsystem-net-devices-mgmt0.device
E

# Names by slot; the others are where a fault moves a card to.
link() { printf '[Match]\nPath=%s\n[Link]\nName=%s\n' "$2" "$1" | put "/etc/systemd/network/05-$1.link"; }
link mgmt0 '*pci-0000:00:03.0'
link rail0 '*pci-0000:00:04.0 *pci-0000:01:00.0 *pci-0000:81:01.0'
link rail1 '*pci-0000:00:05.0'
echo "$NET" | put /etc/lab-net
case $NET in
networkd | netplan) inside systemctl -q enable systemd-networkd ;;
networkmanager)
	printf '[main]\nno-auto-default=*\n' | put /etc/NetworkManager/conf.d/lab.conf
	# systemd-timesyncd hears of a network from systemd-networkd alone, and else tries
	# again after a while.
	put /etc/NetworkManager/dispatcher.d/50-clock 755 <<'E'
#!/bin/sh
[ "$1 $2" != 'mgmt0 up' ] || systemctl --no-block restart systemd-timesyncd
E
	;;
esac
inside systemctl -q enable ssh lab-mgmt lab-rdma@rail0 lab-rdma@rail1 systemd-timesyncd
inside systemctl -q mask getty@tty1.service serial-getty@ttyS0.service systemd-pstore.service apt-daily.timer apt-daily-upgrade.timer \
	dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-networkd-wait-online.service NetworkManager-wait-online.service
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*

# The disk: an ext4 file system straight from a folder, no loop device. The folder is
# a copy without what mmdebstrap has mounted in this one.
cd /
mv "$root/weft" "$root.weft"
mkdir "$root.copy"
for d in "$root"/*; do
	case ${d##*/} in
	dev | proc | run | sys) mkdir "$root.copy/${d##*/}" ;;
	*) cp -ax "$d" "$root.copy/" ;;
	esac
done
truncate -s 2G "$root.raw"
mkfs.ext4 -q -F -d "$root.copy" -L root -E lazy_itable_init=0,lazy_journal_init=0 -J size=16 -m 0 "$root.raw"
qemu-img convert -O qcow2 "$root.raw" "$root.weft/disk"
mv "$root.weft" "$root/weft"
