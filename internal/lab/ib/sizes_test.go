package ib_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// weft sees every switch, every link and the manager of a fabric of any size, in about
// the time that the tools need.
func TestRealSizes(t *testing.T) {
	folder := place(t)
	fmt.Printf("%5s %8s %5s %6s %6s %6s  %s\n", "hosts", "switches", "links", "up", "show", "check", "ibnetdiscover alone, over ssh s")
	for _, tt := range []struct{ hosts, switches, links int }{{8, 2, 12}, {200, 15, 400}, {1000, 48, 2024}} {
		if tt.hosts < 1000 && !full() {
			continue
		}
		clock := time.Now()
		lap := func() float64 { d := time.Since(clock); clock = time.Now(); return d.Seconds() }
		weft(t, 0, "lab", "ib", "up", "--hosts", strconv.Itoa(tt.hosts))
		up := lap()
		out, _ := weft(t, 0, "show", "links", "--json")
		show := lap()
		got := countFabric(t, out)
		if want := fmt.Sprintf("%d switches, %d links at 4x HDR, %d hosts, [{node0001 1 MASTER}]", tt.switches, tt.links, tt.hosts); got != want {
			t.Errorf("weft sees %s, want %s", got, want)
		}
		check := "–"
		if full() {
			lap()
			if wrong := look(t, 0); len(wrong) > 0 {
				t.Errorf("a healthy fabric has %q", wrong)
			}
			check = fmt.Sprintf("%.1f", lap())
		}
		topology, err := osexec.Command("ssh", "-F", filepath.Join(folder, "ssh_config"), "node0001", "ibnetdiscover").Output()
		if hosts := bytes.Count(topology, []byte("\nCa\t")); err != nil || hosts != tt.hosts {
			t.Errorf("ibnetdiscover: %d hosts, %v", hosts, err)
		}
		fmt.Printf("%5d %8d %5d %6.1f %6.1f %6s %6.1f\n", tt.hosts, tt.switches, tt.links, up, show, check, lap())
		weft(t, 0, "lab", "ib", "down")
		gone(t, folder)
	}
}

// countFabric says what is in the facts that show writes.
func countFabric(t *testing.T, facts string) string {
	t.Helper()
	type end struct {
		Name   string
		Switch bool
	}
	var c struct {
		Fabric struct {
			Switches []struct{ LID int }
			SMs      []struct {
				Name  string
				LID   int
				State string
			}
			Links []struct {
				A, B         end
				Width, Speed string
			}
		}
	}
	if err := json.Unmarshal([]byte(facts), &c); err != nil {
		t.Fatal(err)
	}
	hosts, links := map[string]bool{}, 0
	for _, l := range c.Fabric.Links {
		if l.Width == "4x" && l.Speed == "HDR" {
			links++
		}
		for _, e := range []end{l.A, l.B} {
			if !e.Switch {
				hosts[e.Name] = true
			}
		}
	}
	lids := map[int]bool{}
	for _, s := range c.Fabric.Switches {
		lids[s.LID] = true
	}
	delete(lids, 0) // none
	return fmt.Sprintf("%d switches, %d links at 4x HDR, %d hosts, %v", len(lids), links, len(hosts), c.Fabric.SMs)
}
