package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func (a *app) lab() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "A cluster on this machine to try weft on",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.labIB())
	return cmd
}

// labFolder is where labs live: $WEFT_LAB, else in the person's cache.
func labFolder() (string, error) {
	if dir := os.Getenv("WEFT_LAB"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fail("export WEFT_LAB=FOLDER", "no folder for the lab: %v", err)
	}
	return filepath.Join(cache, "weft", "lab"), nil
}
