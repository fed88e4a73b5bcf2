package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"weft/internal/forecast"
)

// Size of the drawing, and where the axes are.
const (
	svgWidth, svgHeight      = 720, 400
	svgLeft, svgRight        = 64, 24
	svgTop, svgBottom        = 56, 56
	svgInset                 = 28 // room for the numbers of the first and the last point
	svgPlotW                 = svgWidth - svgLeft - svgRight
	svgPlotH                 = svgHeight - svgTop - svgBottom
	svgInk, svgPale, svgLine = "#1f2933", "#d9dee4", "#8a94a0"
)

// colours of the curves: blue and orange are told apart by everybody; the lines differ
// in their dashes, too.
var svgColours = []string{"#1b6ca8", "#c8641b"}
var svgDashes = []string{"", "7 4"}

// SVG draws tokens/s over nodes, with the range as a pale band: one file, no script,
// no font, nothing fetched.
func (f Forecast) SVG(w io.Writer) error {
	var b strings.Builder
	title := fmt.Sprintf("%s in %s, %s: tokens/s over nodes", f.Model.Name, f.Format.Name, f.Engine.Name)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s" font-family="sans-serif" font-size="13">`+"\n", svgWidth, svgHeight, svgWidth, svgHeight, svgText(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", svgWidth, svgHeight)
	fmt.Fprintf(&b, `<text x="%d" y="24" font-size="15" fill="%s">%s</text>`+"\n", svgLeft, svgInk, svgText(title))
	fmt.Fprintf(&b, `<text x="%d" y="42" fill="%s">%s</text>`+"\n", svgLeft, svgLine, svgText(hardwareWords(f.Nodes)+" and more of it; one sequence; the band holds eight of ten measurements"))
	most, sizes := svgBounds(f.Curves)
	if most <= 0 {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">it fits on none of these</text>`+"\n</svg>\n", svgLeft, svgTop+40, svgInk)
		_, err := io.WriteString(w, b.String())
		return err
	}
	step := niceStep(most / 5)
	top := math.Ceil(most/step) * step
	x := func(i int) float64 {
		if len(sizes) == 1 {
			return svgLeft + svgPlotW/2
		}
		return svgLeft + svgInset + float64(i)*(svgPlotW-2*svgInset)/float64(len(sizes)-1)
	}
	y := func(v float64) float64 { return svgTop + svgPlotH*(1-v/top) }
	for v := 0.0; v <= top+step/2; v += step {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="%s"/><text x="%d" y="%.1f" text-anchor="end" fill="%s">%s</text>`+"\n", svgLeft, svgWidth-svgRight, y(v), y(v), svgPale, svgLeft-8, y(v)+4, svgLine, plainNumber(v))
	}
	for i, n := range sizes {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle" fill="%s">%d</text>`+"\n", x(i), svgHeight-svgBottom+20, svgLine, n)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">nodes</text>`+"\n", svgLeft, svgHeight-14, svgLine)
	for k, c := range f.Curves {
		svgCurve(&b, c, k, x, y)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func svgCurve(b *strings.Builder, c forecast.Curve, k int, x func(int) float64, y func(float64) float64) {
	colour, dash := svgColours[k%2], svgDashes[k%2]
	var line, up, down []string
	last := -1
	for i, p := range c.Points {
		if p.Each == 0 {
			continue
		}
		line = append(line, fmt.Sprintf("%.1f,%.1f", x(i), y(p.Each)))
		up = append(up, fmt.Sprintf("%.1f,%.1f", x(i), y(p.High)))
		down = append([]string{fmt.Sprintf("%.1f,%.1f", x(i), y(p.Low))}, down...)
		last = i
	}
	if last < 0 {
		return
	}
	fmt.Fprintf(b, `<polygon points="%s" fill="%s" fill-opacity="0.10"/>`+"\n", strings.Join(append(up, down...), " "), colour)
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s"/>`+"\n", strings.Join(line, " "), colour, dash)
	for i, p := range c.Points {
		if p.Each > 0 {
			above := 16.0 // the first curve's numbers stand above, the second's below
			if k == 0 {
				above = -9
			}
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/><text x="%.1f" y="%.1f" text-anchor="middle" font-size="11" fill="%s">%s</text>`+"\n", x(i), y(p.Each), colour, x(i), y(p.Each)+above, colour, perSecond(p.Each))
		}
	}
	lx := svgWidth - svgRight - 280 + 150*k
	ly := svgHeight - 18
	fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="%s" stroke-width="2" stroke-dasharray="%s"/><text x="%d" y="%d" fill="%s">%s</text>`+"\n", lx, lx+28, ly, ly, colour, dash, lx+36, ly+4, svgInk, svgText(c.Link))
}

func svgBounds(curves []forecast.Curve) (most float64, sizes []int) {
	for i, c := range curves {
		for _, p := range c.Points {
			most = max(most, p.High)
			if i == 0 {
				sizes = append(sizes, p.Nodes)
			}
		}
	}
	return most, sizes
}

// niceStep is 1, 2 or 5 times a power of ten.
func niceStep(f float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(f)))
	for _, m := range []float64{1, 2, 5} {
		if f <= m*unit {
			return m * unit
		}
	}
	return 10 * unit
}

func plainNumber(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
}

// svgText makes text safe inside markup.
func svgText(s string) string { return html.EscapeString(clean(s)) }
