package format

var hostReader = Reader{
	Name: "host",
	Why:  "machine, operating system, kernel, memory, clock, who is asking",
	Files: []File{
		{Dir: "/etc", Names: []string{"os-release"}},
		{Dir: "/proc", Names: []string{"cmdline", "meminfo", "sys/kernel/osrelease", "sys/kernel/hostname", "sys/kernel/random/boot_id", "uptime"}},
		{Dir: "/sys/devices/virtual/dmi/id", Names: []string{"sys_vendor", "product_name", "board_name", "bios_version", "bios_date"}},
		{Dir: "/sys/devices/system/node/node*", Names: []string{"cpulist", "distance"}},
	},
	Cmds: []Cmd{
		{Run: "uname -m"},
		{Run: "id"},
		{Run: "ssh-connection", Sh: `printf '%s\n' "$SSH_CONNECTION"`},
		{Run: "timedatectl show", For: systemd, Quiet: true},
		{Run: "chronyc -c tracking", Quiet: true},
		{Run: "container-runtimes", Sh: `command -v podman; [ -S ` + dockerSocket + ` ] && command -v docker; true`},
	},
	Read: readHost,
}

var settingsReader = Reader{
	Name: "settings",
	Why:  "kernel modules, limits, services, device files, packages, IOMMU",
	Files: []File{
		{Dir: "/proc", Names: []string{"modules", "self/limits"}},
		{Dir: "/etc/modules-load.d", Names: []string{"*.conf"}},
		{Dir: "/usr/lib/modules-load.d", Names: []string{"*.conf"}},
		{Dir: "/etc", Names: []string{"modules", "rdma/rdma.conf", "rdma/modules/*.conf", "security/limits.conf", "security/limits.d/*.conf"}},
		{Dir: "/etc/modprobe.d", Names: []string{"*.conf"}},
		{Dir: "/sys/module", Names: []string{"mlx4_core/parameters/log_num_mgm_entry_size", "irdma/parameters/roce_ena", "ib_ipoib/parameters/ipoib_enhanced", "pcie_aspm/parameters/policy"}, Quiet: true},
		{Dir: "/sys/kernel/iommu_groups/*", Names: []string{"type"}, Quiet: true},
	},
	Cmds: []Cmd{
		{Run: "modinfo -n mlx5_core", For: "/sys/module/mlx5_core", Quiet: true},
		{Run: "modinfo -n mlx5_ib", For: "/sys/module/mlx5_ib", Quiet: true},
		{Run: "dkms status", Quiet: true},
		{Run: "ofed_info -s", Quiet: true},
		{Run: "ls -l device files", Sh: `ls -ld /dev/infiniband/* /dev/kfd /dev/dri/* /dev/nvidia[0-9]* /dev/nvidiactl 2>/dev/null; true`},
		{Run: "software RDMA at boot", For: softRDMA, Sh: softAtBoot},
		{Run: "systemctl show units", For: systemd, Sh: `systemctl show -p Id,LoadState,ActiveState,UnitFileState,LimitMEMLOCK ` + units},
		{Run: "service limits", For: systemd, Sh: `{ systemctl show -p Id,MainPID ` + units + `; echo; } | while IFS== read -r k v; do case $k in Id) u=$v;; MainPID) p=$v;; '') [ "${p:-0}" -gt 0 ] && printf '%s ' "$u" && grep 'Max locked memory' /proc/$p/limits; u= p=;; esac; done; true`, Quiet: true},
		{Run: "systemctl show -p DefaultLimitMEMLOCK", For: systemd, Quiet: true},
		{Run: "packages", Sh: `if command -v dpkg-query >/dev/null; then dpkg-query -W -f '${Package}\t${Version}\t${db:Status-Status}\n' ` + debPackages + ` 2>/dev/null; else rpm -q --qf '%{NAME}\t%{VERSION}-%{RELEASE}\n' ` + rpmPackages + `; fi; true`},
	},
	Read: readSettings,
}

// What is there only when the thing itself runs.
const (
	systemd      = "/run/systemd/system"
	dockerSocket = "/var/run/docker.sock"
)

// softRDMA is there only when a software RDMA device is.
const softRDMA = "/sys/devices/virtual/infiniband"

// softAtBoot lists what makes software RDMA devices at boot: units that are enabled,
// the scripts they start, udev rules, and the hooks of those who bring netdevs up.
// The first line says that it was asked for: dumps of an older weft do not hold it.
const softAtBoot = `echo looked; p='rdma[[:space:]]+link[[:space:]]+add|rxe_cfg|modprobe.*(rdma_rxe|siw)'; ` +
	`grep -lsE "$p" /etc/systemd/system/*.wants/* /etc/systemd/system/*.requires/* /etc/udev/rules.d/* /etc/network/interfaces /etc/network/interfaces.d/* /etc/network/if-*.d/* /etc/NetworkManager/dispatcher.d/* /etc/networkd-dispatcher/*.d/* /etc/rc.local /etc/rc.d/rc.local; ` +
	`sed -nE 's/^ExecStart(Pre|Post)?=[-@:+!]*([^[:space:]]+).*/\2/p' /etc/systemd/system/*.wants/*.service /etc/systemd/system/*.requires/*.service 2>/dev/null | sort -u | ` +
	`while read -r f; do h=; read -r h 2>/dev/null <"$f"; case $h in '#!'*) grep -lsE "$p" "$f";; esac; done; true`

// units are the services that a fabric cares about, and those that keep the time or the
// firewall: these by name, so that one that is not there says so, and those of a family
// that systemd has loaded or that are installed, for show takes no pattern for others. A
// template is no service yet.
const units = "opensm.service opensmd.service docker.service containerd.service podman.service slurmd.service ray.service vllm.service openibd.service nvidia-fabricmanager.service systemd-timesyncd.service chrony.service chronyd.service ntpsec.service ntpd.service openntpd.service nftables.service " +
	"$({ systemctl list-units --all --plain --no-legend 'opensm*.service' 'ray*.service' 'vllm*.service' ; systemctl list-unit-files --no-legend 'ray*.service' 'vllm*.service' ; } 2>/dev/null | cut -d' ' -f1 | grep -v '@\\.' | sort -u)"

// The packages that checks ask for, by distribution.
const (
	debPackages = "rdma-core ibverbs-utils ibverbs-providers rdmacm-utils perftest infiniband-diags ethtool mstflint mft iproute2 pciutils opensm nvidia-container-toolkit"
	rpmPackages = "rdma-core libibverbs-utils librdmacm-utils libibverbs perftest infiniband-diags ethtool mstflint mft iproute pciutils opensm nvidia-container-toolkit"
)

var firewallReader = Reader{
	Name: "firewall",
	Why:  "whether RoCE, Ray and NCCL packets are let in",
	// Tables of the old iptables, which nft does not show.
	Files: []File{{Dir: "/proc/net", Names: []string{"ip_tables_names"}, Root: true, Quiet: true}},
	Cmds: []Cmd{
		// Both are Python and slow to say that they are not in use.
		{Run: "firewall-cmd --list-all-zones", For: systemd, Sh: `systemctl -q is-active firewalld || exit 0; firewall-cmd --list-all-zones`, Root: true, Quiet: true},
		{Run: "ufw status verbose", For: "/etc/ufw/ufw.conf", Sh: `grep -qs '^ENABLED=yes' /etc/ufw/ufw.conf || exit 0; ufw status verbose`, Root: true, Quiet: true},
		{Run: "nft -j list ruleset", Root: true, Quiet: true},
	},
	Read: readFirewall,
}

var qosReader = Reader{
	Name: "qos",
	Why:  "PFC, trust, DSCP map, traffic classes, ECN, pause and cables of RDMA ports",
	Files: []File{
		{Dir: netDir + "/*/ecn/roce_np/enable", Names: []string{"*"}, Quiet: true},
		{Dir: netDir + "/*/ecn/roce_rp/enable", Names: []string{"*"}, Quiet: true},
	},
	Cmds: []Cmd{
		{Run: "dcb -j pfc show dev {}", For: rdmaNetdevs, Quiet: true},
		{Run: "dcb -j app show dev {}", For: rdmaNetdevs, Quiet: true},
		{Run: "dcb -j ets show dev {}", For: rdmaNetdevs, Quiet: true},
		{Run: "mlnx_qos -i {}", For: rdmaNetdevs, Root: true, Quiet: true},
		{Run: "ethtool -a {}", For: rdmaNetdevs, Quiet: true},
		{Run: "ethtool --show-priv-flags {}", For: rdmaNetdevs, Quiet: true},
		{Run: "ethtool -S {}", For: rdmaNetdevs, Quiet: true},
		{Run: "ethtool -m {}", For: rdmaNetdevs, Root: true, Quiet: true},
		{Run: "lldpctl -f json", Root: true, Quiet: true},
	},
	Read: readQoS,
}

var softwareReader = Reader{
	Name: "software",
	Why:  "NCCL variables and libraries, container images, kernel log",
	Cmds: []Cmd{
		// Only these variables leave the node: shell files and containers hold secrets too.
		{Run: "nccl environment", Sh: `grep -HosE '(` + envNames + `)[A-Z0-9_]*=[^[:space:]]*' /etc/environment /etc/environment.d/*.conf /etc/profile.d/*.sh /etc/nccl.conf "$HOME"/.nccl.conf "$HOME"/.bashrc "$HOME"/.profile /etc/systemd/system/*.service /etc/systemd/system/*.d/*.conf /etc/containers/systemd/*.container; true`},
		{Run: "docker environment", For: dockerSocket, Sh: containerEnv("docker"), Quiet: true},
		{Run: "podman environment", For: "/usr/bin/podman", Sh: containerEnv("podman"), Quiet: true},
		{Run: "nccl libraries", Sh: `for f in /usr/lib/*-linux-gnu/lib[nr]ccl*.so* /usr/lib64/lib[nr]ccl*.so* /opt/rocm*/lib/lib[nr]ccl*.so* /usr/local/lib/lib[nr]ccl*.so*; do [ -f "$f" ] && [ ! -L "$f" ] && echo "$f"; done; true`},
		// A runtime that refuses leaves a gap, which tells it from one without images.
		{Run: "podman images --format json", Sh: `command -v podman >/dev/null || exit 0; podman images --format json`},
		{Run: "docker images", Sh: `docker images --digests --format '{{json .}}'`, For: dockerSocket},
		{Run: "cdi", Sh: `grep -hsE '^kind:|"kind":' /etc/cdi/* /var/run/cdi/*; true`},
		{Run: "dmesg", Sh: `dmesg | grep -E 'mlx|irdma|(^|[^a-z])ice |bnxt|infiniband|nvidia|NVRM|AER|thunderbolt|available PCIe' | tail -n 400; true`, Root: true},
	},
	Read: readSoftware,
}

// envNames are the families of variables that steer collectives.
const envNames = "NCCL_|RCCL_|UCX_|GLOO_|OMPI_MCA_|RAY_ADDRESS|VLLM_HOST_IP|TP_SOCKET"

// containerEnv lists those variables of the running containers, as CONTAINER:NAME=VALUE.
func containerEnv(tool string) string {
	return tool + ` ps -q | xargs -r ` + tool + ` inspect --format '{{$n := .Name}}{{range .Config.Env}}{{$n}}:{{.}}{{"\n"}}{{end}}' | grep -E ':(` + envNames + `)'; true`
}
