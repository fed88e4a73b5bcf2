package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Named is a number with the name it has, "" when it has none.
type Named struct {
	Number int
	Name   string
}

// An ID is the output of `id`.
type ID struct {
	UID    int
	User   string
	Group  Named // the primary one
	Groups []Named
}

// ParseID reads `id`: "uid=1000(me) gid=1000(me) groups=1000(me),109(rdma)".
func ParseID(b []byte) (ID, error) {
	var (
		id   ID
		seen bool
		errs []error
	)
	lines(b, func(n int, line string) {
		for _, w := range strings.Fields(line) {
			key, v, _ := strings.Cut(w, "=")
			for _, part := range strings.Split(v, ",") {
				g, err := named(part)
				switch {
				case key != "uid" && key != "gid" && key != "groups":
					continue
				case err != nil:
					errs = append(errs, fmt.Errorf("line %d: %s: %w", n, key, err))
					continue
				}
				switch key {
				case "uid":
					id.UID, id.User, seen = g.Number, g.Name, true
				case "gid":
					id.Group = g
				case "groups":
					id.Groups = append(id.Groups, g)
				}
			}
		}
	})
	if !seen && len(errs) == 0 {
		errs = append(errs, errors.New("no uid"))
	}
	return id, errors.Join(errs...)
}

// named reads "109(rdma)" or "109".
func named(s string) (Named, error) {
	num, name, _ := strings.Cut(s, "(")
	n, err := strconv.Atoi(num)
	if err != nil || n < 0 {
		return Named{}, fmt.Errorf("%.120q is not a number and a name", s)
	}
	return Named{n, strings.TrimSuffix(name, ")")}, nil
}

// In reports whether the user is in a group.
func (id ID) In(group string) bool {
	for _, g := range append([]Named{id.Group}, id.Groups...) {
		if g.Name == group {
			return true
		}
	}
	return false
}
