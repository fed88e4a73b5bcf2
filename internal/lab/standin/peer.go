package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"weft/internal/verbs"
)

// peerPort is where ranks meet the first one.
const peerPort = 10002

// hidden is how many bytes a token is between ranks: 4096 numbers of 2 bytes.
const hidden = 8192

// hello is what two ranks tell each other.
type hello struct {
	RDMA  bool       `json:"rdma"`
	Peer  verbs.Peer `json:"peer"`
	Trips int        `json:"trips,omitempty"` // how many round trips follow
	Done  bool       `json:"done,omitempty"`
}

// options are those of every connection: waits by events, because the lab's machines have one
// processor, and long ones, because it is emulated.
func options(gid int) verbs.Options {
	return verbs.Options{Op: verbs.Send, Size: hidden, Depth: 16, GID: gid, Wait: verbs.Events, Stall: time.Minute}
}

// openRDMA opens the port that NCCL_IB_HCA names.
func openRDMA() (*verbs.Conn, string, error) {
	if wanted() == "socket" {
		return nil, "", errors.New("told to use sockets")
	}
	name, num, _ := strings.Cut(strings.TrimPrefix(os.Getenv("NCCL_IB_HCA"), "="), ":")
	num, _, _ = strings.Cut(num, ",")
	port, err := strconv.Atoi(num)
	if name == "" || err != nil {
		return nil, "", errors.New("NCCL_IB_HCA names no port")
	}
	lib, err := verbs.Load()
	if err != nil {
		return nil, "", err
	}
	dev, err := lib.Open(name, port)
	if err != nil {
		return nil, "", err
	}
	gid, err := gidIndex(name, port)
	if err != nil {
		return nil, "", err
	}
	conn, err := dev.NewConn(options(gid))
	return conn, fmt.Sprintf("%s:%d", name, port), err
}

// gidIndex is the first RoCE v2 entry with an IPv4 address, which NCCL takes too.
func gidIndex(dev string, port int) (int, error) {
	dir := fmt.Sprintf("/sys/class/infiniband/%s/ports/%d", dev, port)
	for i := range 256 {
		kind, err := os.ReadFile(filepath.Join(dir, "gid_attrs/types", strconv.Itoa(i)))
		gid, gerr := os.ReadFile(filepath.Join(dir, "gids", strconv.Itoa(i)))
		if err == nil && gerr == nil && strings.Contains(string(kind), "v2") && strings.HasPrefix(string(gid), "0000:0000:0000:0000:0000:ffff:") {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s has no IPv4 entry for RoCE v2", dir)
}

// nccl says what NCCL would say of the network that a rank uses.
func nccl(rank int, port string) {
	host, _ := os.Hostname()
	dev := strings.TrimPrefix(os.Getenv("NCCL_SOCKET_IFNAME"), "=")
	line := func(format string, args ...any) {
		say("%s:%d:%d [0] NCCL INFO "+format, append([]any{host, os.Getpid(), os.Getpid() + 40}, args...)...)
	}
	line("NCCL version 2.28.3+cuda13.0")
	via := "NET/Socket/0"
	if port != "" {
		line("NET/IB : Using [0]%s/RoCE [RO]; OOB %s:192.0.2.1<0>", port, dev)
		line("Using network IB")
		via = "NET/IB/0"
	} else {
		line("NET/IB : No device found.")
		line("NET/Socket : Using [0]%s:192.0.2.1<0>", dev)
		line("Using network Socket")
	}
	line("[Rank %d] ncclCommInitRank comm 0xb7d2c5a0%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x61c8864680b583eb - Init START", rank, rank, rank)
	line("comm 0xb7d2c5a0%d rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0", rank, rank)
	for channel := range 2 {
		line("Channel %02d/0 : %d[0] -> %d[0] [receive] via %s", channel, 1-rank, rank, via)
		line("Channel %02d/0 : %d[0] -> %d[0] [send] via %s", channel, rank, 1-rank, via)
	}
	line("ncclCommInitRank comm 0xb7d2c5a0%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x61c8864680b583eb - Init COMPLETE", rank, rank)
}

// peerServer is a rank that is not the first: it answers for every token, until it cannot.
func peerServer(ip string) error {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(peerPort)))
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			if err := answer(c); err != nil && !errors.Is(err, io.EOF) {
				say("rank 1: %v", err)
			}
		}()
	}
}

// hear reads one line.
func hear(in *bufio.Reader) (h hello, err error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(line, &h)
}

func answer(c net.Conn) error {
	in, out := bufio.NewReader(c), json.NewEncoder(c)
	head, err := hear(in)
	if err != nil {
		return err
	}
	conn, port, err := openRDMA()
	mine := hello{RDMA: err == nil && head.RDMA}
	if err == nil {
		defer conn.Close()
		mine.Peer = conn.Local()
	}
	if mine.RDMA {
		if err := conn.Connect(head.Peer); err != nil {
			return fmt.Errorf("NCCL WARN Call to ibv_modify_qp failed with error %w", err)
		}
	} else {
		port = ""
	}
	nccl(1, port)
	if err := out.Encode(mine); err != nil {
		return err
	}
	buf := make([]byte, hidden)
	for {
		next, err := hear(in)
		if err != nil {
			return err
		}
		if !mine.RDMA { // over the same TCP
			for range next.Trips {
				if _, err := io.ReadFull(in, buf); err != nil {
					return err
				}
				if _, err := c.Write(buf); err != nil {
					return err
				}
			}
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := conn.Pong(ctx); err != nil {
				say("rank 1: %v", err)
			}
		})
		out.Encode(hello{RDMA: true})
		_, err = hear(in) // that it is done
		cancel()
		wg.Wait()
		if err != nil {
			return err
		}
		out.Encode(hello{Done: true})
	}
}

// rank is the first rank's way to another.
type rank struct {
	mu   sync.Mutex
	tcp  net.Conn
	in   *bufio.Reader
	conn *verbs.Conn // nil: over TCP
}

// join meets the rank at an address.
func join(ip string) (*rank, error) {
	c, err := net.DialTimeout("tcp", net.JoinHostPort(ip, strconv.Itoa(peerPort)), 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("torch.distributed.DistNetworkError: the rank at %s cannot be reached: %w", ip, err)
	}
	r := &rank{tcp: c, in: bufio.NewReader(c)}
	conn, port, rerr := openRDMA()
	mine := hello{RDMA: rerr == nil}
	if rerr == nil {
		mine.Peer = conn.Local()
	}
	if err := json.NewEncoder(c).Encode(mine); err != nil {
		return nil, err
	}
	other, err := hear(r.in)
	if err != nil {
		return nil, err
	}
	if mine.RDMA && other.RDMA {
		if err := conn.Connect(other.Peer); err != nil {
			return nil, fmt.Errorf("NCCL WARN Call to ibv_modify_qp failed with error %w", err)
		}
		r.conn = conn
	} else {
		port = ""
	}
	nccl(0, port)
	return r, nil
}

// trips makes round trips of a token each.
func (r *rank) trips(ctx context.Context, n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := json.NewEncoder(r.tcp)
	if err := out.Encode(hello{Trips: n}); err != nil {
		return err
	}
	if r.conn == nil {
		buf := make([]byte, hidden)
		for range n {
			if _, err := r.tcp.Write(buf); err != nil {
				return err
			}
			if _, err := io.ReadFull(r.in, buf); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := hear(r.in); err != nil {
		return err
	}
	time.Sleep(50 * time.Millisecond) // until the other listens
	_, err := r.conn.Ping(ctx, verbs.Limit{Count: n})
	out.Encode(hello{Done: true})
	if _, derr := hear(r.in); err == nil {
		err = derr
	}
	return err
}

// rpcServer stands in for llama.cpp's RPC server: it listens, and no more.
func rpcServer(f map[string]string) error {
	say("create_backend: using stand-in backend\nStarting RPC server v2.0.0\n  endpoint       : %s:%s", f["H"], f["p"])
	if wanted() == "join" {
		select {}
	}
	go func() {
		say("%v", peerServer(f["H"]))
		os.Exit(1)
	}()
	l, err := net.Listen("tcp", net.JoinHostPort(f["H"], f["p"]))
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		c.Close()
	}
}
