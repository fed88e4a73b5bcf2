package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A LimitRule is a line of limits.conf or limits.d.
type LimitRule struct {
	Domain string // "alice", "@rdma", "*", ":1000", "1000:2000"
	Type   string // "soft", "hard", "-" for both
	Item   string // "memlock"; "" with "-" exempts the domain from limits
	Value  string
	Line   int
}

// ParseLimitsConf reads one file of pam_limits.
func ParseLimitsConf(b []byte) ([]LimitRule, error) {
	var (
		all  []LimitRule
		errs []error
	)
	lines(b, func(n int, line string) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case len(f) == 2 && f[1] == "-":
			all = append(all, LimitRule{Domain: f[0], Type: "-", Line: n})
		case len(f) == 4 && (f[1] == "soft" || f[1] == "hard" || f[1] == "-"):
			all = append(all, LimitRule{f[0], f[1], f[2], f[3], n})
		default:
			errs = append(errs, fmt.Errorf("line %d: %.120q is no limit", n, line))
		}
	})
	return all, errors.Join(errs...)
}

// Memlock is what a login of the user may lock, in bytes, after all rules:
// limits.conf first, then limits.d in the order of its names. Nil means that
// no rule speaks and the login keeps what it inherits.
//
// It follows pam_limits: the user's own line beats a group's, which beats "*";
// among equals the last wins; root obeys lines that name root, and no other.
func Memlock(rules []LimitRule, user ID) (soft, hard *Bound) {
	var softRank, hardRank int
	for _, r := range rules {
		rank := r.rank(user)
		if rank == 0 {
			continue
		}
		if r.Item == "" {
			return nil, nil // exempt
		}
		if r.Item != "memlock" {
			continue
		}
		v, ok := ParseBound(r.Value)
		if !ok {
			continue
		}
		if !v.Unlimited {
			// memlock counts KiB: limits.conf(5).
			if v.Value > 1<<53 {
				continue
			}
			v.Value *= 1024
		}
		if r.Type != "hard" && rank >= softRank {
			soft, softRank = &v, rank
		}
		if r.Type != "soft" && rank >= hardRank {
			hard, hardRank = &v, rank
		}
	}
	if soft != nil && hard != nil && !hard.Unlimited && (soft.Unlimited || soft.Value > hard.Value) {
		soft = hard
	}
	return soft, hard
}

// rank is how closely a rule names the user: 3 by name or number, 2 by group,
// 1 by "*", 0 not at all.
func (r LimitRule) rank(user ID) int {
	if r.Domain == user.User {
		return 3
	}
	if user.UID == 0 {
		return 0
	}
	if r.Domain == "*" {
		return 1
	}
	if group, ok := strings.CutPrefix(r.Domain, "@"); ok {
		for _, g := range append([]Named{user.Group}, user.Groups...) {
			if g.Name != "" && g.Name == group || inIDs(group, g.Number) {
				return 2
			}
		}
		return 0
	}
	if inIDs(r.Domain, user.UID) {
		return 3
	}
	return 0
}

// inIDs reports whether a range "1000:2000", "1000:" or ":1000" holds n. The
// last means that number alone.
func inIDs(s string, n int) bool {
	lo, hi, ok := strings.Cut(s, ":")
	if !ok {
		return false
	}
	low, err := strconv.Atoi(lo)
	high, err1 := strconv.Atoi(hi)
	switch {
	case lo == "" && err1 == nil:
		return n == high
	case err != nil:
		return false
	case hi == "":
		return n >= low
	}
	return err1 == nil && n >= low && n <= high
}
