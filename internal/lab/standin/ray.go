package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// member is a node of the stand-in's Ray.
type member struct {
	IP   string  `json:"ip"`
	GPUs float64 `json:"gpus"`
	TPUs float64 `json:"tpus"`
}

// word is what travels between the stand-ins: one JSON line each.
type word struct {
	Join   *member  `json:"join,omitempty"`
	Ask    bool     `json:"ask,omitempty"`
	Here   []member `json:"here,omitempty"`
	Joined bool     `json:"joined,omitempty"`
}

// patience is how long a worker looks for its head, as Ray's own minute.
const patience = 60 * time.Second

func rayStart(f map[string]string) error {
	gpus, _ := strconv.ParseFloat(f["num-gpus"], 64)
	me := member{IP: f["node-ip-address"], GPUs: gpus}
	if wanted() == "tpu" {
		me.GPUs, me.TPUs = 0, gpus
	}
	say("Local node IP: %s", me.IP)
	if _, head := f["head"]; head {
		return rayHead(net.JoinHostPort(me.IP, f["port"]), me)
	}
	return rayWorker(f["address"], me)
}

func rayHead(at string, me member) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	say("Ray runtime started.")
	var mu sync.Mutex
	here := map[net.Conn]member{nil: me}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			defer func() {
				mu.Lock()
				delete(here, c)
				mu.Unlock()
			}()
			in := json.NewDecoder(c)
			for {
				var w word
				if in.Decode(&w) != nil {
					return
				}
				mu.Lock()
				if w.Join != nil {
					here[c] = *w.Join
					say("node %s joined with %g GPUs", w.Join.IP, w.Join.GPUs)
				}
				all := []member{me}
				for k, m := range here {
					if k != nil {
						all = append(all, m)
					}
				}
				mu.Unlock()
				json.NewEncoder(c).Encode(word{Here: all, Joined: w.Join != nil})
			}
		}()
	}
}

func rayWorker(head string, me member) error {
	start := time.Now()
	for {
		c, err := net.DialTimeout("tcp", head, 5*time.Second)
		if err != nil || wanted() == "join" {
			if err == nil {
				c.Close()
			}
			if time.Since(start) > patience {
				return words("[%s E %d %d] gcs_rpc_client.h:537: Failed to connect to GCS within 60 seconds. GCS may have been killed.", time.Now().Format("2006-01-02 15:04:05,000"), os.Getpid(), os.Getpid())
			}
			say("[%s W %d %d] rpc_client.h:153: Failed to connect to GCS at address %s within 5 seconds.", time.Now().Format("2006-01-02 15:04:05,000"), os.Getpid(), os.Getpid(), head)
			time.Sleep(5 * time.Second)
			continue
		}
		if err := json.NewEncoder(c).Encode(word{Join: &me}); err != nil {
			return err
		}
		say("Ray runtime started.")
		if me.GPUs > 0 {
			go func() {
				say("%v", peerServer(me.IP))
				os.Exit(1)
			}()
		}
		in := bufio.NewReader(c)
		for {
			if _, err := in.ReadString('\n'); err != nil {
				return words("raylet: The node with node ID stand-in has been marked dead because the head went away")
			}
		}
	}
}

// members asks the head who is there.
func members(head string) ([]member, error) {
	c, err := net.DialTimeout("tcp", head, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if err := json.NewEncoder(c).Encode(word{Ask: true}); err != nil {
		return nil, err
	}
	var w word
	err = json.NewDecoder(c).Decode(&w)
	return w.Here, err
}

func rayStatus(f map[string]string) error {
	here, err := members(f["address"])
	if err != nil {
		return words("Ray cluster is not found at %s", f["address"])
	}
	var gpus, tpus float64
	say("======== Autoscaler status: %s ========\nNode status\n---------------------------------------------------------------\nActive:", time.Now().Format("2006-01-02 15:04:05.000000"))
	for _, m := range here {
		gpus += m.GPUs
		tpus += m.TPUs
		say(" 1 node_%x", m.IP)
	}
	say("Pending:\n (no pending nodes)\nRecent failures:\n (no failures)\n\nResources\n---------------------------------------------------------------\nUsage:\n 0.0/4.0 CPU\n 0.0/%.1f GPU", gpus)
	if tpus > 0 {
		say(" 0.0/%.1f TPU", tpus)
	}
	say("\nDemands:\n (no resource demands)")
	return nil
}
