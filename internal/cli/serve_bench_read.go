package cli

import (
	"context"
	"math"
	"path/filepath"
	"time"

	"weft/internal/fact"
	"weft/internal/forecast"
	"weft/internal/format/vllmbench"
	"weft/internal/load"
	"weft/internal/report"
	"weft/internal/store"
)

// readResults reads what other tools measured.
func readResults(path string) ([]vllmbench.Result, error) {
	b, err := readLimited(path, maxBundleFile)
	if err != nil {
		return nil, err
	}
	return vllmbench.Read(b)
}

// readBench takes what another tool measured for a bench.
func (a *app) readBench(ctx context.Context, f *benchFlags) (err error) {
	all, err := readResults(f.read)
	if err != nil {
		return fail("weft serve bench --help", "--read %s: %v", f.read, plain(err))
	}
	if _, _, a.folder, err = a.spec(nil); err != nil {
		return err
	}
	now := time.Now()
	b := load.Bench{ID: store.PlanID(now), Made: now.UTC().Format(time.RFC3339), Weft: Version(), Source: "another tool, in " + filepath.Base(f.read), Model: f.served, Says: []string{}}
	for _, r := range all {
		if b.Model == "" {
			b.Model = r.Model
		}
		b.Levels = append(b.Levels, levelOf(r))
		if r.PerToken.P50 == nil && r.PerToken.Mean != nil {
			b.Says = append(b.Says, "tokens/s of each are those of the mean time of a token: the median is not told")
		}
		if r.Concurrency == nil {
			b.Says = append(b.Says, "how many requests ran at once is not told")
		}
	}
	if b.Model == "" && f.model == "" {
		f.noForecast = true
		b.Says = append(b.Says, "not compared with the forecast: the model is not told: --model names it")
	}
	ask, err := a.benchForecast(ctx, f, &b, false)
	if err != nil {
		return err
	}
	return a.benched(ctx, f, report.Bench{Bench: b}, ask)
}

// levelOf is a level of what was told. What was not is unknown.
func levelOf(r vllmbench.Result) load.Level {
	whole := func(f *float64) int {
		if f == nil {
			return 0
		}
		return int(math.Round(*f))
	}
	val := func(f *float64) (v fact.Val[float64]) {
		if f != nil {
			v = fact.Some(*f)
		}
		return v
	}
	dist := func(d vllmbench.Dist) load.Times {
		ms := func(f *float64) (v fact.Val[forecast.Ms]) {
			if f != nil {
				v = fact.Some(forecast.Ms(*f))
			}
			return v
		}
		return load.Times{Mean: ms(d.Mean), P50: ms(d.P50), P90: ms(d.P90), P99: ms(d.P99), P999: ms(d.P999), Max: ms(d.Max)}
	}
	l := load.Level{
		Concurrency: whole(r.Concurrency), OK: whole(r.OK), Failed: whole(r.Failed), Prompts: whole(r.Input), Outputs: whole(r.Output),
		Requests: val(r.Requests), Tokens: val(r.Tokens), Counted: "the tool", Failures: []load.Failure{},
		First: dist(r.First), PerToken: dist(r.PerToken), Between: dist(r.Between), Whole: dist(r.Whole),
	}
	if r.Seconds != nil {
		l.Seconds = *r.Seconds
	}
	if ms := l.PerToken.P50.Or(l.PerToken.Mean.Or(0)); ms > 0 {
		l.Each = fact.Some(1000 / float64(ms))
	}
	return l
}
