package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"weft/internal/lab/own"
	"weft/internal/lab/wire"
)

// memory of a machine in MiB: 256 is enough to boot (LAB.md), the rest is for
// apt, perftest and what later runs there.
const memory = 384

// machine is one QEMU process to be.
type machine struct {
	Node
	image string // folder with the kernel
	disk  string
	rails int
	accel string
	saved bool // comes from a saved state instead of booting
}

// bootLine is the kernel's command line. All but root and console save time under
// emulation: no randomised addresses, no mitigations, no self tests, no audit.
const bootLine = "console=ttyS0 root=/dev/vda rw panic=-1 quiet loglevel=3 mitigations=off nopti nokaslr cryptomgr.notests " +
	"tsc=reliable no_timer_check random.trust_cpu=on systemd.show_status=0 audit=0 nowatchdog fsck.mode=skip"

// args is QEMU's command line. What a saved state depends on (machine, processor,
// memory, the devices and their order) must not differ between the template and
// the machines made from it.
func (l Lab) args(m machine) []string {
	file := func(ext string) string { return l.run(m.Name + ext) }
	cpu, accel := "qemu64,+rdrand,+ssse3,+sse4.1,+sse4.2", "tcg,thread=multi,tb-size=128"
	if m.accel == "kvm" {
		cpu, accel = "host,migratable=on", "kvm"
	}
	a := []string{"qemu-system-x86_64", "-name", "weft-lab-" + m.Name, "-nodefaults", "-no-user-config", "-display", "none",
		"-accel", accel, "-cpu", cpu,
		"-kernel", m.image + "/vmlinux", "-initrd", m.image + "/initrd.cpio", "-append", bootLine,
		"-serial", "file:" + file(".console"), "-qmp", "unix:" + file(".qmp") + ",server=on,wait=off",
		"-drive", "file=" + m.disk + ",if=none,id=disk,format=qcow2,discard=unmap",
		"-device", "virtio-serial-pci,bus=pcie.0,addr=0x1", "-device", "virtio-blk-pci,drive=disk,bus=pcie.0,addr=0x2", "-device", "virtio-rng-pci,bus=pcie.0,addr=0x8",
		"-chardev", "socket,id=agent,path=" + file(".qga") + ",server=on,wait=off",
		"-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
		"-device", "vmgenid,guid=auto"}
	a = append(a, slots[m.Slot].args...)
	a = append(a, l.managementArgs(m)...)
	for r := range m.rails {
		rail, place := fmt.Sprintf("rail%d", r), fmt.Sprintf("bus=pcie.0,addr=%#x", 4+r)
		if other := slots[m.Slot].place; r == 0 && other != "" {
			place = other
		}
		a = append(a, "-netdev", l.wireArg(m, rail, rail), "-device", nic(rail, fmt.Sprintf("52:54:00:01:%02x:%02x", r, m.ID), place+",speed=100000,duplex=full"))
	}
	if m.saved {
		a = append(a, "-incoming", "defer")
	}
	return a
}

// managementArgs makes the management network: a hub with the machine's card, the
// way to the other machines, and QEMU's user network, which brings ssh in from
// loopback and lets nothing out.
func (l Lab) managementArgs(m machine) []string {
	user := fmt.Sprintf("user,id=ssh,restrict=on,ipv6=off,net=10.90.0.0/24,host=10.90.0.254,dhcpstart=10.90.0.200,dns=10.90.0.253,hostfwd=tcp:127.0.0.1:%d-10.90.0.%d:22", m.Port, m.ID)
	return []string{"-netdev", user, "-netdev", l.wireArg(m, "mgmt", "others"),
		"-netdev", "hubport,hubid=0,id=hub0,netdev=ssh", "-netdev", "hubport,hubid=0,id=hub1,netdev=others", "-netdev", "hubport,hubid=0,id=mgmt",
		"-device", nic("mgmt", fmt.Sprintf("52:54:00:00:00:%02x", m.ID), "bus=pcie.0,addr=0x3")}
}

func (l Lab) wireArg(m machine, net, id string) string {
	return fmt.Sprintf("dgram,id=%s,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s", id,
		wire.Socket(l.run(), net, m.Name, "vm"), wire.Socket(l.run(), net, m.Name, "sw"))
}

func nic(id, mac, place string) string {
	return fmt.Sprintf("virtio-net-pci,id=card-%s,netdev=%s,mac=%s,romfile=,%s", id, id, mac, place)
}

// slot is a place for the first data card, with the hardware that goes with it. A
// card behind a port runs at 2.5 GT/s x1, whatever the port can do (LAB.md).
type slot struct {
	place string // of the card
	args  []string
}

var slots = map[string]slot{
	"":       {args: hardware(1)},
	"narrow": {place: "bus=above", args: append(hardware(1), "-device", "pcie-root-port,id=above,bus=pcie.0,addr=0x10,chassis=1,slot=1,x-speed=2_5,x-width=16")},
	"slow":   {place: "bus=above", args: append(hardware(1), "-device", "pcie-root-port,id=above,bus=pcie.0,addr=0x10,chassis=1,slot=1,x-speed=16,x-width=1")},
	"far": {place: "bus=above,addr=0x1", args: append(hardware(2),
		"-device", "pxb-pcie,id=far,bus_nr=0x80,bus=pcie.0,numa_node=1,addr=0x11",
		"-device", "i82801b11-bridge,id=above,bus=far")}, // no PCIe link below it that would be slow, too
}

// hardware is a machine with one processor and its memory in one or two NUMA nodes.
func hardware(nodes int) []string {
	a := []string{"-M", "q35", "-smp", "1", "-m", strconv.Itoa(memory)}
	if nodes == 1 {
		return a
	}
	for i := range nodes {
		a = append(a, "-object", fmt.Sprintf("memory-backend-ram,id=mem%d,size=%dM", i, memory/nodes))
		a = append(a, "-numa", fmt.Sprintf("node,nodeid=%d,memdev=mem%d", i, i))
	}
	return append(a, "-numa", "cpu,node-id=0,socket-id=0", "-numa", "dist,src=0,dst=1,val=21")
}

// start starts a machine.
func (l Lab) start(m machine) error {
	p, err := own.Start(l.Dir, l.run(m.Name+".qemu"), l.args(m)...)
	if err != nil {
		return err
	}
	go p.Wait() // it outlives weft; while weft lives, nothing is left of it when it ends
	return nil
}

// logged is the end of a log, for an error message.
func (l Lab) logged(name string) string {
	b, _ := os.ReadFile(l.run(name))
	if text := strings.TrimSpace(string(tail(b, 500))); text != "" {
		return ": " + text
	}
	return ""
}

// accelerator is kvm where it can run an unchanged kernel, else tcg, emulation. A
// device /dev/kvm alone is not enough: without the processor's own virtualisation
// it runs only kernels made for it, and others hang.
func accelerator() string {
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || unix.Access("/dev/kvm", unix.R_OK|unix.W_OK) != nil {
		return "tcg"
	}
	for line := range strings.Lines(string(cpu)) {
		if name, flags, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "flags" {
			for f := range strings.FieldsSeq(flags) {
				if f == "vmx" || f == "svm" {
					return "kvm"
				}
			}
			return "tcg"
		}
	}
	return "tcg"
}
