package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/lab/ib"
	"weft/internal/report"
)

// labIBStatus is the answer of status.
type labIBStatus struct {
	ib.State
	Folder    string         `json:"folder"`
	Runs      bool           `json:"runs"`
	Processes map[string]int `json:"processes"`
}

func (a *app) labIBStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say what runs and what is broken",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			folder, err := labIBFolder()
			if err != nil {
				return err
			}
			state, procs, err := ib.Look(folder)
			if err != nil {
				return labIBTrouble(err, "weft lab ib down")
			}
			s := labIBStatus{State: state, Folder: folder, Processes: map[string]int{}}
			for _, p := range procs {
				s.Processes[p.Name]++
			}
			s.Runs = s.Processes["ibsim"] > 0 && !s.Ready.IsZero()
			if a.json || a.jsonl {
				err = report.JSON(a.out, "lab.ib", s)
			} else {
				s.text(a.out)
			}
			if err == nil && !s.Runs {
				err = labIBTrouble(ib.ErrDead, "")
			}
			return err
		},
	}
}

func (s labIBStatus) text(w io.Writer) {
	runs := "does not run"
	if s.Runs {
		runs = "runs since " + s.Ready.Format(time.DateTime)
	}
	fmt.Fprintf(w, "fabric    %s\nsimulator %s\nmanagers  %d opensm\nweft.yaml %s\nfolder    %s\n", s.Shape, runs, s.Processes["opensm"], s.Spec, s.Folder)
	for _, b := range s.Broken {
		fmt.Fprintf(w, "broken    %s: %s\n", b, labIBSays(b))
	}
}

func labIBSays(b ib.Broken) string {
	if b.Check == "" {
		return "weft.yaml does not name it, so no check misses it"
	}
	return b.Check + " should fail"
}
