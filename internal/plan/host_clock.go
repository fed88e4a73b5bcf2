package plan

import (
	"fmt"
	"strconv"

	"weft/internal/check"
	"weft/internal/fact"
)

// timeServices keep the clock, in the order of preference: systemd's own gives way to
// one that was installed on purpose.
var timeServices = []string{"chrony.service", "chronyd.service", "systemd-timesyncd.service"}

// otherTimeServices do so, too, and weft does not know their ways.
var otherTimeServices = []string{"ntpsec.service", "ntpd.service", "openntpd.service"}

// mendClock has the time service that is installed run, now and at boot.
func mendClock(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	if !n.Settings.ServicesRead {
		return byHand("the services were not read")
	}
	loaded := func(name string) bool { return n.Settings.Services[name].Load == "loaded" }
	for _, name := range otherTimeServices {
		if loaded(name) {
			return byHand("%s keeps the clock here, and weft does not know how to mend it", name)
		}
	}
	for _, name := range timeServices {
		if loaded(name) {
			return d.keepTime(n, name, f)
		}
	}
	return byHand("no time service is installed, and which one is the owner's choice")
}

func (d *draft) keepTime(n *fact.Node, name string, f check.Finding) error {
	v := n.Settings.Services[name]
	s := Step{What: "clock", From: clockWords(n.Host), Seconds: 120,
		Note:  "the clock is set by NTP; an undo stops the service and leaves the clock right",
		Shows: sh("systemctl is-enabled %s; systemctl is-active %s; true", name, name)}
	to := fact.Host{ClockSkew: n.Host.ClockSkew, ClockSync: fact.Some(true)}
	if n.Host.ClockSkew.Known() {
		to.ClockSkew = fact.Some(check.ClockRef(d.Up()))
	}
	s.To = clockWords(to)
	// The check looks right afterwards, so wait a while for the first answer of a server.
	const wait = `! command -v timedatectl >/dev/null || for i in $(seq 60); do [ "$(timedatectl show -p NTPSynchronized --value)" != yes ] || break; sleep 1; done`
	const step = `! command -v chronyc >/dev/null || { chronyc waitsync 30 0 0 1; chronyc makestep; } >/dev/null 2>&1 || true`
	switch {
	case v.Active == "active" && v.Enabled == "enabled":
		return byHand("%s runs already: see that it has servers that answer", name)
	case v.Enabled == "enabled":
		s.Do, s.Undo = []string{sh("systemctl start %s", name)}, []string{sh("systemctl stop %s", name)}
	case v.Enabled == "disabled" && v.Active == "active":
		s.Do, s.Undo, s.Lasts = []string{sh("systemctl enable %s", name)}, []string{sh("systemctl disable %s", name)}, true
	case v.Enabled == "disabled":
		s.Do, s.Undo, s.Lasts = []string{sh("systemctl enable --now %s", name)}, []string{sh("systemctl disable --now %s", name)}, true
	default:
		return byHand("%s is %q, which somebody meant so", name, v.Enabled)
	}
	if name != "systemd-timesyncd.service" {
		s.Do = append(s.Do, step)
	}
	s.Do = append(s.Do, wait)
	d.add(n, s)
	return nil
}

// clockWords is the value of a node's clock: how far it is off, and whether NTP keeps it.
func clockWords(h fact.Host) string {
	skew, sync := "not measured", "not known"
	if v, ok := h.ClockSkew.Get(); ok {
		skew = strconv.FormatFloat(v, 'g', -1, 64) + " s"
	}
	if v, ok := h.ClockSync.Get(); ok {
		sync = map[bool]string{true: "synchronised", false: "not synchronised"}[v]
	}
	return fmt.Sprintf("%s, %s", skew, sync)
}
