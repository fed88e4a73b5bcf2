package check

import (
	"fmt"
	"strings"
	"testing"
)

// row is one case of a check's table test: what is broken in the good cluster,
// and one finding that must come of it.
type row struct {
	name string
	do   func(c *Case)
	want string // a line as written by line()
	not  string // a part that no finding may contain; "" is no demand
	fix  string // a part that the wanted finding's fix must contain
}

// judge runs a check over its rows. Whatever is not pass or skip must say why,
// and a failure or warning must say how to mend it.
func judge(t *testing.T, ck Check, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			c := good()
			if r.do != nil {
				r.do(c)
			}
			found := false
			var lines []string
			for _, f := range of(ck, c) {
				l := line(f)
				lines = append(lines, l)
				if l == r.want {
					found = true
					if fix := strings.Join(f.Fix, "\n"); !strings.Contains(fix, r.fix) {
						t.Errorf("fix %q does not say %q", fix, r.fix)
					}
				}
				if r.not != "" && strings.Contains(l, r.not) {
					t.Errorf("%q says %q", l, r.not)
				}
				if f.Status != Pass && f.Why == "" {
					t.Errorf("%q has no why", l)
				}
				if (f.Status == Fail || f.Status == Warn) && (len(f.Fix) == 0 || f.Got == "") {
					t.Errorf("%q lacks a fix or what was got", l)
				}
			}
			if !found {
				t.Errorf("no finding %q among:\n%s", r.want, strings.Join(lines, "\n"))
			}
		})
	}
}

// line writes a finding in one line: "n2 mlx5_0/1 fail: got, want w: why".
func line(f Finding) string {
	s := fmt.Sprintf("%v %v", f.Subject, f.Status)
	sep := ": "
	if f.Got != "" {
		s += sep + f.Got
		sep = ", "
	}
	if f.Want != "" {
		s += sep + "want " + f.Want
	}
	if f.Why != "" {
		s += ": " + f.Why
	}
	return s
}
