package lab_test

import (
	"strings"
	"testing"
	"time"
)

// TestRealTraps shows, on a machine that netplan keeps, the tools that only look safe,
// and that weft does not lean on them.
func TestRealTraps(t *testing.T) {
	l := place(t, true)
	s := up(t, "--profile", "spark2", "-n", "2")
	node := s.Nodes[1].Name
	file := "/etc/netplan/20-rail0.yaml"

	t.Run("netplan try", func(t *testing.T) {
		was := inside(t, l, node, "cat "+file)
		// A terminal that nobody types into, as when ssh is gone.
		out := inside(t, l, node, `sed -i 's/10\.20\.0\./10.20.99./' `+file+`
script -qec "netplan try --timeout 5" /dev/null </dev/null >/tmp/try 2>&1; echo "exit $?"; ip -4 -o addr show dev rail0`)
		if !strings.Contains(out, "exit 0") || strings.Contains(out, "10.20.99.") {
			t.Skipf("this netplan does not have the trap:\n%s", out)
		}
		if now := inside(t, l, node, "cat "+file); now == was {
			t.Skip("this netplan puts the file back")
		}
		t.Log("netplan try timed out, reverted the address, ended with 0, and left the edited file")
		inside(t, l, node, `sed -i 's/10\.20\.99\./10.20.0./' `+file)
		if now := inside(t, l, node, "cat "+file); now != was {
			t.Fatalf("%s is not as it was:\n%s", file, now)
		}

		// weft, without a confirmation: the file is back.
		inside(t, l, node, "netplan generate; networkctl reload; sleep 2; sed -i 's/9000/1500/' "+file+"; netplan generate; networkctl reload; sleep 1; ip link set rail0 mtu 1500")
		was = inside(t, l, node, "cat "+file+"; ip -4 -o addr show dev rail0; cat /sys/class/net/rail0/mtu")
		must(t, 0, "plan", "roce.mtu", "-o", "plan.json")
		cmd := real(t, "apply", "plan.json", "--yes", "--deadline", "10s")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		v := &victim{t: t, l: l, node: node}
		if !v.until(0, "waiting", `grep -q waiting $r/state`) {
			t.Fatal("the run does not wait")
		}
		cmd.Process.Kill()
		cmd.Wait()
		if mid := inside(t, l, node, "cat "+file+"; cat /sys/class/net/rail0/mtu"); !strings.Contains(mid, "9000") {
			t.Errorf("the change was not made:\n%s", mid)
		}
		// The timer that reverts if all else fails is exact to the second.
		if prop := inside(t, l, node, "systemctl show 'weft-guard-*.timer' -p AccuracyUSec"); strings.TrimSpace(prop) != "AccuracyUSec=1s" {
			t.Errorf("the guard's timer: %q, want AccuracyUSec=1s", prop)
		}
		if !v.until(0, "reverted", `grep -q reverted $r/state`) {
			t.Fatal("the run does not revert")
		}
		if now := inside(t, l, node, "cat "+file+"; ip -4 -o addr show dev rail0; cat /sys/class/net/rail0/mtu"); now != was {
			t.Errorf("not as it was:\n%s\nwant\n%s", now, was)
		}
	})

	t.Run("timers", func(t *testing.T) {
		inside(t, l, node, "systemd-run --quiet --unit=lab-late --on-active=5 true; systemd-run --quiet --unit=lab-exact --on-active=5 --timer-property=AccuracySec=1s true")
		late := inside(t, l, node, "systemctl show lab-late.timer -p AccuracyUSec --value; systemctl show lab-exact.timer -p AccuracyUSec --value")
		if strings.Fields(late)[0] != "1min" || strings.Fields(late)[1] != "1s" {
			t.Errorf("accuracy of timers: %q, want 1min unless it is asked for, and then 1s", late)
		}
		time.Sleep(7 * time.Second)
		if left := inside(t, l, node, "systemctl is-active lab-exact.timer || true"); strings.TrimSpace(left) == "active" {
			t.Error("a timer with AccuracySec=1s has not fired after 7 s")
		}
		inside(t, l, node, "systemctl stop lab-late.timer || true")
	})

	t.Run("limits", func(t *testing.T) {
		limit := func(user string) string {
			return strings.TrimSpace(inside(t, l, node, "su -l "+user+" -c 'ulimit -l'"))
		}
		inside(t, l, node, `printf '* soft memlock unlimited\n* hard memlock unlimited\n' > /etc/security/limits.d/rdma.conf`)
		lab, root := limit("lab"), limit("root")
		if lab != "unlimited" || root == "unlimited" {
			t.Fatalf("with * alone: lab %s, root %s; want that root is not covered", lab, root)
		}
		inside(t, l, node, `printf '* - memlock 64\nroot - memlock 64\n' > /etc/security/limits.d/rdma.conf; pkill -u lab sshd || true`)
		must(t, 0, "plan", "node.memlock", "-o", "limits.json")
		must(t, 0, "apply", "limits.json", "--yes")
		if lab, root := limit("lab"), limit("root"); lab != "unlimited" || root != "unlimited" {
			t.Errorf("after weft: lab %s, root %s; want both unlimited", lab, root)
		}
	})
}
