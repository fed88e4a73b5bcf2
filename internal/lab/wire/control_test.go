package wire

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestControl(t *testing.T) {
	dir := lab(t, Net{"mgmt", []string{"node1"}}, rail)
	for _, c := range []struct {
		l    Limit
		want string
	}{
		{Limit{"rail1", "node1", 1500}, `no net "rail1"`},
		{Limit{"mgmt", "node2", 1500}, `net "mgmt" has no port "node2"`},
		{Limit{"mgmt", "node1", -1}, "request: mtu -1 is less than nothing"},
		{Limit{strings.Repeat("x", 5000), "node1", 1}, "request: unexpected EOF"},
	} {
		if err := Set(t.Context(), dir, c.l); err == nil || err.Error() != c.want {
			t.Errorf("%.40q: %v, want %s", c.l.Net, err, c.want)
		}
	}
	if err := Set(t.Context(), dir, Limit{"rail0", "node2", 1500}); err != nil {
		t.Fatal(err)
	}
	got, err := Ask(t.Context(), dir)
	want := []Port{{Net: "mgmt", Name: "node1"}, {Net: "rail0", Name: "node1"}, {Net: "rail0", Name: "node2", MTU: 1500}, {Net: "rail0", Name: "node3"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ports %+v, %v, want %+v", got, err, want)
	}
}

func TestControlWithoutAnswer(t *testing.T) {
	dir := folder(t)
	if _, err := Ask(t.Context(), dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no switch: %v", err)
	}
	l, err := net.Listen("unix", control(dir)) // and never accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Set(ctx, dir, Limit{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a switch that is stuck: %v", err)
	}
}

// TestEndDoesNotWaitForAClient has one that is connected and says nothing.
func TestEndDoesNotWaitForAClient(t *testing.T) {
	dir := folder(t)
	stop := start(t, dir, rail)
	c, err := net.Dial("unix", control(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begin := time.Now()
	stop()
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("the end took %v", took)
	}
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{`{}`, `{"Set":{"Net":"rail0","Port":"node2","MTU":1500}}`, `{"Set":{"MTU":-1}}`, `{"Get":1}`, `null`, `{"Set":`, "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all := ports{{net: "rail0", name: "node1"}, {net: "rail0", name: "node2"}}
		r := all.answer(bytes.NewReader(b))
		if (r.Error == "") != (len(r.Ports) == 2) {
			t.Errorf("%q: error %q and %d ports", b, r.Error, len(r.Ports))
		}
		for _, p := range r.Ports {
			if p.MTU < 0 {
				t.Errorf("%q: mtu %d", b, p.MTU)
			}
		}
	})
}
