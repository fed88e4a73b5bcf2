package cli

import (
	"github.com/spf13/cobra"

	"weft/internal/forecast"
	"weft/internal/report"
	"weft/internal/term"
)

func (a *app) forecastEval() *cobra.Command {
	return &cobra.Command{
		Use:   "eval FILE.csv",
		Short: "Forecast published measurements, and say how wrong that was",
		Long: `Reads measurements (columns: id, group, platform, mem_gbs, nodes, gpus_per_node, tp,
pp, transport, link_gbps, model, layers, hidden, total_b, active_b, bits, mode, engine,
decode_tok_s, source; any order, some may be missing, unknown cells are tolerated),
forecasts each row and compares.

Two errors: of the forecast by itself, and of the ratio to the first row of the row's
group when the measurement of that row is given (it says how fast the ranks are; what
is between ranks is forecast). - is standard input.

Exit codes: 0 all rows were forecast, 2 trouble, 3 some rows could not be.`,
		Example: "  weft forecast eval throughput.csv\n  weft forecast eval throughput.csv --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			rows, err := a.forecastRows(args[0], "weft forecast eval --help")
			if err != nil {
				return err
			}
			e := report.ForecastEval{Source: args[0], Evaluation: forecast.Evaluate(rows)}
			if e.Missed > 0 {
				a.code = exitIncomplete
			}
			switch {
			case a.json:
				return report.JSON(a.out, "forecast eval", e)
			case a.jsonl:
				for _, r := range e.Rows {
					if err := report.Event(a.out, "row", r); err != nil {
						return err
					}
				}
				e.Rows = nil
				return report.Event(a.out, "forecast eval", e)
			}
			return e.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
		},
	}
}

func (a *app) forecastFit() *cobra.Command {
	var only bool
	cmd := &cobra.Command{
		Use:   "fit FILE.csv",
		Short: "Fit the constants again, and say how they do on sources they never saw",
		Long: `Fits the global constants of the forecast to the rows of a file and to the published
measurements that weft brings along, prints each with where it began, the residual of
each row, and then leaves every source out in turn: its rows are forecast with
constants that were fitted without them. Nothing is changed: the constants that weft
uses are compiled in, and a test holds them to this fit.`,
		Example: "  weft forecast fit throughput.csv\n  weft forecast fit throughput.csv --only --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			rows, err := a.forecastRows(args[0], "weft forecast fit --help")
			if err != nil {
				return err
			}
			var more []forecast.Row
			if !only {
				more = forecast.Measured()
			}
			r := fitted(args[0], rows, more)
			if a.json || a.jsonl {
				return report.JSON(a.out, "forecast fit", r)
			}
			return r.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
		},
	}
	cmd.Flags().BoolVar(&only, "only", false, "fit to the file alone")
	return cmd
}

func fitted(source string, rows, more []forecast.Row) report.ForecastFit {
	r := report.ForecastFit{Source: source, Rows: len(rows), More: len(more)}
	r.Fitted = forecast.Fit(append(append([]forecast.Row{}, rows...), more...))
	r.Eval = r.Fitted.Evaluate(rows)
	r.Left, r.Without = forecast.LeaveOut(rows, more, r.Fitted)
	r.Low, r.High = forecast.Spreads(r.Left)
	for _, k := range forecast.Knobs {
		r.Knobs = append(r.Knobs, report.FittedKnob{Knob: k, Value: k.Value(r.Fitted), Shipped: k.Value(forecast.Default)})
	}
	return r
}

func (a *app) forecastList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the models, hardware, engines and quantisations that forecast knows",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l := report.ForecastList{Models: forecast.ModelNames(), Hardware: forecast.HardwareNames(), Engines: forecast.EngineNames(), Quants: forecast.QuantNames()}
			if a.json || a.jsonl {
				return report.JSON(a.out, "forecast list", l)
			}
			return l.Text(a.out, report.Options{Width: term.Width(a.out)})
		},
	}
}
