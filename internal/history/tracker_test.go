package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/fact"
	"weft/internal/unit"
)

// sim drives a tracker through time.
type sim struct {
	t     *testing.T
	track *Tracker
	now   time.Time
	look  Look
	count map[string]uint64
	heard []Event
}

const every = 5 * time.Second

func newSim(t *testing.T) *sim {
	s := &sim{t: t, track: New(Usual, "test", day, every), now: day, count: map[string]uint64{"port_xmit_data": 0, "port_rcv_data": 0, "symbol_error": 0, "link_downed": 0, "rnr_nak_retry_err": 0, "local_ack_timeout_err": 0}}
	s.look = Look{Boot: "b1", Ports: []PortLook{{Name: "mlx5_0/1", Device: "mlx5_0", Num: 1, Netdev: "eth2", Layer: "Ethernet", State: "ACTIVE", Phys: "LinkUp",
		Rate: fact.Some(100 * unit.Gbps), MTU: fact.Some(9000), GIDs: []string{GIDText(3, "RoCE v2", "::ffff:10.0.0.1")}, GIDd: true}}}
	return s
}

func (s *sim) port() *PortLook { return &s.look.Ports[0] }

// step looks once, an interval later.
func (s *sim) step() []Event { return s.after(every) }

func (s *sim) after(d time.Duration) []Event {
	s.now = s.now.Add(d)
	l := s.look
	l.Ports = slices.Clone(l.Ports)
	for i := range l.Ports {
		l.Ports[i].Count = CountersOf(s.count)
	}
	events := s.track.Add("n1", s.now, &l)
	s.heard = append(s.heard, events...)
	return events
}

func (s *sim) live() LivePort {
	s.t.Helper()
	l := s.track.Live(s.now)
	if len(l.Nodes) == 0 || len(l.Nodes[0].Ports) == 0 {
		s.t.Fatal("no port")
	}
	return l.Nodes[0].Ports[0]
}

func (s *sim) state(state string, health Health, level Level) {
	s.t.Helper()
	if p := s.live(); p.State != state || p.Health != health || p.Level != level {
		s.t.Errorf("%s: got %s, %s, %s (%s), want %s, %s, %s", s.now.Sub(day), p.State, p.Health, p.Level, p.Why, state, health, level)
	}
}

func (s *sim) said(what string) int {
	n := 0
	for _, e := range s.heard {
		if strings.Contains(e.Text, what) {
			n++
		}
	}
	return n
}

func TestRatesOfCounters(t *testing.T) {
	s := newSim(t)
	s.step()
	if p := s.live(); p.Sent.Known() {
		t.Error("a rate is known after one look")
	}
	s.count["port_xmit_data"] += 5 * 1_250_000_000 / 4 // 10 Gb/s for five seconds
	s.step()
	p := s.live()
	if sent, _ := p.Sent.Get(); sent != 1_250_000_000 {
		t.Errorf("sent %g bytes a second, want 1.25e9", sent)
	}
	if use, _ := p.Use.Get(); use != 0.1 {
		t.Errorf("used %g of the port, want 0.1", use)
	}
	s.count["port_xmit_data"] = 100 // perfquery -R
	s.step()
	if p := s.live(); p.Sent.Known() || s.said("began anew") != 1 {
		t.Errorf("after a reset the rate is %v, and it was said %d times", p.Sent, s.said("began anew"))
	}
	s.count["port_xmit_data"] += 5 * 1000 / 4
	s.step()
	if p := s.live(); p.Sent.Or(-1) != 1000 {
		t.Errorf("after the reset sent %v, want 1000", p.Sent)
	}
}

func TestWrapIsNoReset(t *testing.T) {
	s := newSim(t)
	s.count["port_xmit_data"] = 1<<32 - 1000
	s.step()
	s.count["port_xmit_data"] = 250
	s.step()
	if sent := s.live().Sent.Or(-1); sent != 1250*4/5 {
		t.Errorf("sent %g, want %d", sent, 1250*4/5)
	}
}

func TestFlapsAndSettling(t *testing.T) {
	s := newSim(t)
	s.step()
	s.state("ACTIVE", HealthUp, Pass)
	for range 3 {
		s.port().State = "DOWN"
		s.step()
		s.port().State = "ACTIVE"
		s.step()
		s.after(time.Hour)
	}
	s.state("ACTIVE", HealthFlapping, Fail)
	if s.said("is flapping") != 1 {
		t.Errorf("flapping was said %d times: %v", s.said("is flapping"), s.heard)
	}
	for range 11 {
		s.after(time.Hour)
	}
	s.state("ACTIVE", HealthUp, Pass)
	if p := s.live(); p.FlapsAll != 3 || p.Flaps != 1 && p.Flaps != 2 {
		t.Errorf("got %d flaps in all and %d lately", p.FlapsAll, p.Flaps)
	}
	if s.said("has settled") != 1 {
		t.Errorf("settling was said %d times", s.said("has settled"))
	}
}

func TestFlapsBetweenLooksAreSeen(t *testing.T) {
	s := newSim(t)
	s.port().Carrier = fact.Some(uint64(4))
	s.step()
	s.count["link_downed"]++
	s.port().Carrier = fact.Some(uint64(6))
	s.step()
	if p := s.live(); p.Flaps != 2 || s.said("2 times between two looks") != 1 {
		t.Errorf("got %d flaps, want 2: %v", p.Flaps, s.heard)
	}
	s.port().State = "DOWN" // one that is seen is not counted twice
	s.port().Carrier = fact.Some(uint64(7))
	s.count["link_downed"]++
	s.step()
	s.port().State = "ACTIVE"
	s.step()
	if p := s.live(); p.Flaps != 3 {
		t.Errorf("got %d flaps, want 3", p.Flaps)
	}
}

func TestDropIsStickyAndBlipIsNot(t *testing.T) {
	s := newSim(t)
	s.step()
	s.port().State = "DOWN"
	s.step()
	s.state("DOWN", HealthDown, Fail) // drift from the good state: it was up
	s.after(35 * time.Second)
	s.state("DOWN", HealthDropped, Fail)
	if s.said("has been DOWN") != 1 {
		t.Errorf("the drop was said %d times", s.said("has been DOWN"))
	}
	s.port().State = "ACTIVE"
	s.step()
	s.state("ACTIVE", HealthRecovering, Warn)
	s.after(11 * time.Minute)
	s.state("ACTIVE", HealthUp, Pass)
}

func TestPortThatWasNeverUpIsIdle(t *testing.T) {
	s := newSim(t)
	s.port().State, s.port().Phys = "DOWN", "Disabled"
	s.step()
	s.after(time.Hour)
	s.state("DOWN", HealthIdle, Skip)
	if l := s.track.Live(s.now); l.Level != Pass {
		t.Errorf("the cluster is %s for a port that nobody plugged in", l.Level)
	}
}

func TestErrorRates(t *testing.T) {
	t.Run("one spike is let pass", func(t *testing.T) {
		s := newSim(t)
		s.step()
		s.count["local_ack_timeout_err"] += 100
		s.step()
		s.step()
		s.state("ACTIVE", HealthUp, Pass)
		if p := s.live(); len(p.Trouble) != 1 || p.Trouble[0].Grew != 100 {
			t.Errorf("the spike is not shown: %+v", p.Trouble)
		}
	})
	t.Run("a rate that stays is bad, and for ten minutes after", func(t *testing.T) {
		s := newSim(t)
		s.step()
		for range 2 {
			s.count["local_ack_timeout_err"] += 100
			s.step()
		}
		s.state("ACTIVE", HealthUp, Fail)
		s.after(9 * time.Minute)
		s.state("ACTIVE", HealthUp, Fail)
		s.after(time.Minute)
		s.state("ACTIVE", HealthUp, Pass)
		if s.said("local_ack_timeout_err grew by 100 in 5 s") != 1 {
			t.Errorf("said: %v", s.heard)
		}
	})
	t.Run("some may not grow at all", func(t *testing.T) {
		s := newSim(t)
		s.step()
		s.count["rnr_nak_retry_err"]++
		s.step()
		s.state("ACTIVE", HealthUp, Fail)
	})
	t.Run("slow growth adds up to an hour's limit", func(t *testing.T) {
		s := newSim(t)
		s.step()
		for i := range 121 {
			s.count["symbol_error"]++
			s.after(25 * time.Second)
			if i < 119 {
				if p := s.live(); p.Level != Pass {
					t.Fatalf("bad after %d errors: %s", i+1, p.Why)
				}
			}
		}
		s.state("ACTIVE", HealthUp, Fail)
	})
	t.Run("growth over a boot is no growth", func(t *testing.T) {
		s := newSim(t)
		s.step()
		s.look.Boot = "b2"
		s.count["link_downed"], s.count["symbol_error"] = 1, 50000
		s.step()
		s.state("ACTIVE", HealthUp, Pass)
		if p := s.live(); p.FlapsAll != 0 || s.said("booted") != 1 {
			t.Errorf("a boot was taken for %d flaps; said: %v", p.FlapsAll, s.heard)
		}
	})
}

func TestDrift(t *testing.T) {
	s := newSim(t)
	s.step()
	s.port().MTU = fact.Some(1500)
	s.port().Rate = fact.Some(25 * unit.Gbps)
	s.step()
	s.port().GIDs = nil
	s.step()
	if p := s.live(); slices.ContainsFunc(p.Drift, func(d Drift) bool { return d.What == "gids" }) {
		t.Error("a GID table that flickered once has drifted")
	}
	s.step()
	p := s.live()
	var got []string
	for _, d := range p.Drift {
		got = append(got, fmt.Sprintf("%s %s→%s", d.What, d.From, d.To))
	}
	want := []string{"rate 100 Gb/s→25 Gb/s", "mtu 9000→1500", "gids 3 ::ffff:10.0.0.1 RoCE-v2→nothing"}
	if !slices.Equal(got, want) || p.Level != Warn {
		t.Errorf("got %q, %s, want %q", got, p.Level, want)
	}
	s.port().MTU, s.port().Rate, s.port().GIDs = fact.Some(9000), fact.Some(100*unit.Gbps), []string{GIDText(3, "RoCE v2", "::ffff:10.0.0.1")}
	s.step()
	s.step()
	if p := s.live(); len(p.Drift) != 0 || p.Level != Pass {
		t.Errorf("it is as it was, and still drifts: %v", p.Drift)
	}
}

func TestCheckMakesANewGoodState(t *testing.T) {
	s := newSim(t)
	s.step()
	s.port().MTU = fact.Some(4200)
	s.step()
	if l := s.track.Live(s.now); len(l.Good.Drift) != 1 || l.Good.Why != "the first look of this watch" {
		t.Fatalf("before: %+v", l.Good)
	}
	s.track.Checked(LiveChecks{When: s.now, Counts: map[Level]int{Pass: 10, Fail: 1}, Findings: []LiveFinding{{Check: "roce.mtu", Node: "n1", Level: Fail}}}, []Change{{"n1", "netdevs/eth2/mtu", "9000", "4200"}})
	if l := s.track.Live(s.now); len(l.Good.Drift) != 2 || l.Level != Fail {
		t.Errorf("a failed check: %+v", l.Good)
	}
	events := s.track.Checked(LiveChecks{When: s.now, Counts: map[Level]int{Pass: 11}}, nil)
	if l := s.track.Live(s.now); len(l.Good.Drift) != 0 || l.Good.Why != "weft check found nothing that fails" || l.Level != Pass {
		t.Errorf("after a check in which all passed: %+v", l.Good)
	}
	if len(events) != 1 || events[0].Text != "roce.mtu n1 is right again" || events[0].Node != "n1" {
		t.Errorf("said: %v", events)
	}
}

func TestNodeThatVanishes(t *testing.T) {
	s := newSim(t)
	s.step()
	s.now = s.now.Add(20 * time.Second)
	s.track.Tick(s.now)
	if l := s.track.Live(s.now); l.Nodes[0].State != "late" || l.Nodes[0].Ports[0].Health != HealthUnknown || l.Level != Unknown {
		t.Errorf("after 20 s: %s, %s, %s", l.Nodes[0].State, l.Nodes[0].Ports[0].Health, l.Level)
	}
	s.track.Miss("n1", s.now, "connection reset", false)
	s.now = s.now.Add(time.Minute)
	said := 0
	for range 5 {
		for _, e := range s.track.Tick(s.now) {
			if strings.Contains(e.Text, "n1 is lost") && strings.Contains(e.Text, "connection reset") {
				said++
			}
		}
		s.now = s.now.Add(time.Second)
	}
	if l := s.track.Live(s.now); l.Nodes[0].State != "lost" || l.Nodes[0].Level != Fail || said != 1 {
		t.Errorf("after 80 s: %s, %s, said %d times", l.Nodes[0].State, l.Nodes[0].Level, said)
	}
	s.step()
	if l := s.track.Live(s.now); l.Nodes[0].State != "answers" || l.Nodes[0].Level != Pass || l.Nodes[0].LostAll != 1 || s.said("answers again") != 1 {
		t.Errorf("back: %+v", l.Nodes[0])
	}
}

func TestNodeThatComesAndGoes(t *testing.T) {
	s := newSim(t)
	s.step()
	for range 3 {
		s.now = s.now.Add(2 * time.Minute)
		s.track.Tick(s.now)
		s.step()
	}
	if l := s.track.Live(s.now); l.Nodes[0].Level != Fail || !strings.Contains(l.Nodes[0].Why, "lost 3 times") {
		t.Errorf("got %s: %q", l.Nodes[0].Level, l.Nodes[0].Why)
	}
}

func TestPortThatGoesAway(t *testing.T) {
	s := newSim(t)
	s.step()
	ports := s.look.Ports
	s.look.Ports = nil
	s.step()
	if p := s.live(); p.State != "gone" || p.Level != Fail {
		t.Errorf("got %s, %s", p.State, p.Level)
	}
	s.look.Ports = ports
	s.step()
	if p := s.live(); p.State != "ACTIVE" || p.Flaps != 1 {
		t.Errorf("back: %s, %d flaps", p.State, p.Flaps)
	}
}

func TestRestartKeepsThePast(t *testing.T) {
	s := newSim(t)
	s.step()
	for range 2 {
		s.port().State = "DOWN"
		s.step()
		s.port().State = "ACTIVE"
		s.step()
	}
	s.count["rnr_nak_retry_err"]++
	s.step()
	b, err := s.track.Save(s.now)
	if err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(time.Minute)
	s.track = New(Usual, "test", s.now, every)
	if err := s.track.Restore(b, s.now); err != nil {
		t.Fatal(err)
	}
	s.count["link_downed"]++ // while nobody watched
	s.port().MTU = fact.Some(1500)
	s.step()
	p := s.live()
	if p.Flaps != 3 || p.Health != HealthFlapping {
		t.Errorf("got %d flaps, %s, want 3, flapping", p.Flaps, p.Health)
	}
	if !slices.ContainsFunc(p.Trouble, func(x LiveTrouble) bool { return x.Name == "rnr_nak_retry_err" && x.Level == Fail }) {
		t.Errorf("trouble was forgotten: %+v", p.Trouble)
	}
	if !slices.ContainsFunc(p.Drift, func(d Drift) bool { return d.What == "mtu" && d.From == "9000" }) {
		t.Errorf("the good state was forgotten: %+v", p.Drift)
	}
	for _, bad := range []string{"", "{", `{"version":9}`, `{"version":1,"when":"2030-01-01T00:00:00Z"}`} {
		if New(Usual, "", s.now, every).Restore([]byte(bad), s.now) == nil {
			t.Errorf("%q was taken over", bad)
		}
	}
}

func TestPings(t *testing.T) {
	track := New(Usual, "test", day, every)
	now := day
	try := func(latency float64, failed string) (LivePing, []Event) {
		now = now.Add(time.Minute)
		events := track.Ping(Ping{Kind: "rdma", From: "a", To: "b", FromPort: "x/1", ToPort: "y/1", When: now, Latency: latency, P99: 2 * latency, Failed: failed})
		return track.Live(now).Pings[0], events
	}
	for range 8 {
		try(2e-6, "")
	}
	if p, e := try(0, "timed out"); p.Level != Warn || len(e) != 0 || p.Loss == 0 {
		t.Errorf("one lost: %+v, said %v", p, e)
	}
	if p, e := try(0, "timed out"); p.Level != Fail || len(e) != 1 || p.Why != "timed out" {
		t.Errorf("two lost: %+v, said %v", p, e)
	}
	if p, e := try(2e-6, ""); p.Level != Warn || len(e) != 1 {
		t.Errorf("back: %+v, said %v", p, e)
	}
	for range 8 {
		try(2e-6, "")
	}
	for i := range 3 {
		if p, e := try(100e-6, ""); (i < 2) != (p.Level == Pass) || i == 2 && len(e) != 1 {
			t.Errorf("slow for the %d. time: %s %q, said %v", i+1, p.Level, p.Why, e)
		}
	}
	if p, _ := try(2e-6, ""); p.Level != Pass || p.Usual.Or(0) != 2e-6 {
		t.Errorf("as usual: %+v", p)
	}
}

// FuzzLook: whatever a node says, the tracker lives, and its moment can be written.
func FuzzLook(f *testing.F) {
	f.Add([]byte(`{"boot":"x","ports":[{"name":"mlx5_0/1","state":"ACTIVE","rate":100,"count":{"link_downed":1,"a":18446744073709551615}}],"gpus":[{"bdf":"0","power":1}],"gpud":true}`), []byte(`{"ports":[]}`))
	f.Add([]byte(`{"ports":[{"name":"a","gids":["1"],"gidd":true,"count":{"x":-1,"y":1e99}},{"name":"a"}]}`), []byte(`null`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		track := New(Usual, "fuzz", day, every)
		now := day
		for _, data := range [][]byte{a, b, a} {
			now = now.Add(every)
			l, _, err := ParseLook(data)
			if err != nil {
				track.Miss("n", now, err.Error(), true)
				continue
			}
			track.Add("n", now, l)
		}
		live := track.Live(now)
		if _, err := json.Marshal(live); err != nil {
			t.Error(err)
		}
		s, err := track.Save(now)
		if err != nil {
			t.Fatal(err)
		}
		if err := New(Usual, "fuzz", now, every).Restore(s, now); err != nil {
			t.Errorf("what was saved is not restored: %v", err)
		}
		for _, n := range live.Nodes {
			for _, p := range n.Ports {
				if p.Health == HealthUnknown && p.Level == Pass {
					t.Error("what is not known passes")
				}
			}
		}
	})
}

func TestGPUsThatAnswerLateAreNoDrift(t *testing.T) {
	s := newSim(t)
	s.step() // ports only
	s.look.GPUs, s.look.GPUd = []GPULook{{BDF: "0000:01:00.0"}, {BDF: "0000:02:00.0"}}, true
	s.step()
	if l := s.track.Live(s.now); len(l.Good.Drift) != 0 || l.Level != Pass {
		t.Errorf("%s: %+v", l.Level, l.Good.Drift)
	}
	s.look.GPUs = s.look.GPUs[:1]
	s.step()
	l := s.track.Live(s.now)
	if len(l.Good.Drift) != 1 || l.Good.Drift[0].What != "gpus" || l.Level != Fail || s.said("shows 1 GPUs, and had 2") != 1 {
		t.Errorf("a GPU that fell off the bus: %s: %+v", l.Level, l.Good.Drift)
	}
}

// FuzzCounters: the quick way reads what the slow one reads, or leaves it to that.
func FuzzCounters(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b":18446744073709551615}`, `{"a":01}`, `{"b":1,"a":2}`, `{"a":1,"a":2}`, `{"a":-1}`, `{"a":1.5}`, `{"a":18446744073709551616}`, `{"\u0061":1}`, `{"a": 1}`, `{"a":1,}`, `{"symbol_error":5,"x":0}`, `{"a":1}}`, `{"":0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !json.Valid(b) {
			return // encoding/json looks first
		}
		quick, ok := plainCounters(b)
		if !ok {
			return
		}
		var m map[string]json.Number
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		numbers := map[string]uint64{}
		for name, n := range m {
			var v uint64
			if json.Unmarshal([]byte(n), &v) == nil {
				numbers[name] = v
			}
		}
		slow := CountersOf(numbers)
		if !slices.Equal(quick.Names, slow.Names) || !slices.Equal(quick.Values, slow.Values) {
			t.Errorf("%s: %v, want %v", b, quick, slow)
		}
	})
}
