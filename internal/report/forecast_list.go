package report

import (
	"fmt"
	"io"
	"strings"
)

// ForecastList is what forecast knows by name.
type ForecastList struct {
	Models   []string `json:"models"`
	Hardware []string `json:"hardware"`
	Engines  []string `json:"engines"`
	Quants   []string `json:"quantisations"`
}

// Text writes the names, wrapped.
func (l ForecastList) Text(w io.Writer, o Options) error {
	width := 78
	if o.Width > 40 {
		width = min(o.Width, 100)
	}
	var b strings.Builder
	for _, p := range []struct {
		title string
		names []string
	}{{"models", l.Models}, {"hardware", l.Hardware}, {"engines", l.Engines}, {"quantisations", l.Quants}} {
		fmt.Fprintf(&b, "%s (%d)\n", p.title, len(p.names))
		line := "   "
		for i, n := range p.names {
			if i < len(p.names)-1 {
				n += ","
			}
			if len(line)+1+len(n) > width {
				b.WriteString(line + "\n")
				line = "   "
			}
			line += " " + n
		}
		b.WriteString(line + "\n\n")
	}
	b.WriteString("any other model goes by its config.json, any other hardware by its numbers: 273GB/s:119GiB\nnext:\n    weft forecast --model gpt-oss-120b --hardware \"2x gb10\"\n")
	_, err := io.WriteString(w, b.String())
	return err
}
