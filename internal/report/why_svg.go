package report

import (
	"fmt"
	"io"
	"strings"

	"weft/internal/why"
)

// Colours of the kinds of parts; what is wrong and what is unexplained are hatched by
// their dashed outline, too.
var whyColours = map[string]string{why.Token: "#1b6ca8", why.Wrong: "#c8641b", why.Unexplained: "#8a94a0"}

// SVG draws the waterfall: one file, no script, no font, nothing fetched.
func (r Why) SVG(w io.Writer) error {
	const width, left, right, top, row = 900, 150, 330, 70, 26
	var shown []int
	for i, p := range r.Parts {
		if p.Ms != 0 || p.Kind != why.Token {
			shown = append(shown, i)
		}
	}
	height := top + row*(len(shown)+1) + 30
	title := r.title()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s" font-family="sans-serif" font-size="13">`+"\n", width, height, width, height, svgText(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="24" y="26" font-size="14" fill="%s">%s</text>`+"\n", svgInk, svgText(title))
	fmt.Fprintf(&b, `<text x="24" y="46" fill="%s">%s tokens/s measured, %s a step; forecast %s</text>`+"\n", svgLine, perSecond(r.Measured), r.ms(r.Step), perSecond(r.Forecast))
	spans := r.spans()
	plot := float64(width - left - right)
	for k, i := range shown {
		p, s := r.Parts[i], spans[i]
		y := top + k*row
		x, wide := left+s.from*plot, max(1, (s.to-s.from)*plot)
		dash := ""
		if p.Kind != why.Token {
			dash = fmt.Sprintf(` stroke="%s" stroke-dasharray="4 3"`, svgInk)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="%s">%s</text>`, left-10, y+16, svgInk, svgText(p.Name))
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"%s/>`, x, y+4, wide, row-8, whyColours[p.Kind], dash)
		note := r.ms(p.Ms)
		if p.Basis != "" {
			note += ", " + p.Basis
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", width-right+14, y+16, svgInk, svgText(note))
	}
	y := top + len(shown)*row
	fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="%s"/>`, left, width-right, y+2, y+2, svgPale)
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="%s">measured</text><text x="%d" y="%d" fill="%s">%s</text>`+"\n", left-10, y+18, svgInk, width-right+14, y+18, svgInk, r.ms(r.Step))
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
