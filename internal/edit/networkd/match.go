package networkd

import (
	"path"
	"slices"
	"strings"

	"weft/internal/edit"
)

// Matches tells whether a file is for this interface and no other (exact), or may be
// for it: by a pattern, with others, or under conditions that its name does not tell,
// such as a MAC address (glob).
func Matches(text, name string) (exact, glob bool) {
	f, err := edit.Systemd.Read(text)
	if err != nil {
		return false, false
	}
	var names []string
	only := true
	for _, s := range f.All("Match") {
		for _, k := range s.Keys {
			switch {
			case k.Name != "Name":
				only = false
			case k.Value == "":
				names = nil
			default:
				names = append(names, strings.Fields(k.Value)...)
			}
		}
	}
	if len(names) == 0 {
		return false, true // by other keys, or every interface
	}
	if only && slices.Equal(names, []string{name}) {
		return true, false
	}
	// A mark before the first turns the whole list round.
	first, not := strings.CutPrefix(names[0], "!")
	names[0] = first
	hit := slices.ContainsFunc(names, func(p string) bool {
		ok, err := path.Match(strings.ReplaceAll(strings.Trim(p, `"'`), "[!", "[^"), name)
		return ok || err != nil // a pattern that is not understood may match
	})
	return false, hit != not
}
