package limits

import (
	"path"
	"slices"
	"strings"
	"testing"

	"weft/internal/format/host"
)

// granted is what weft's own reader of pam_limits says that a user may lock, with the
// file that weft would write.
func granted(t *testing.T, files map[string]string, id host.ID) string {
	t.Helper()
	var groups []string
	for _, g := range id.Groups {
		groups = append(groups, g.Name)
	}
	file, text, err := Memlock(files, id.User, groups)
	if err != nil {
		return err.Error()
	}
	if path.Dir(file)+"/" != Dir {
		t.Fatalf("%s is not in %s", file, Dir)
	}
	all := map[string]string{file: text}
	for p, text := range files {
		if p != file {
			all[p] = text
		}
	}
	conf, _ := host.ParseLimitsConf([]byte(all["/etc/security/limits.conf"]))
	var paths []string
	for p := range all {
		if strings.HasPrefix(p, Dir) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		some, _ := host.ParseLimitsConf([]byte(all[p]))
		conf = append(conf, some...)
	}
	soft, hard := host.Memlock(conf, id)
	if soft == nil || hard == nil || !soft.Unlimited || !hard.Unlimited {
		return "not unlimited: " + file + "\n" + text
	}
	return path.Base(file)
}

var (
	me   = host.ID{User: "me", UID: 1000, Group: host.Named{Name: "me", Number: 1000}, Groups: []host.Named{{Name: "me", Number: 1000}, {Name: "rdma", Number: 110}}}
	root = host.ID{User: "root", Group: host.Named{Name: "root"}, Groups: []host.Named{{Name: "root"}}}
)

func TestMemlock(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		id               host.ID
		want             string
	}{
		{"nothing there", "/etc/security/limits.conf", "# none\n", me, "99-weft-rdma.conf"},
		{"root is not *", "/etc/security/limits.conf", "# none\n", root, "99-weft-rdma.conf"},
		{"an earlier file", Dir + "50-x.conf", "* hard memlock 64\n* soft memlock 64\n", me, "99-weft-rdma.conf"},
		{"a later file wins", Dir + "rdma.conf", "* hard memlock 64\n* soft memlock 64\n", me, "zz-weft-rdma.conf"},
		{"a later file wins over root", Dir + "rdma.conf", "root - memlock 64\n", root, "zz-weft-rdma.conf"},
		{"a later file that speaks of something else", Dir + "rdma.conf", "* - nofile 1024\n", me, "99-weft-rdma.conf"},
		{"the last of all", Dir + "zzz.conf", "* - memlock 64\n", me, Dir + "zzz.conf: it sets memlock and comes after any name that weft would take"},
		{"the user by name", Dir + "10-x.conf", "me - memlock 64\n", me, "99-weft-rdma.conf"},
		{"his group", "/etc/security/limits.conf", "@rdma hard memlock 64\n", me, "99-weft-rdma.conf"},
		{"his number", "/etc/security/limits.conf", "1000:2000 hard memlock 64\n", me, "99-weft-rdma.conf"},
		{"his group's number", "/etc/security/limits.conf", "@110: hard memlock 64\n", me, "99-weft-rdma.conf"},
		{"somebody else", Dir + "10-x.conf", "you - memlock 64\n@students - memlock 64\n", me, "99-weft-rdma.conf"},
		{"exempt", Dir + "10-x.conf", "me -\n", me, Dir + `10-x.conf: "me -" exempts me from limits`},
		{"an older one of weft's", Dir + "99-weft-rdma.conf", "* - memlock 64\n", me, "99-weft-rdma.conf"},
	} {
		if got := granted(t, map[string]string{tt.file: tt.text}, tt.id); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if _, text, err := Memlock(map[string]string{Dir + "a.conf": "1: - memlock 64\n"}, "a b\nroot - nofile 1", nil); err == nil {
		t.Errorf("a name with a newline became\n%s", text)
	}
}

// FuzzMemlock: whatever else the files say, the user and root may lock all they want.
func FuzzMemlock(f *testing.F) {
	f.Add("* hard memlock 64\n", "rdma.conf", "me - memlock 1\n")
	f.Add("@rdma - memlock 64\nroot soft memlock 0", "zy.conf", "1000: hard memlock 64\n")
	f.Fuzz(func(t *testing.T, conf, name, text string) {
		if strings.ContainsAny(name, "/\x00") || !strings.HasSuffix(name, ".conf") {
			return
		}
		files := map[string]string{"/etc/security/limits.conf": conf, Dir + name: text}
		for _, id := range []host.ID{me, root} {
			if got := granted(t, files, id); strings.HasPrefix(got, "not unlimited") {
				t.Errorf("%s, %s: %q: %s", id.User, name, files, got)
			}
		}
	})
}
