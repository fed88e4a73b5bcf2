package journal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
)

// Probe is something that must work after a change if it worked before.
type Probe struct {
	Kind string `json:"kind"` // "route": the default route; "dns": a name server answers; "ping": a peer does
	Addr string `json:"addr,omitempty"`
	Node string `json:"node,omitempty"` // whose address it is
}

// String says it for a person.
func (p Probe) String() string {
	switch p.Kind {
	case "route":
		return "the default route"
	case "dns":
		return "the name servers"
	}
	return fmt.Sprintf("the ping to %s (%s)", p.Node, p.Addr)
}

// try returns nil when it works now.
func (p Probe) try(ctx context.Context) error {
	switch p.Kind {
	case "route":
		return defaultRoute(ctx)
	case "dns":
		return dns(ctx)
	case "ping":
		if _, err := netip.ParseAddr(p.Addr); err != nil {
			return err
		}
		_, err := run(ctx, "ping -n -c 1 -W 2 "+p.Addr, 5*time.Second)
		return err
	}
	return fmt.Errorf("%q is no probe", p.Kind)
}

// defaultRoute wants a default route, and its gateway in reach.
func defaultRoute(ctx context.Context) error {
	out, err := run(ctx, "ip -4 route show default; ip -6 route show default", 5*time.Second)
	if err != nil {
		return err
	}
	words := strings.Fields(out)
	if len(words) < 3 {
		return errors.New("there is no default route")
	}
	if addr, err := netip.ParseAddr(words[2]); err == nil && words[1] == "via" && addr.Is4() {
		_, err := run(ctx, "ping -n -c 1 -W 2 "+addr.String(), 5*time.Second)
		return err
	}
	return nil
}

// dns asks each name server of resolv.conf for the root's name servers. Any answer
// will do, also a refusal: it came from there.
func dns(ctx context.Context) error {
	b, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return err
	}
	err = errors.New("there is no name server")
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "nameserver" {
			continue
		}
		if err = ask(ctx, f[1]); err == nil {
			return nil
		}
	}
	return err
}

func ask(ctx context.Context, server string) error {
	d := net.Dialer{Timeout: 2 * time.Second}
	c, err := d.DialContext(ctx, "udp", net.JoinHostPort(server, "53"))
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	// RFC 1035, section 4.1: ID, recursion desired, one question: ".", type NS, class IN.
	if _, err := c.Write([]byte("we\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01")); err != nil {
		return err
	}
	answer := make([]byte, 512)
	n, err := c.Read(answer)
	if err == nil && (n < 12 || string(answer[:2]) != "we") {
		err = errors.New("no answer to the question")
	}
	return err
}

// settle is how long a probe or a value may take to be right again: network services
// need a moment. Tests have less.
var settle = 15 * time.Second

// probe returns the first probe that worked before and does not now.
func (r *Run) probe(ctx context.Context) error {
	for _, p := range r.Worked {
		end := time.Now().Add(settle)
		for {
			err := p.try(ctx)
			if err == nil {
				break
			}
			if time.Now().After(end) || ctx.Err() != nil {
				return fmt.Errorf("%v worked before and does not now: %w", p, err)
			}
			time.Sleep(500 * time.Millisecond)
		}
	}
	return nil
}
