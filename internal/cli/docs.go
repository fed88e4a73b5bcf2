package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// docs writes the generated documentation; a test holds the files in the
// repository against it.
func (a *app) docs() *cobra.Command {
	return &cobra.Command{
		Use:    "docs FOLDER",
		Short:  "Write the command reference (FOLDER/cli) and the man pages (FOLDER/man)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return WriteDocs(args[0]) },
	}
}

// WriteDocs writes the command reference and the man pages below a folder.
func WriteDocs(folder string) error {
	root := Root()
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	for _, sub := range []string{"/cli", "/man"} {
		if err := os.MkdirAll(folder+sub, 0o755); err != nil {
			return err
		}
	}
	if err := doc.GenMarkdownTree(root, folder+"/cli"); err != nil {
		return err
	}
	// One date for all, so that the pages only change when the commands do.
	date := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	return doc.GenManTree(root, &doc.GenManHeader{Title: "WEFT", Section: "1", Source: "weft", Manual: "weft", Date: &date}, folder+"/man")
}
