//lint:file-ignore U1000 the layouts of C structs have fields that nobody reads

package verbs

// What follows is the memory layout of <infiniband/verbs.h>, as far as weft uses it.
// It is frozen: libibverbs.so.1 has kept it since rdma-core began, and programs built
// against older headers depend on it. Both architectures of weft are little-endian LP64
// with the same alignment, so there is one declaration; layout_test.go compares every
// size, offset and constant with the real headers, through gcc, for both.

// gid is union ibv_gid.
type gid [16]byte

// sge is struct ibv_sge: one piece of registered memory.
type sge struct {
	addr   uint64
	length uint32
	lkey   uint32
}

// sendWR is struct ibv_send_wr: one operation to post.
type sendWR struct {
	wrID       uint64
	next       uintptr
	sgList     uintptr
	numSGE     int32
	opcode     uint32
	sendFlags  uint32
	immData    uint32
	remoteAddr uint64 // wr.rdma.remote_addr
	rkey       uint32 // wr.rdma.rkey
	_          [20]byte
	remoteSRQN uint32
	_          [4]byte
	_          [48]byte // bind_mw or tso
}

// recvWR is struct ibv_recv_wr: one receive to post.
type recvWR struct {
	wrID   uint64
	next   uintptr
	sgList uintptr
	numSGE int32
	_      [4]byte
}

// completion is struct ibv_wc.
type completion struct {
	wrID      uint64
	status    uint32
	opcode    uint32
	vendorErr uint32
	byteLen   uint32
	immData   uint32
	qpNum     uint32
	srcQP     uint32
	wcFlags   uint32
	pkeyIndex uint16
	slid      uint16
	sl        uint8
	pathBits  uint8
	_         [2]byte
}

// qpCap is struct ibv_qp_cap.
type qpCap struct {
	maxSendWR     uint32
	maxRecvWR     uint32
	maxSendSGE    uint32
	maxRecvSGE    uint32
	maxInlineData uint32
}

// qpInitAttr is struct ibv_qp_init_attr.
type qpInitAttr struct {
	qpContext uintptr
	sendCQ    uintptr
	recvCQ    uintptr
	srq       uintptr
	cap       qpCap
	qpType    uint32
	sqSigAll  int32
	_         [4]byte
}

// globalRoute is struct ibv_global_route.
type globalRoute struct {
	dgid         gid
	flowLabel    uint32
	sgidIndex    uint8
	hopLimit     uint8
	trafficClass uint8
	_            [1]byte
}

// ahAttr is struct ibv_ah_attr: where packets go.
type ahAttr struct {
	grh         globalRoute
	dlid        uint16
	sl          uint8
	srcPathBits uint8
	staticRate  uint8
	isGlobal    uint8
	portNum     uint8
	_           [1]byte
}

// qpAttr is struct ibv_qp_attr.
type qpAttr struct {
	qpState          uint32
	curQPState       uint32
	pathMTU          uint32
	pathMigState     uint32
	qkey             uint32
	rqPSN            uint32
	sqPSN            uint32
	destQPNum        uint32
	qpAccessFlags    uint32
	cap              qpCap
	ahAttr           ahAttr
	altAHAttr        ahAttr
	pkeyIndex        uint16
	altPkeyIndex     uint16
	enSQDAsyncNotify uint8
	sqDraining       uint8
	maxRdAtomic      uint8
	maxDestRdAtomic  uint8
	minRNRTimer      uint8
	portNum          uint8
	timeout          uint8
	retryCnt         uint8
	rnrRetry         uint8
	altPortNum       uint8
	altTimeout       uint8
	_                [1]byte
	rateLimit        uint32
	_                [4]byte
}

// portAttr is struct ibv_port_attr.
type portAttr struct {
	state         uint32
	maxMTU        uint32
	activeMTU     uint32
	gidTblLen     int32
	portCapFlags  uint32
	maxMsgSz      uint32
	badPkeyCntr   uint32
	qkeyViolCntr  uint32
	pkeyTblLen    uint16
	lid           uint16
	smLID         uint16
	lmc           uint8
	maxVLNum      uint8
	smSL          uint8
	subnetTimeout uint8
	initTypeReply uint8
	activeWidth   uint8
	activeSpeed   uint8
	physState     uint8
	linkLayer     uint8
	flags         uint8
	portCapFlags2 uint16
	_             [2]byte
}

// deviceAttr is struct ibv_device_attr.
type deviceAttr struct {
	fwVer               [64]byte
	nodeGUID            uint64
	sysImageGUID        uint64
	maxMRSize           uint64
	pageSizeCap         uint64
	vendorID            uint32
	vendorPartID        uint32
	hwVer               uint32
	maxQP               int32
	maxQPWR             int32
	deviceCapFlags      uint32
	maxSGE              int32
	maxSGERd            int32
	maxCQ               int32
	maxCQE              int32
	maxMR               int32
	maxPD               int32
	maxQPRdAtom         int32
	maxEERdAtom         int32
	maxResRdAtom        int32
	maxQPInitRdAtom     int32
	maxEEInitRdAtom     int32
	atomicCap           uint32
	maxEE               int32
	maxRDD              int32
	maxMW               int32
	maxRawIPv6QP        int32
	maxRawEthyQP        int32
	maxMcastGrp         int32
	maxMcastQPAttach    int32
	maxTotalMcastAttach int32
	maxAH               int32
	maxFMR              int32
	maxMapPerFMR        int32
	maxSRQ              int32
	maxSRQWR            int32
	maxSRQSGE           int32
	maxPkeys            uint16
	localCAAckDelay     uint8
	physPortCnt         uint8
	_                   [4]byte
}

// device is the head of struct ibv_device.
type device struct {
	ops           [2]uintptr
	nodeType      int32
	transportType int32
	name          [64]byte
	devName       [64]byte
}

// contextOps is struct ibv_context_ops: the calls that verbs.h has as inline functions.
type contextOps struct {
	before      [11]uintptr
	pollCQ      uintptr
	reqNotifyCQ uintptr
	between     [12]uintptr
	postSend    uintptr
	postRecv    uintptr
	after       [5]uintptr
}

// ibvContext is the head of struct ibv_context.
type ibvContext struct {
	device  uintptr
	ops     contextOps
	cmdFD   int32
	asyncFD int32
}

// memoryRegion is struct ibv_mr.
type memoryRegion struct {
	context uintptr
	pd      uintptr
	addr    uintptr
	length  uint64
	handle  uint32
	lkey    uint32
	rkey    uint32
	_       [4]byte
}

// compChannel is struct ibv_comp_channel.
type compChannel struct {
	context uintptr
	fd      int32
	refcnt  int32
}

// queuePair is the head of struct ibv_qp.
type queuePair struct {
	context   uintptr
	qpContext uintptr
	pd        uintptr
	sendCQ    uintptr
	recvCQ    uintptr
	srq       uintptr
	handle    uint32
	qpNum     uint32
	state     uint32
	qpType    uint32
}

// Values of verbs.h, each under its own name.
const (
	accessLocalWrite      = 1
	accessRemoteWrite     = 1 << 1
	accessRemoteRead      = 1 << 2
	accessRelaxedOrdering = 1 << 20

	linkInfiniBand = 1
	linkEthernet   = 2

	portActive = 4

	portGRHRequired = 1 // IBV_QPF_GRH_REQUIRED, in flags

	qptRC = 2

	qpsInit = 1
	qpsRTR  = 2
	qpsRTS  = 3
	qpsErr  = 6

	qpState           = 1 << 0
	qpAccessFlags     = 1 << 3
	qpPkeyIndex       = 1 << 4
	qpPort            = 1 << 5
	qpAV              = 1 << 7
	qpPathMTU         = 1 << 8
	qpTimeout         = 1 << 9
	qpRetryCnt        = 1 << 10
	qpRNRRetry        = 1 << 11
	qpRQPSN           = 1 << 12
	qpMaxQPRdAtomic   = 1 << 13
	qpMinRNRTimer     = 1 << 15
	qpSQPSN           = 1 << 16
	qpMaxDestRdAtomic = 1 << 17
	qpDestQPN         = 1 << 20

	sendSignaled = 1 << 1
	sendInline   = 1 << 3

	transportIWARP = 1

	wcSuccess = 0

	wrRDMAWrite    = 0
	wrRDMAWriteImm = 1
	wrSend         = 2
	wrRDMARead     = 4
)

// Completion statuses.
const (
	wcLocLen = iota + 1
	wcLocQPOp
	wcLocEECOp
	wcLocProt
	wcFlush
	wcMWBind
	wcBadResp
	wcLocAccess
	wcRemInvReq
	wcRemAccess
	wcRemOp
	wcRetryExc
	wcRNRRetryExc
	wcLocRDDViol
	wcRemInvRDReq
	wcRemAbort
	wcInvEECN
	wcInvEECState
	wcFatal
	wcRespTimeout
	wcGeneral
)
