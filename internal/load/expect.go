package load

import (
	"fmt"
	"slices"

	"weft/internal/forecast"
)

// Expected is what the forecast says of a level.
type Expected struct {
	Each    float64         `json:"each"` // tokens/s of one sequence
	Low     float64         `json:"low"`  // eight of ten measurements lay between
	High    float64         `json:"high"`
	Rate    float64         `json:"rate"`    // of all together
	First   forecast.Ms     `json:"ttft_ms"` // of a prompt that comes alone; rough
	Layout  forecast.Layout `json:"layout"`
	Fits    bool            `json:"fits"`
	Limit   string          `json:"limit"`
	Batch   int             `json:"batch"`
	Context int             `json:"context"`
	Verdict string          `json:"verdict"` // "as forecast", "below", "above", "unknown"
}

// Expect holds a level against the forecast of what was asked: the layout is that of
// TP and PP, the batch is the level's.
func (l *Level) Expect(ask forecast.Ask) error {
	l.Forecast = nil
	if l.Concurrency < 1 {
		return fmt.Errorf("how many requests ran at once is not known")
	}
	ask.Batch = l.Concurrency
	if c, ok := l.Context(); ok {
		ask.Context = c
	}
	if l.OK > 0 && l.Prompts > 0 {
		ask.Prompt = max(1, l.Prompts/l.OK)
	}
	ask.Sizes = []int{1} // the curve is not looked at
	answer, err := ask.Answer()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(answer.Plans, func(p forecast.Plan) bool { return p.Layout.TP == ask.TP && p.Layout.PP == ask.PP })
	if i < 0 {
		return fmt.Errorf("tp %d, pp %d is no layout of these nodes", ask.TP, ask.PP)
	}
	p := answer.Plans[i]
	l.Forecast = &Expected{
		Each: p.Each, Low: p.Low, High: p.High, Rate: p.Rate, First: p.First, Layout: p.Layout, Fits: p.Fits, Limit: p.Limit,
		Batch: ask.Batch, Context: ask.Context, Verdict: "unknown",
	}
	if each, ok := l.Each.Get(); ok {
		switch {
		case each < p.Low:
			l.Forecast.Verdict = "below"
		case each > p.High:
			l.Forecast.Verdict = "above"
		default:
			l.Forecast.Verdict = "as forecast"
		}
	}
	return nil
}
