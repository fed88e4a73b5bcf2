package perftest

// message is a text of perftest, in lower case, a star between parts, and what it means.
type message struct {
	has string
	meaning
}

var clockBroken = meaning{Clock, "perftest could not measure the processor's clock, mostly because the node was busy", "run it again", true}

var (
	noServer = meaning{NoServer, "nobody listens there: the server has not started yet or has ended, or a firewall is between",
		"see that the server runs and that its TCP port is open", true}
	portTaken = meaning{PortTaken, "something holds the server's TCP port, mostly a server that an earlier run left",
		"end it (ss -tlnp shows who), or use another port", false}
	peerGone = meaning{PeerGone, "the other side ended or was cut off while the two talked over TCP",
		"read what the other side printed", true}
	noDevices = meaning{NoDevices, "the node has no RDMA device that libibverbs can use",
		"load the NIC's driver, and see that /dev/infiniband is there (containers need it passed in)", false}
	noDevice  = meaning{NoDevice, "no RDMA device has that name here", "take a name that rdma link shows", false}
	noAccess  = meaning{NoAccess, "the device could not be opened", "see who may use /dev/infiniband/uverbs*, in containers its device cgroup too", false}
	noGPU     = meaning{NoGPU, "the GPU could not be used", "see that the driver is loaded and the GPU's number is right", false}
	gpuBuild  = meaning{GPUBuild, "this perftest was built without that GPU support", "install one that was built with CUDA or ROCm", false}
	badOption = meaning{BadOption, "this perftest does not know or does not allow what the command line asks for", "compare it with --help", false}
	noMemory  = meaning{NoMemory, "memory could not be registered, mostly because the limit of locked memory is too small",
		"raise it: ulimit -l unlimited, or LimitMEMLOCK=infinity for a service", false}
	noResources = meaning{NoResources, "the device gave no queue pair, completion queue or protection domain",
		"ask for fewer queue pairs or a smaller depth, and see what else uses the device", false}
	cmFailed = meaning{CMFailed, "rdma_cm made no connection: there is no route to that address over an RDMA device, or nobody listens",
		"use the address of the peer's RDMA interface, and see that rdma_cm is loaded", true}
	badGID  = meaning{BadGID, "the GIDs of the two sides do not fit together", "give both sides a GID index of the same type and IP version", false}
	missing = meaning{Missing, "perftest is not installed there, or cannot start", "install the package perftest", false}
	crashed = meaning{Crashed, "the program was ended by a signal", "see dmesg, and try another version of perftest", false}
	failed  = meaning{Failed, "the run ended without a number", "read what both sides printed", false}
	cant    = meaning{Unsupported, "the device or its driver cannot do what was asked for", "ask for less, or use another device", false}
	badMTU  = meaning{BadMTU, "the MTU asked for is not one that the port can have", "ask for 256, 512, 1024, 2048 or 4096, and no more than the port's active MTU", false}
)

// warnings are what a run goes on after. They are looked at first.
var warnings = []message{
	{"conflicting cpu frequency", meaning{Frequency, "processors run at different speeds; it matters where the time stamp counter follows them",
		"give -F, or set the governor to performance", false}},
	{"using sampled cpu speed", meaning{Frequency, "perftest trusts its own measure of the clock more than what the processor reports", "", false}},
	{"cpufreq_ondemand", meaning{Frequency, "the processor changes its speed with the load", "set the governor to performance", false}},
	{"bw peak won't be measured", meaning{NoPeak, "the peak is not measured in runs by duration, without an end, or with very many iterations", "", false}},
	{"not pcie relaxed ordering compliant", meaning{Ordering, "relaxed ordering can slow this processor down", "give --disable_pcie_relaxed on both sides", false}},
	{"--disable_pcie_relaxed", meaning{Ordering, "relaxed ordering can slow this processor down", "give --disable_pcie_relaxed on both sides", false}},
	{"device not recognized to implement inline", meaning{Inline, "small messages are not sent inline on this device", "", false}},
	{"inline size set to 0", meaning{Inline, "small messages of a GPU are not sent inline", "", false}},
	{"actual inline-size*requested inline-size", meaning{Inline, "less is sent inline than was asked for", "", false}},
	{"requested mtu is higher than active mtu", meaning{BadMTU, "the port's MTU is smaller than the one asked for; the run uses the port's", "raise the MTU of the interface and the switch", false}},
	{"will run with the port active mtu", badMTU},
	{"please choose mtu", badMTU},
	{"changing to active mtu", badMTU},
	{"invalid mtu", badMTU},
	{"max msg size in ud is mtu", meaning{OtherSize, "a datagram is no longer than the MTU", "", false}},
	{"changing to this mtu", meaning{OtherSize, "a datagram is no longer than the MTU", "", false}},
	{"number of outstanding reads is above max", meaning{OtherSize, "the device allows fewer reads in flight than were asked for", "", false}},
	{"cq moderation", meaning{OtherSize, "perftest moderates completions otherwise than asked for", "", false}},
	{"post send flow is not supported, falling back", meaning{Driver, "the driver lacks the newer way to post; small messages are a little slower", "", false}},
	{"rlimit_memlock is", meaning{Memlock, "little memory may be locked, so that little can be registered", "raise it: ulimit -l unlimited", false}},
	{"libibverbs: warning:", meaning{Driver, "libibverbs has no driver for a device of this node", "install the NIC's user-space driver (ibverbs-providers)", false}},
	{"failed to destroy", meaning{Untidy, "something could not be given back at the end", "", false}},
	{"failed to dealloc", meaning{Untidy, "something could not be given back at the end", "", false}},
	{"failed to deregister", meaning{Untidy, "something could not be given back at the end", "", false}},
	{"couldn't destroy", meaning{Untidy, "something could not be given back at the end", "", false}},
	{"failed to close connection between", meaning{Untidy, "the other side left before saying goodbye", "", false}},
}

// messages are what a run ends with. The first that is printed is the cause.
var messages = []message{
	{"correlation coefficient r^2", clockBroken},
	{"can't produce a report", clockBroken},
	{"cannot produce a report", clockBroken},
	{"couldn't acquire cpu frequency", clockBroken},

	{"couldn't connect to", noServer},
	{"connection refused", noServer},
	{"couldn't listen to port", portTaken},
	{"address already in use", portTaken},
	{"problem in resolving basic address", meaning{NoServer, "the server's name has no address here", "give an address", false}},
	{"couldn't read remote address", peerGone},
	{"couldn't read reports", peerGone},
	{"couldn't send reports", peerGone},
	{"couldn't send local address", peerGone},
	{"couldn't parse line", peerGone},
	{"failed to sync between server and client", peerGone},
	{"unable to read*socket/rdma_cm", peerGone},
	{"unable to write*socket/rdma_cm", peerGone},
	{"failed to exchange*between server and client", peerGone},
	{"accept() failed", peerGone},
	{"not compatible with versions older", meaning{BadVersion, "the two sides run versions of perftest that do not talk to each other", "install the same version on both", false}},

	{"did not detect devices", noDevices},
	{"no ib devices found", noDevices},
	{"failed to get ib devices list", noDevices},
	{"ib device*not found", noDevice},
	{"unable to find the hca", noDevice},
	{"port number*state is init", meaning{PortDown, "the link is up and no subnet manager has set the port up", "start one: opensm, or the switch's", false}},
	{"port number*state is", meaning{PortDown, "the port is not active", "see the cable, and that the interface is up", false}},
	{"unable to query port", meaning{PortDown, "the device has no such port", "take a port that rdma link shows", false}},
	{"error when trying to query port", meaning{PortDown, "the device has no such port", "take a port that rdma link shows", false}},
	{"link layer on port*is unknown", meaning{PortDown, "the port has no link layer", "see that the device is well: dmesg", false}},
	{"lid 0x0 detected", meaning{PortDown, "the port has no LID: no subnet manager runs, or it is Ethernet and needs a GID index", "start one, or give a GID index", false}},

	{"incompatibility issue with gid types", badGID},
	{"can't read sgid", meaning{BadGID, "the port has no GID at that index", "take an index that has one: rdma link, show_gids", false}},
	{"failed to modify*qp*to init", meaning{QPFailed, "the queue pair could not be set up on that port", "see that the port number and the partition key are right", false}},
	{"failed to modify*qp*to rts", meaning{QPFailed, "the queue pair could not be made ready to send", "see that both sides have the same options", false}},
	{"failed to modify*qp", meaning{QPFailed, "the peer's address was not reached: its GID does not answer, or the MTU or the GID index is wrong",
		"see that the two ports are on one rail and that the GID index fits on both sides", false}},
	{"failed to create ah", meaning{QPFailed, "the peer's address was not reached", "see that the GID index fits on both sides", false}},

	{"requested qp size might be too big", noResources},
	{"unable to create qp", noResources},
	{"couldn't create*qp", noResources},
	{"couldn't create*cq", noResources},
	{"couldn't create*srq", noResources},
	{"couldn't create*channel", noResources},
	{"couldn't allocate pd", noResources},
	{"couldn't allocate td", noResources},

	{"couldn't allocate mr", noMemory},
	{"couldn't allocate work buf", noMemory},
	{"failed to allocate hugepage", noMemory},
	{"cannot allocate", noMemory},

	{"unsupported memory type", gpuBuild},
	{"unrecognized option '--use_", gpuBuild},
	{"dma-buf is not supported on this gpu", meaning{GPUMemory, "this GPU or its driver gives no dma-buf", "use nvidia-peermem", false}},
	{"ofed stack does not support dma-buf", meaning{GPUMemory, "libibverbs cannot register a dma-buf", "install a newer rdma-core, or use nvidia-peermem", false}},
	{"rocm does not support dma-buf", meaning{GPUMemory, "this kernel or ROCm gives no dma-buf", "use a kernel with DMABUF_MOVE_NOTIFY and PCI_P2PDMA", false}},
	{"there are no available device(s) that support cuda", noGPU},
	{"no such device id", noGPU},
	{"requested rocm device", noGPU},
	{"couldn't init gpu context", noGPU},
	{"couldn't initialize*device", noGPU},
	{"cuinit(0) returned", noGPU},
	{"cudevicegetcount() returned", noGPU},
	{"cuctxcreate() error", noGPU},
	{"cumem*error=", noGPU},
	{"hipdevicegetcount() returned", noGPU},
	{"hipmalloc error", noGPU},
	{"libcuda.so", noGPU},
	{"failed to load cuda", noGPU},
	{"cuda latency tests with read/send verbs only", meaning{BadOption, "perftest measures no write latency into a CUDA GPU: the processor would have to poll its memory", "measure send or read latency", false}},
	{"cannot be used without cuda", meaning{BadOption, "older versions want --use_cuda before --use_cuda_dmabuf", "put it first", false}},

	{"events feature not available", meaning{BadOption, "write tests poll: there is nothing to wait for at the side that is written to", "leave -e out, or use send or read", false}},
	{"duration mode", badOption},
	{"duration > 2*margin", badOption},
	{"unrecognized option", badOption},
	{"invalid option --", badOption},
	{"doesn't allow an argument", badOption},
	{"requires an argument", badOption},
	{"should be between", badOption},
	{"duplicated argument", badOption},
	{"invalid command", badOption},
	{"is only available", badOption},
	{"only available", badOption},
	{"available only", badOption},
	{"only possible in", badOption},
	{"not possible in", badOption},
	{"only valid for", badOption},
	{"only supports", badOption},
	{"supported in bw tests only", badOption},
	{"must be a multiple of", badOption},
	{"ib port can't be less", badOption},
	{"couldn't set eth mtu", badMTU},

	{"completion with error", meaning{Completion, "an operation failed on the wire or at the peer", "read what the other side printed", false}},
	{"completion wth error", meaning{Completion, "an operation failed on the wire or at the peer", "read what the other side printed", false}},
	{"failed status", meaning{Completion, "an operation failed on the wire or at the peer", "read what the other side printed", false}},
	{"bad wc status", meaning{Completion, "an operation failed on the wire or at the peer", "read what the other side printed", false}},
	{"cq error status", meaning{Completion, "an operation failed on the wire or at the peer", "read what the other side printed", false}},
	{"poll*cq failed", meaning{Completion, "completions could not be read", "see dmesg: the device may be gone", false}},
	{"couldn't post", meaning{PostFailed, "the device did not take an operation", "see dmesg: the device may be gone, or the queue too short", false}},
	{"did not get message for 120 seconds", meaning{Silence, "for two minutes no message came: the sender is gone, or datagrams were lost", "see the counters of lost packets on the way", false}},

	{"rdma_resolve_addr failed", cmFailed},
	{"rdma_resolve_route failed", cmFailed},
	{"addr_error", cmFailed},
	{"unexpected cm event", cmFailed},
	{"bad event waiting for connect", cmFailed},
	{"rdma_connect failed", cmFailed},
	{"rdma_accept failed", cmFailed},
	{"rdma_listen failed", cmFailed},
	{"rdma_bind_addr failed", portTaken},
	{"rdma_create_event_channel failed", cmFailed},
	{"rdma_create_id failed", cmFailed},
	{"unable to connect (retries", cmFailed},

	{"bw result is below bw limit", meaning{BelowLimit, "the bandwidth is below --limit_bw", "", false}},
	{"msg rate is below", meaning{BelowLimit, "the message rate is below --limit_msgrate", "", false}},

	{"command not found", missing},
	{"error while loading shared libraries", missing},
	{"exec format error", missing},
	{"cannot execute", missing},
	{"ib_*: not found", missing},
	{"ib_*no such file or directory", missing},
	{"executable file not found", missing},
	{"segmentation fault", crashed},
	{"bus error", crashed},
	{"illegal instruction", crashed},
	{"core dumped", crashed},
	{"failed to open device", noAccess},

	{"not supported", cant},
	{"isn't supported", cant},
	{"unsupported by", cant},
	{"does not support", cant},
	{"doesn't support", cant},
	{"not detected in libibverbs", cant},
}

// weak are messages that follow from others, which a cut text may lack.
var weak = []message{
	{"unable to init the socket connection", noServer},
	{"unable to open file descriptor for socket", noServer},
	{"unable to set up socket connection", noServer},
	{"unable to find the infiniband/roce device", noDevice},
	{"couldn't get context for", noAccess},
	{"couldn't set the link layer", meaning{PortDown, "the port is not active", "see the cable, and that the interface is up", false}},
	{"unable to connect the hca's", meaning{QPFailed, "the queue pairs of the two sides could not be connected", "see that the two ports are on one rail and that the GID index fits on both sides", false}},
	{"please try to use a different ip version", badGID},
	{"failed to create mr", noMemory},
	{"failed to create qp", noResources},
	{"failed to create cqs", noResources},
	{"couldn't create ib resources", noResources},
	{"failed to init memory", noMemory},
	{"unable to create rdma_cm resources", cmFailed},
	{"unable to perform rdma_", cmFailed},
	{"failed to*rdma cm", cmFailed},
	{"failed to complete run_iter", failed},
	{"error occurred", failed},
	{"problems with warm up", failed},
	{"test exited with error", failed},
	{"parser function exited with error", badOption},
	{"invalid ", badOption},
	{"permission denied", noAccess},
	{"operation not permitted", noAccess},
	{"killed", crashed},
	{"terminated", crashed},
	{"aborted", crashed},
}

// statuses are the ends of an operation that is not a success: enum ibv_wc_status of
// libibverbs, in the words of ibv_wc_status_str.
var statuses = []struct {
	number    int
	words     string
	why, next string
}{
	{1, "local length error", "a message did not fit its buffer", "give both sides the same size"},
	{2, "local qp operation error", "the card met an inconsistent request", "see dmesg, and update the firmware"},
	{3, "local ee context operation error", "the card met an inconsistent request", "see dmesg, and update the firmware"},
	{4, "local protection error", "the card may not reach its own buffer, with GPUs mostly a PCIe path that does not work", "try host memory, and see ACS and the IOMMU"},
	{5, "work request flushed error", "an earlier operation had failed", "read the first error of both sides"},
	{7, "bad response error", "the peer answered something that does not fit", "see that both sides run the same test"},
	{8, "local access error", "the peer wrote where it may not", "see that both sides run the same test"},
	{9, "remote invalid request error", "the peer refused the request", "give both sides the same options and size"},
	{10, "remote access error", "the peer's memory may not be reached with that key", "see that both sides run the same test"},
	{11, "remote operation error", "the peer could not carry the request out", "see dmesg at the peer"},
	{12, "transport retry counter exceeded", "packets or their acknowledgements do not arrive: another rail, a wrong GID index, a path with a smaller MTU, a firewall, or loss",
		"see that the two ports are on one rail, ping over them with full packets, and look at the counters of both"},
	{13, "rnr retry counter exceeded", "the receiver had no buffer ready for too long", "see that the receiver is not starved of processor time"},
	{16, "aborted error", "the peer gave the operation up", "read what the other side printed"},
	{19, "fatal error", "the device failed", "see dmesg"},
	{20, "response timeout error", "the peer did not answer in time", "see that it still runs"},
	{21, "general error", "the card gave no reason", "see dmesg, and update the firmware"},
}
