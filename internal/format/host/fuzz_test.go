package host

import (
	"strings"
	"testing"

	"weft/internal/fixture"
)

// fuzz seeds a target and runs it: check asserts something of what was read.
func fuzz(f *testing.F, check func(t *testing.T, b []byte), samples ...string) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(check)
}

func FuzzParseOSRelease(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		if o, err := ParseOSRelease(b); (o.ID == "") != (err != nil) {
			t.Errorf("ID %q with error %v", o.ID, err)
		}
	}, ubuntu)
}

func FuzzEnv(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		list, _ := ParseEnvList(b)
		for _, all := range [][]Assignment{ParseShellEnv(b), ParseUnitEnv(b), list} {
			for _, a := range all {
				if !isName(a.Key) {
					t.Errorf("%q is no name", a.Key)
				}
			}
		}
	}, profile, `["A=1"]`, "Environment=\"A=b c\" D=e", "A=1\x00B=2")
}

func FuzzParseModules(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		all, _ := ParseModules(b)
		for _, m := range all {
			if m.Name == "" || m.State == "" {
				t.Errorf("%+v", m)
			}
		}
	}, procModules)
}

func FuzzParseCmdline(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		c := ParseCmdline(b)
		for _, p := range c {
			if p.Key == "" || p.Bare && p.Value != "" {
				t.Errorf("%+v", p)
			}
			if _, ok := c.Get(p.Key); !ok {
				t.Errorf("%q was read and is not found", p.Key)
			}
		}
	}, "quiet a=b c=\"d e\" -- x")
}

func FuzzParseMeminfo(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		if m, err := ParseMeminfo(b); m.TotalBytes == nil && err == nil {
			t.Error("nothing read and no error")
		}
	}, meminfo)
}

func FuzzParseLimits(f *testing.F) {
	fixture.Seed(f, "proc_limits_memlock_64k.txt")
	fuzz(f, func(t *testing.T, b []byte) {
		if l, err := ParseLimits(b); l == nil && err == nil {
			t.Error("nothing read and no error")
		}
	}, "Max locked memory   65536   65536   bytes")
}

func FuzzMemlock(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		rules, _ := ParseLimitsConf(b)
		soft, hard := Memlock(rules, ID{UID: 1000, User: "me", Groups: []Named{{109, "rdma"}}})
		if soft != nil && hard != nil && !hard.Unlimited && !(!soft.Unlimited && soft.Value <= hard.Value) {
			t.Errorf("soft %+v above hard %+v", soft, hard)
		}
		for _, r := range rules {
			if r.Domain == "root" {
				return
			}
		}
		if soft, hard := Memlock(rules, ID{User: "root"}); soft != nil || hard != nil {
			t.Error("a limit for root without its name")
		}
	}, limitsConf)
}

func FuzzParseID(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		id, _ := ParseID(b)
		for _, g := range id.Groups {
			if g.Number < 0 || !id.In(g.Name) {
				t.Errorf("%+v", g)
			}
		}
	}, "uid=1000(me) gid=1000(me) groups=1000(me),109(rdma)")
}

func FuzzModprobe(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		rules, _ := ParseModprobe(b)
		for _, r := range rules {
			if r.Module == "" {
				t.Errorf("%+v", r)
			}
			if r.Verb == "blacklist" && !Barred(rules, r.Module) {
				t.Errorf("%s is not barred", r.Module)
			}
			Option(rules, r.Module, "x")
		}
		for _, m := range ParseModulesLoad(b) {
			if m == "" || strings.ContainsAny(m, " -") {
				t.Errorf("module %q", m)
			}
		}
	}, modprobeConf)
}

func FuzzParseRDMAConf(f *testing.F) {
	fixture.Seed(f, "etc_rdma_conf.txt")
	fuzz(f, func(t *testing.T, b []byte) {
		on, _ := ParseRDMAConf(b)
		for k := range on {
			if !isName(k) {
				t.Errorf("%q is no name", k)
			}
		}
	}, "A=yes\nB=no\n")
}

func FuzzParseUnits(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		all, _ := ParseUnits(b)
		for _, u := range all {
			if len(u) == 0 {
				t.Error("an empty unit")
			}
		}
		if td, err := ParseTimeDate(b); td == (TimeDate{}) && err == nil {
			t.Error("nothing read and no error")
		}
	}, units, "NTP=yes\nTimezone=UTC\n")
}

func FuzzParseTracking(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		tr, _ := ParseTracking(b)
		if tr.OffsetSeconds != nil && !(*tr.OffsetSeconds >= 0) {
			t.Errorf("offset %v", *tr.OffsetSeconds)
		}
	}, trackingText, "7F7F0101,,0,0.0,-0.25,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised")
}

func FuzzParseGetent(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		all, _ := ParseGetent(b)
		for _, e := range all {
			if !e.Addr.IsValid() {
				t.Error("an entry without address")
			}
		}
	}, "10.0.0.1 a b\n", "::1 STREAM a\n::1 DGRAM\n")
}

func FuzzPackages(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		deb, _ := ParseDpkg(b)
		rpm, _ := ParseRPM(b)
		for _, p := range append(deb, rpm...) {
			if !p.Installed && p.Version != "" {
				t.Errorf("%+v", p)
			}
		}
	}, "a\t1\tinstalled\n", "a\t1-2\npackage b is not installed\n")
}

func FuzzParseDKMS(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		all, _ := ParseDKMS(b)
		for _, d := range all {
			if d.Module == "" {
				t.Errorf("%+v", d)
			}
		}
	}, dkmsStatus)
}

func FuzzParseOFED(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		if o, err := ParseOFED(b); (o.Version == "") != (err != nil) {
			t.Errorf("%+v, %v", o, err)
		}
	}, "MLNX_OFED_LINUX-5.8-3.0.7.0:")
}

func FuzzParseModinfo(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		all, _ := ParseModinfo(b)
		for _, m := range all {
			if m.Builtin == (m.Path != "") {
				t.Errorf("%+v", m)
			}
		}
	}, "/lib/modules/6.8/kernel/a/b.ko.xz\n(builtin)\n")
}

func FuzzParseDevNodes(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		all, _ := ParseDevNodes(b)
		for _, n := range all {
			if n.Path == "" || n.Mode > 0o777 {
				t.Errorf("%+v", n)
			}
		}
	}, devNodes)
}

func FuzzParseKernel(f *testing.F) {
	fuzz(f, func(t *testing.T, b []byte) {
		k, err := ParseKernel(string(b))
		if err == nil && !k.AtLeast(k.Major, k.Minor, k.Patch) {
			t.Errorf("%+v is not at least itself", k)
		}
	}, "6.17.4-200.fc43.x86_64", "7.0-rc1")
}
