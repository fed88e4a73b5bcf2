package firewall

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// A Ruleset is nftables' answer: base chains that a packet meets, the chains
// they jump to, and the sets they look into.
type Ruleset struct {
	Chains []Chain
	sets   map[key][]any
	// Partial says that some of the text could not be read, so that a rule
	// may be missing: nothing is then known to be allowed or blocked.
	Partial bool
}

// A Chain is a list of rules. Hook is "" for one that is only jumped to.
type Chain struct {
	Family   string // "inet", "ip", "ip6", "netdev"
	Table    string
	Name     string
	Type     string // "filter", "nat"
	Hook     string // "input", "forward"
	Priority int
	Policy   string // "accept", "drop"
	Device   string // of a netdev chain, where told
	Rules    []Rule
}

// A Rule is a list of statements as nft writes them in JSON.
type Rule struct {
	Handle int
	Expr   []map[string]any
}

type key struct{ family, table, name string }

// ParseNFT reads `nft -j list ruleset`. No rules at all is an answer too:
// nothing is filtered.
func ParseNFT(b []byte) (Ruleset, error) {
	start := bytes.IndexByte(b, '{')
	if start < 0 {
		if len(bytes.TrimSpace(b)) == 0 {
			return Ruleset{Partial: true}, fmt.Errorf("no output of nft")
		}
		return Ruleset{Partial: true}, fmt.Errorf("no JSON: %.120q", bytes.TrimSpace(b))
	}
	var doc struct {
		NFTables []map[string]json.RawMessage
	}
	if err := json.NewDecoder(bytes.NewReader(b[start:])).Decode(&doc); err != nil {
		return Ruleset{Partial: true}, fmt.Errorf("nft ruleset: %w", err)
	}
	if doc.NFTables == nil {
		return Ruleset{Partial: true}, fmt.Errorf("nft ruleset: no nftables list")
	}
	r := Ruleset{sets: map[key][]any{}}
	at := map[key]int{} // chain to its place
	for i, object := range doc.NFTables {
		if err := r.add(object, at); err != nil {
			r.Partial = true
			return r, fmt.Errorf("nft ruleset: object %d: %w", i+1, err)
		}
	}
	return r, nil
}

func (r *Ruleset) add(object map[string]json.RawMessage, at map[key]int) error {
	var o struct {
		Family, Table, Chain, Name, Type, Hook, Policy string
		Prio, Handle                                   int
		Dev                                            any // one name, or a list of them
		Expr                                           []map[string]any
		Elem                                           []any
	}
	for kind, raw := range object {
		switch kind {
		case "chain", "rule":
			if err := json.Unmarshal(raw, &o); err != nil {
				return err
			}
		case "set", "map":
			// A set's type may be a list, so that it is read apart.
			var s struct {
				Family, Table, Name string
				Elem                []any
			}
			if err := json.Unmarshal(raw, &s); err != nil {
				return err
			}
			r.sets[key{s.Family, s.Table, s.Name}] = s.Elem
		}
		switch kind {
		case "chain":
			dev, _ := o.Dev.(string)
			at[key{o.Family, o.Table, o.Name}] = len(r.Chains)
			r.Chains = append(r.Chains, Chain{
				Family: o.Family, Table: o.Table, Name: o.Name, Type: o.Type, Hook: o.Hook,
				Priority: o.Prio, Policy: o.Policy, Device: dev,
			})
		case "rule":
			i, ok := at[key{o.Family, o.Table, o.Chain}]
			if !ok {
				return fmt.Errorf("rule %d is in no chain", o.Handle)
			}
			r.Chains[i].Rules = append(r.Chains[i].Rules, Rule{o.Handle, o.Expr})
		}
	}
	return nil
}

// hooks are what a packet to the host passes, in that order.
var hooks = []string{"ingress", "prerouting", "input"}

// Inbound answers for one packet. It walks the filter chains on ingress,
// prerouting and input and understands interfaces, protocols, ports, ranges,
// sets, source addresses, connection state and verdict maps; NAT is not
// followed. A packet must pass every base chain, so one that surely drops
// decides.
func (r Ruleset) Inbound(q Query) Answer {
	if r.Partial {
		return Answer{Unknown, "the ruleset could not be read"}
	}
	var base []Chain
	w := walker{q: q, sets: r.sets, chains: map[key]*Chain{}, seen: map[key]fate{}}
	for i, c := range r.Chains {
		w.chains[key{c.Family, c.Table, c.Name}] = &r.Chains[i]
		if c.Type == "filter" && slices.Contains(hooks, c.Hook) && c.Family != "ip6" && c.Family != "bridge" && c.Family != "arp" {
			base = append(base, c)
		}
	}
	slices.SortStableFunc(base, func(a, b Chain) int {
		return cmp.Or(cmp.Compare(slices.Index(hooks, a.Hook), slices.Index(hooks, b.Hook)), cmp.Compare(a.Priority, b.Priority))
	})
	out := Answer{Verdict: Allowed}
	for i := range base {
		switch a := w.base(&base[i]); {
		case a.Verdict == Blocked:
			return a
		case a.Verdict == Unknown && out.Verdict == Allowed:
			out = a
		}
	}
	return out
}
