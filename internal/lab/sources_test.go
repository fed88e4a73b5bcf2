package lab

import (
	"slices"
	"strings"
	"testing"
)

func TestListSources(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing": {"", nil},
		"main, updates and security, from different mirrors": {
			"deb http://mirror.example/debian bookworm main contrib\n" +
				"deb https://other.example/debian/ bookworm-updates main\n" +
				"deb http://mirror.example:8080/cache/debian-security bookworm-security non-free main\n",
			[]string{
				"deb http://mirror.example/debian bookworm main",
				"deb https://other.example/debian/ bookworm-updates main",
				"deb http://mirror.example:8080/cache/debian-security bookworm-security main",
			},
		},
		"no newline at the end": {"deb http://mirror.example/debian bookworm main", []string{"deb http://mirror.example/debian bookworm main"}},
		"space around, DOS line ends": {
			"  deb  http://mirror.example/debian\tbookworm  main \r\n",
			[]string{"deb http://mirror.example/debian bookworm main"},
		},
		"options": {
			"deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian bookworm main\n" +
				"deb [ trusted=yes ] http://mirror.example/debian bookworm-updates main\n",
			[]string{
				"deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian bookworm main",
				"deb [trusted=yes] http://mirror.example/debian bookworm-updates main",
			},
		},
		"another architecture":            {"deb [arch=arm64] http://mirror.example/debian bookworm main\n", nil},
		"somebody else's, own key":        {"deb [signed-by=/usr/share/keyrings/tool.gpg] http://mirror.example/debian bookworm main\n", nil},
		"main in a comment":               {"deb http://mirror.example/debian bookworm contrib # main\n", nil},
		"a tab":                           {"deb\thttp://mirror.example/debian bookworm main\n", []string{"deb http://mirror.example/debian bookworm main"}},
		"a list of mirrors":               {"deb mirror+file:///etc/apt/mirrors/debian.list bookworm main\n", []string{"deb mirror+file:///etc/apt/mirrors/debian.list bookworm main"}},
		"options that do not end":         {"deb [arch=amd64 http://mirror.example/debian bookworm main\n", nil},
		"a comment":                       {"# deb http://mirror.example/debian bookworm main\n#deb http://mirror.example/debian bookworm main\n", nil},
		"source packages":                 {"deb-src http://mirror.example/debian bookworm main\n", nil},
		"backports":                       {"deb http://mirror.example/debian bookworm-backports main\n", nil},
		"another release":                 {"deb http://mirror.example/debian trixie main\ndeb http://mirror.example/debian sid main\n", nil},
		"a release that starts the same":  {"deb http://mirror.example/debian bookworms main\n", nil},
		"without main":                    {"deb http://mirror.example/debian bookworm contrib non-free-firmware\n", nil},
		"without components":              {"deb http://mirror.example/debian bookworm\ndeb http://mirror.example/debian bookworm/\n", nil},
		"somebody else's, same release":   {"deb http://mirror.example/tool bookworm main\ndeb http://mirror.example/debian/tool bookworm main\n", nil},
		"somebody else's, own components": {"deb http://mirror.example/linux/debian bookworm stable\n", nil},
		"a medium":                        {"deb cdrom:[Debian 12]/ bookworm main\n", nil},
		"words":                           {"debian\ndeb\ndeb \ndeb []\ndebug http://mirror.example/debian bookworm main\n", nil},
	} {
		if got := listSources(c.text, "bookworm"); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestStanzaSources(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing": {"", nil},
		"several stanzas, with comments": {
			"# The archive: all of it\nTypes: deb\n# Suites: sid\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main contrib\n" +
				"Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n\n" +
				"# Security\n\nTypes: deb deb-src\nURIs: http://other.example/debian-security\nSuites: bookworm-security\nComponents: main\n",
			[]string{
				"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian bookworm main",
				"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian bookworm-updates main",
				"deb http://other.example/debian-security bookworm-security main",
			},
		},
		"two mirrors, of which one is Debian's": {
			stanza("URIs: http://mirror.example/debian/ http://mirror.example/tool", "Suites: bookworm"),
			[]string{"deb http://mirror.example/debian/ bookworm main"},
		},
		"keys in any case": {
			"types: deb\nURIS: http://mirror.example/debian\nsuites:bookworm\nCOMPONENTS: main\n",
			[]string{"deb http://mirror.example/debian bookworm main"},
		},
		"DOS line ends": {
			"Types: deb\r\nURIs: http://mirror.example/debian\r\nSuites: bookworm\r\nComponents: main\r\n",
			[]string{"deb http://mirror.example/debian bookworm main"},
		},
		"a key in the file": {
			stanza("URIs: http://mirror.example/debian", "Suites: bookworm", "Signed-By:",
				" -----BEGIN PGP PUBLIC KEY BLOCK-----", " Version: 1", " .", " mQINBGPL0BUBEADmW5NdOOHwPIJlgPu6JDcKw/NZJPR8lsD3K87ZM18gzyQZJD+w", " -----END PGP PUBLIC KEY BLOCK-----"),
			[]string{"deb http://mirror.example/debian bookworm main"},
		},
		"a key by its fingerprint": {
			stanza("URIs: http://mirror.example/debian", "Suites: bookworm", "Signed-By: 0123456789ABCDEF0123456789ABCDEF01234567"),
			[]string{"deb http://mirror.example/debian bookworm main"},
		},
		"enabled": {
			stanza("URIs: http://mirror.example/debian", "Suites: bookworm", "Enabled: yes"),
			[]string{"deb http://mirror.example/debian bookworm main"},
		},
		"disabled, then one that is not": {
			stanza("URIs: http://mirror.example/debian", "Suites: bookworm", "Enabled: no") + "\n" +
				stanza("URIs: http://mirror.example/debian", "Suites: bookworm-updates"),
			[]string{"deb http://mirror.example/debian bookworm-updates main"},
		},
		"disabled in other words": {stanza("URIs: http://mirror.example/debian", "Suites: bookworm", "Enabled: False"), nil},
		"values that go on": {
			"Types: deb\nURIs:\n http://mirror.example/debian\nSuites: bookworm\n\tbookworm-updates\nComponents:\n main\n \t \nTypes: deb-src\n",
			[]string{"deb http://mirror.example/debian bookworm main", "deb http://mirror.example/debian bookworm-updates main"},
		},
		"source packages":               {"Types: deb-src\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\n", nil},
		"without main":                  {"Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: contrib\n", nil},
		"backports":                     {stanza("URIs: http://mirror.example/debian", "Suites: bookworm-backports"), nil},
		"another release":               {stanza("URIs: http://mirror.example/debian", "Suites: trixie trixie-updates"), nil},
		"somebody else's, same release": {stanza("URIs: http://mirror.example/tool", "Suites: bookworm"), nil},
		"fields that are not there":     {"Types: deb\n\nURIs: http://mirror.example/debian\n\nSuites: bookworm\n\nComponents: main\n", nil},
	} {
		if got := stanzaSources(c.text, "bookworm"); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// stanza is one of binary packages in main, with fields of its own.
func stanza(fields ...string) string {
	return "Types: deb\nComponents: main\n" + strings.Join(fields, "\n") + "\n"
}

func FuzzListSources(f *testing.F) {
	f.Add("deb [arch=amd64] http://mirror.example/debian bookworm main # own\r\n", "bookworm")
	f.Add("deb []] debian x main\ndeb [ debian x main", "x")
	f.Fuzz(func(t *testing.T, text, suite string) { entries(t, listSources(text, suite)) })
}

func FuzzStanzaSources(f *testing.F) {
	f.Add(stanza("URIs: http://mirror.example/debian", "Suites: bookworm", "Signed-By: /a"), "bookworm")
	f.Add("types:deb\ncomponents:main\nuris:debian\r debian\nsuites:x\v\nsigned-by:/\u2028\n\n:\n", "x")
	f.Fuzz(func(t *testing.T, text, suite string) { entries(t, stanzaSources(text, suite)) })
}

// entries sees that every line is an entry of its own.
func entries(t *testing.T, lines []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, "deb ") || strings.Contains(line, "\n") {
			t.Errorf("%q is not one entry", line)
		}
	}
}
