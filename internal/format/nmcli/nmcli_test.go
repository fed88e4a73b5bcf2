package nmcli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

func TestFixture(t *testing.T) {
	got, err := Parse(fixture.Read(t, "nmcli_conn_show_ib_german.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Connection{
		{"Kabelgebundene Verbindung 1", "1a44c330-8d06-34d6-9773-df0a34882a4b", "ethernet", "eno1"},
		{"ib-conn", "e6655fba-ebd6-4ee5-a31b-9c25faacfe37", "infiniband", "ibp195s0"},
		{"thunderbolt0", "7beaa789-b367-4810-ba22-3e946edab0fd", "ethernet", "thunderbolt0"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

const (
	id1 = "11111111-2222-3333-4444-555555555555"
	id2 = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
)

func TestForms(t *testing.T) {
	want := []Connection{{"ib: dätä", id1, "infiniband", "ibp1s0"}, {`spare\1`, id2, "vlan", ""}}
	for name, in := range map[string]string{
		"terse":                       `ib\: dätä:` + id1 + `:infiniband:ibp1s0` + "\n" + `spare\\1:` + id2 + ":vlan:\n",
		"table":                       "root@n1:~# nmcli c\r\nNAME       UUID                                  TYPE        DEVICE \r\nib: dätä   " + id1 + "  infiniband  ibp1s0 \r\n" + `spare\1    ` + id2 + "  vlan        --     \r\n",
		"heading in another language": "ИМЯ UUID TYPE УСТРОЙСТВО\nib: dätä " + id1 + " infiniband ibp1s0\n" + `spare\1 ` + id2 + " vlan --",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(in))
			if err != nil {
				t.Errorf("error %v, want none", err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestOdd(t *testing.T) {
	for in, want := range map[string]string{
		"Error: NetworkManager is not running.": "line 1: nmcli reported an error",
		"bash: nmcli: command not found":        "line 1: nmcli reported an error",
		"a:" + id1 + ":ethernet:e0\nb:broken":   "line 2: \"b:broken\" has no UUID",
		id1 + " ethernet eth0":                  "line 1:",
	} {
		if _, err := Parse([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", in, err, want)
		}
	}
	if _, err := Parse([]byte("Error: NetworkManager is not running.")); !errors.Is(err, ErrTool) {
		t.Errorf("error %v, want ErrTool", err)
	}
	if got, err := Parse(nil); err != nil || got != nil {
		t.Errorf("Parse(nil) = %v, %v, want nothing", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`a\: b:` + id1 + ":ethernet:e0"))
	f.Add([]byte("NAME UUID TYPE DEVICE\na b " + id2 + " vlan --"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := Parse(b)
		for _, c := range got {
			if !isUUID(c.UUID) {
				t.Errorf("UUID %q", c.UUID)
			}
		}
	})
}

func TestActive(t *testing.T) {
	in := id1 + `:rail0:/etc/NetworkManager/system-connections/rail0.nmconnection:802-3-ethernet` + "\n" +
		id2 + `:ib\:0:/run/NetworkManager/system-connections/a\:b \\ c.nmconnection:infiniband` + "\n" +
		id2 + `:::vpn` + "\n"
	want := []Active{
		{id1, "rail0", "/etc/NetworkManager/system-connections/rail0.nmconnection", "802-3-ethernet"},
		{id2, "ib:0", `/run/NetworkManager/system-connections/a:b \ c.nmconnection`, "infiniband"},
		{id2, "", "", "vpn"},
	}
	got, err := ParseActive([]byte(in))
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for in, want := range map[string]string{
		"Error: NetworkManager is not running.": "line 1: nmcli reported an error",
		id1 + ":eth0":                           "line 1:",
	} {
		if _, err := ParseActive([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseActive(%q): %v, want %q", in, err, want)
		}
	}
}

// FuzzActive: what is found says it again in nmcli's words.
func FuzzActive(f *testing.F) {
	f.Add(id1, "rail0", "/etc/a:b\\c")
	f.Fuzz(func(t *testing.T, uuid, device, file string) {
		line := escape(uuid) + ":" + escape(device) + ":" + escape(file) + ":vlan"
		got, err := ParseActive([]byte(line))
		if strings.ContainsAny(line, "\n\r") || strings.TrimSpace(line) != line || !isUUID(uuid) {
			return // more than one line, or none of nmcli's: it must only not panic
		}
		if want := (Active{uuid, none(device), none(file), "vlan"}); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	})
}

func escape(s string) string { return strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(s) }
