package report

import (
	"cmp"
	"fmt"
	"slices"

	"weft/internal/nodeset"
)

// Measures of a board.
const (
	boardPer    = 32 // squares in a line
	boardSquare = 16
	boardPitch  = 20
	boardLeft   = 96
	boardW      = boardLeft + boardPer*boardPitch + 8
	mostTitles  = 4096 // squares that say what they are; above, the tables do
)

// board is a cluster of many nodes: a square for every node, and for every port on every
// rail one in the same place.
type board struct {
	Width, Height int
	Title         string
	Rows          []boardRow
}

type boardRow struct {
	Y          int // of the heading
	Name, Note string
	Full       string
	Squares    []boardSquareAt
	Lines      []boardLine
}

type boardLine struct {
	Y    int
	Text string
}

type boardSquareAt struct {
	X, Y  int
	Class string
	Title string
}

// boardOf lays the board out.
func boardOf(title string, net []netNode) *board {
	b := &board{Width: boardW, Title: title}
	ports := 0
	rails := map[string]map[string]netPort{} // rail → node → port
	seen := map[string][]string{}            // rail → switches
	var order []string
	for _, n := range net {
		ports += len(n.ports)
		for _, p := range n.ports {
			name := cmp.Or(p.rail, "on no rail")
			if rails[name] == nil {
				rails[name] = map[string]netPort{}
				order = append(order, name)
			}
			if old, ok := rails[name][n.name]; !ok || worse(p.class, old.class) {
				rails[name][n.name] = p
			}
			if p.swtch != "" && !slices.Contains(seen[name], p.swtch) {
				seen[name] = append(seen[name], p.swtch)
			}
		}
	}
	slices.SortStableFunc(order, natural)
	titles := ports+len(net) <= mostTitles
	var squares []boardSquareAt
	count := map[string]int{}
	for _, n := range net {
		squares = append(squares, boardSquareAt{Class: n.class, Title: n.name + ": " + n.class + after(", ", n.note)})
		count[n.class]++
	}
	b.row("nodes", classes(count, []string{"fail", "unknown", "warn", "pass", "skip"}), net, squares, titles)
	for _, name := range order {
		squares, count := make([]boardSquareAt, 0, len(net)), map[string]int{}
		for _, n := range net {
			p, ok := rails[name][n.name]
			if !ok {
				squares = append(squares, boardSquareAt{Class: "absent", Title: n.name + ": no port on this rail"})
				continue
			}
			count[p.class]++
			squares = append(squares, boardSquareAt{Class: p.class, Title: p.title})
		}
		note := classes(count, []string{"down", "unknown", "narrow", "up"})
		if s := seen[name]; len(s) > 0 {
			slices.SortFunc(s, natural)
			note += "; " + nodeset.Fold(s)
		}
		b.row(name, note, net, squares, titles)
	}
	return b
}

// worse orders what two ports of one node on one rail are.
func worse(a, b string) bool {
	rank := []string{"up", "narrow", "unknown", "down"}
	return slices.Index(rank, a) > slices.Index(rank, b)
}

func classes(count map[string]int, order []string) string {
	s := ""
	for _, c := range order {
		if count[c] > 0 {
			s += after(", ", fmt.Sprintf("%d %s", count[c], c))
		}
	}
	if len(s) > 2 {
		s = s[2:]
	}
	return s
}

func (b *board) row(name, note string, net []netNode, squares []boardSquareAt, titles bool) {
	r := boardRow{Y: b.Height + 20, Name: fitBold(name, 250, 13), Full: name}
	r.Note = fit(note, boardW-40-int(float64(len([]rune(r.Name)))*letter12*13/12*10/9), 12)
	top := r.Y + 10
	for i := range squares {
		squares[i].X = boardLeft + i%boardPer*boardPitch
		squares[i].Y = top + i/boardPer*boardPitch
		if !titles {
			squares[i].Title = ""
		}
		if i%boardPer == 0 {
			r.Lines = append(r.Lines, boardLine{squares[i].Y + 12, fit(net[i].name, boardLeft-14, 11)})
		}
	}
	r.Squares = squares
	b.Rows = append(b.Rows, r)
	b.Height = top + (len(squares)+boardPer-1)/boardPer*boardPitch + 10
}

func (r boardRow) NoteX() int { return boardW - 12 }

// Mark is what tells a square from others without its colour.
func (s boardSquareAt) Mark() string {
	switch s.Class {
	case "fail", "down":
		return fmt.Sprintf("M%d %dl8 8m0-8l-8 8", s.X+4, s.Y+4)
	case "warn", "narrow":
		return fmt.Sprintf("M%d %dl8-8", s.X+4, s.Y+12)
	case "unknown":
		return fmt.Sprintf("M%d %dh2", s.X+7, s.Y+8)
	}
	return ""
}
