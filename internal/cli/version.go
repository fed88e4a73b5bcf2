package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"weft/internal/report"
)

// release is set at link time: -ldflags "-X weft/internal/cli.release=v0.1.0".
var release = "dev"

// Version is the release, or "dev" with the revision it was built from.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && release == "dev" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "dev-" + s.Value[:12]
			}
		}
	}
	return release
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json || a.jsonl {
				return report.JSON(a.out, "version", map[string]string{"version": Version()})
			}
			_, err := fmt.Fprintln(a.out, "weft", Version())
			return err
		},
	}
}
